"""EVENT queries: text to tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from lark import Token

from slackwater.core.durations import micros
from slackwater.core.errors import did_you_mean
from slackwater.pattern.match import EMIT, SELECT
from slackwater.pattern.shape import TIMED_OUT
from slackwater.query.event.shape import is_row, may_lack, numbered, parts_of, with_parts
from slackwater.query.event.tree import (
    Alike,
    Choice,
    EventTree,
    Group,
    Node_,
    Part,
    Returned,
    Said,
    SkipTo,
    Until,
    Unwanted,
)
from slackwater.query.expr.parse import Builder, Language, plain
from slackwater.query.expr.tree import Expr, Name, Span, Star
from slackwater.query.mistakes import EXPRESSION_MISTAKES, Mistake

__all__ = ["EVENT", "parse_event"]

EVENT_MISTAKES = (
    Mistake("empty-seq", "SEQ needs at least one component", "SEQ(SHELF s, EXIT e)",
            ("EVENT SEQ()",), token="RPAR"),
    Mistake("no-pattern", "EVENT needs a pattern", "EVENT SEQ(SHELF s, EXIT e) WITHIN 1 hour",
            ("EVENT", "EVENT WHERE a.x = 1", "EVENT WITHIN 1 hour")),
    Mistake("negation", "a negation is written !(TYPE variable)", "!(CHECKOUT c)",
            ("EVENT SEQ(A a, !(), B b)", "EVENT SEQ(A a, !, B b)", "EVENT SEQ(A a, !(!(B b)))")),
    Mistake("kleene-brackets", "the brackets of a Kleene variable are empty where it is named",
            "B+ b[]", ("EVENT SEQ(A a, B+ b[i])", "EVENT SEQ(A a, B+ b[1])")),
    Mistake("within-without-unit", "WITHIN needs a duration", "WITHIN 30 seconds",
            ("EVENT SEQ(A a) WITHIN", "EVENT SEQ(A a) WITHIN x")),
    Mistake("skip", "AFTER MATCH SKIP needs to know where to", "AFTER MATCH SKIP PAST LAST EVENT, "
            "TO NEXT EVENT, TO FIRST b or TO LAST b",
            ("EVENT SEQ(A a) WITHIN 1 hour AFTER", "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP PAST",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP PAST LAST",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP TO",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP TO NEXT",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP TO FIRST",
             "EVENT SEQ(A a) WITHIN 1 hour AFTER MATCH SKIP TO LAST")),
    Mistake("clause-order",
            "the clauses come in the order WHERE, WITHIN, AFTER MATCH SKIP, STRATEGY, EMIT, RETURN",
            None,
            ("EVENT SEQ(A a) WITHIN 1 hour WHERE a.x = 1",
             "EVENT SEQ(A a) RETURN a.x WITHIN 1 hour",
             "EVENT SEQ(A a) RETURN a.x WHERE a.x = 1")),
    *EXPRESSION_MISTAKES,
)


def parse_event(text: str) -> EventTree:
    """Read an EVENT query.

    Examples
    --------
    >>> tree = parse_event("EVENT SEQ(A a, !(B b), ANY(C, D)+ c[]) WITHIN 5 s RETURN a.x AS x")
    >>> [(p.variable, p.types, p.kleene, p.negated) for p in tree.parts]
    [('a', ('A',), False, False), ('b', ('B',), False, True), ('c', ('C', 'D'), True, False)]
    >>> tree.within, tree.returns[0].name
    (5000000, 'x')
    """
    found: EventTree = EVENT.read(text)
    return found


class _EventBuilder(Builder):
    """Makes the nodes that an EVENT query has beyond expressions."""

    def event(self, at: Span, explain: Token | None, *rest: Any) -> EventTree:
        """The whole query."""
        *pieces, where, within, skip, strategy, emit, timed_out, returns = rest
        items = self._joined(pieces)
        whole = replace(at, start=items[0][1].at.start, end=items[-1][1].at.end)
        shape = numbered(Group(items, 1, 1, False, None, whole))
        parts = parts_of(shape)
        if within is None:
            end = Span(at.line, at.column, at.start, min(at.start + 5, at.end))
            raise self.fail("a pattern needs a window, or its events could never be forgotten", end,
                            hint="add WITHIN 1 hour", mistake="no-window")
        named = self._named(parts)
        return EventTree(self.text, named, with_parts(shape, named), where, within, returns or (),
                         explain is not None, skip, strategy, emit, timed_out, is_row(shape))

    def _joined(self, pieces: Sequence[Any]) -> tuple[tuple[str | None, Node_], ...]:
        """The parts, each with the arrow before it."""
        parts: list[tuple[str | None, Node_]] = []
        arrow: Token | None = None
        for piece in pieces:
            if isinstance(piece, Token):
                arrow = piece
                continue
            if arrow is not None and isinstance(piece, Unwanted):
                raise self.fail("an arrow leads to an event of the match, not to a negation",
                                self.span(arrow), hint="A a, !(N n) => B b", mistake="arrow")
            if isinstance(piece, Part) and arrow is not None:
                piece = replace(piece, before=str(arrow))
            parts.append((None if arrow is None else str(arrow), piece))
            arrow = None
        return tuple(parts)

    def step(self, at: Span, node: Node_, stop: Part | None,
             limit: tuple[int, str | None] | None) -> Node_:
        """One item of a sequence, with UNTIL and its own WITHIN."""
        if limit is not None:
            if not isinstance(node, Part):
                raise self.fail("a time limit belongs to one component", at,
                                hint="SEQ(A a, B b WITHIN 5 seconds)", mistake="limit")
            node = replace(node, within=limit)
        if stop is None:
            return node
        if isinstance(node, Choice) or (node.most == 1):  # type: ignore[union-attr]
            raise self.fail("UNTIL ends what is repeated", stop.at,
                            hint="B+ b[] UNTIL C c", mistake="until")
        return Until(node, stop, at)

    def limit(self, at: Span, duration: Token, of: Token | None) -> tuple[int, str | None]:
        """`WITHIN 5 s`, `WITHIN 5 s OF a`."""
        return micros(str(duration)), None if of is None else str(of)

    def until(self, at: Span, types: tuple[str, ...],
              variable: tuple[str, str | None] | None) -> Part:
        """`UNTIL C c`."""
        return self.bare_negation(at, types, variable).parts[0]

    def nested(self, at: Span, *rest: Any) -> Group:
        """`(A a, B b)+`."""
        *pieces, quantifier, brackets = rest
        least, most, greedy = self._quantity(quantifier)
        inside = None if brackets is None else brackets[1:-1].strip() or None
        if all(isinstance(piece, (Unwanted, Token)) for piece in pieces):
            raise self.fail("a group needs an event that is not negated", at,
                            hint="(A a, !(B b))+", mistake="group")
        return Group(self._joined(pieces), least, most, greedy, inside, at)

    def choice(self, at: Span, kind: Token, *options: Node_) -> Choice:
        """`AND(A a, B b)`, `OR(A a, B b)`."""
        if kind.lower() == "and":
            if len(options) > 6:
                raise self.fail("AND takes up to 6 events: every order of them is looked at", at,
                                mistake="choice")
            for option in options:
                if not isinstance(option, Unwanted) and may_lack(option):
                    raise self.fail("AND needs what must occur", option.at,
                                    hint="make the whole AND(…) optional: (AND(A a, B b))?",
                                    mistake="choice")
        return Choice(kind.lower(), options, at)

    def _named(self, parts: list[Part]) -> tuple[Part, ...]:
        """Give variables to parts that have none, and see that each is there once."""
        named: dict[str, Part] = {}
        for i, part in enumerate(parts):
            name = part.variable
            if not name:
                name = _label(part.types).lower()
                if name in named or any(p.variable == name for p in parts):
                    name = f"{name}{i + 1}"
            if name in named:
                raise self.fail(f"the variable {name!r} is used twice", part.at,
                                hint="give each component a variable of its own",
                                mistake="variable-twice")
            named[name] = replace(part, variable=name)
        return tuple(named.values())

    def component(self, at: Span, types: tuple[str, ...], quantifier: Token | None,
                  variable: tuple[str, str | None] | None) -> Part:
        """`A a`, `B+ b[]`, `B? b`, `B{2,4} b[]`, `ANY(A, B) x`."""
        least, most, greedy = self._quantity(quantifier)
        kleene = most != 1
        name, inner = variable or ("", "" if kleene else None)
        brackets, arrow = inner is not None, inner
        if brackets and not kleene:
            raise self.fail("brackets and plus belong together" if quantifier is None else
                            f"{quantifier} takes one event at most, and has no elements", at,
                            hint="B+ b[]" if quantifier is None else f"{_label(types)}{quantifier} "
                            f"{name}", mistake="kleene-brackets")
        if kleene and not brackets:
            raise self.fail("a Kleene variable is written with brackets", at,
                            hint=f"{_label(types)}{quantifier} {name}[]", mistake="kleene-brackets")
        inside = arrow if kleene and arrow else None
        return Part(name, types, kleene, False, at, least, most, greedy, inside=inside)

    def _quantity(self, token: Token | None) -> tuple[int, int, bool]:
        """How many: the least, the most (0: without limit), and whether it is greedy."""
        if token is None:
            return 1, 1, False
        text = "".join(token.split())
        mark = text[:1] if text[0] != "{" else text[: text.index("}") + 1]
        greedy = text[len(mark):] == "+"
        if mark[0] != "{":
            return {"+": (1, 0, greedy), "*": (0, 0, greedy), "?": (0, 1, greedy)}[mark]
        low, comma, high = mark[1:-1].partition(",")
        least = int(low or 0)
        most = int(high or 0) if comma else least
        if not (low or high) or (most < max(least, 1) and not (comma and not high)) or max(
                least, most) > 1000:
            raise self.fail(f"{token} is no number of events", self.span(token),
                            expected="{2}, {2,4}, {2,} or {,4}, at most 1000",
                            mistake="quantifier")
        return least, most, greedy

    def negation(self, at: Span, arrow: Token | None, *parts: Part) -> Unwanted:
        """`!(C c)`, `!(B b, C c)`, `!(=> C c)`."""
        if arrow is not None:
            if str(arrow) != "=>":
                raise self.fail("a negation is of the whole gap, or of the next event only",
                                self.span(arrow), hint="!(N n), or !(=> N n)", mistake="arrow")
            if len(parts) > 1 or not parts[0].least == parts[0].most == 1:
                raise self.fail("only one event can be the next", at, hint="!(=> N n)",
                                mistake="negation")
            parts = (replace(parts[0], before="=>"),)
        if all(p.least == 0 for p in parts):
            raise self.fail("a negation needs an event that must not occur", at, hint="!(B+ b[])",
                            mistake="negation")
        return Unwanted(tuple(replace(p, negated=True) for p in parts), at)

    def bare_negation(self, at: Span, types: tuple[str, ...],
                      variable: tuple[str, str | None] | None) -> Unwanted:
        """`!C c`."""
        name, brackets = variable or ("", None)
        if brackets is not None:
            raise self.fail("a negated component stands for one event, not for many", at,
                            hint=f"!({_label(types)} {name})", mistake="negated-kleene")
        return Unwanted((Part(name, types, False, True, at),), at)

    def types(self, at: Span, *names: Token) -> tuple[str, ...]:
        """One type, or the alternatives of ANY; none: ANY alone, which takes every event."""
        return tuple(t[1:-1].replace("''", "'") if t.startswith("'") else plain(t) for t in names)

    def variable(self, at: Span, name: Token, brackets: Token | None) -> tuple[str, str | None]:
        """A variable's name, and what is in the brackets that follow it (None: there are none)."""
        return str(name), None if brackets is None else brackets[1:-1].strip()

    def alike(self, at: Span, *names: Token) -> Alike:
        """`[id]`."""
        return Alike(tuple(str(n) for n in names), at=at)

    def where(self, at: Span, expr: Expr) -> Expr:
        """WHERE."""
        return expr

    def within(self, at: Span, duration: Token) -> int:
        """WITHIN."""
        if duration.type.rpartition("__")[2] == "NUMBER":
            raise self.fail("WITHIN needs a unit of time", self.span(duration),
                            hint=f"WITHIN {duration} seconds", mistake="within-without-unit")
        return micros(str(duration))

    def skip(self, at: Span, target: tuple[str, str | None]) -> SkipTo:
        """AFTER MATCH SKIP."""
        return SkipTo(*target, at)

    def past_last(self, at: Span) -> tuple[str, str | None]:
        """PAST LAST EVENT."""
        return "past_last", None

    def to_next(self, at: Span) -> tuple[str, str | None]:
        """TO NEXT EVENT."""
        return "next", None

    def to_first(self, at: Span, variable: Token) -> tuple[str, str | None]:
        """TO FIRST b."""
        return "first", str(variable)

    def to_last(self, at: Span, variable: Token) -> tuple[str, str | None]:
        """TO LAST b."""
        return "last", str(variable)

    def strategy(self, at: Span, word: Token) -> Said:
        """STRATEGY."""
        return self._said("STRATEGY", word, SELECT)

    def emit(self, at: Span, word: Token) -> Said:
        """EMIT."""
        return self._said("EMIT", word, EMIT)

    def timed_out(self, at: Span, every: Token | None) -> Said:
        """WITH TIMED OUT, WITH ALL TIMED OUT."""
        return Said(TIMED_OUT[every is not None], at)

    def _said(self, clause: str, word: Token, known: tuple[str, ...]) -> Said:
        text = word.lower().removesuffix("_match")  # as SASE has it: skip_till_any_match
        if text not in known:
            raise self.fail(f"{clause} {word} is not known", self.span(word),
                            expected=" or ".join(known), hint=did_you_mean(text, known),
                            mistake="strategy")
        return Said(text, self.span(word))

    def returns(self, at: Span, *items: Returned) -> tuple[Returned, ...]:
        """RETURN."""
        return items

    def returned(self, at: Span, expr: Expr, name: Token | None) -> Returned:
        """One item of RETURN."""
        return Returned(expr, None if name is None else plain(name), at)

    def every(self, at: Span, *what: Token) -> Returned:
        """`*` and `a.*`."""
        expr = Star(at=at) if len(what) == 1 else Name(plain(what[0]), "", at=at)
        return Returned(expr, None, at, every=True)


def _label(types: tuple[str, ...]) -> str:
    return types[0] if types else "ANY"


EVENT = Language("event", "event", EVENT_MISTAKES, _EventBuilder)
