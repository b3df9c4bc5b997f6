"""What is checked where: an EVENT query's conjuncts, sorted out.

- Equalities between variables are collected into classes (equality is transitive).  A column in
  which *all* variables are equal partitions the stream; the rest are checked between events.
- A conjunct that names one variable goes to the scan.
- A conjunct that names a negated variable belongs to that negation.
- The others are checked during construction, as soon as all their variables are bound.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from slackwater.core.errors import did_you_mean
from slackwater.query.errors import QueryError
from slackwater.query.event.navigate import MOST_STEPS, navigated, offset_of, step_of, upto
from slackwater.query.event.shape import in_one_round
from slackwater.query.event.tree import Alike, EventTree
from slackwater.query.expr.tree import Binary, Call, Expr, Name, Span, children, conjuncts, walk

__all__ = ["AGGREGATES", "EventPlan", "accesses", "is_aggregate", "make_plan"]

AGGREGATES = ("count", "sum", "avg", "min", "max", "first", "last")
Term = tuple[str, str]  # variable, column


@dataclass(frozen=True)
class EventPlan:
    """The sorted conjuncts of a query.

    `scan` is by variable; `within_match` and `against` (by negated variable) are checked while
    matches are built.
    """

    tree: EventTree
    partition: tuple[str, ...]
    scan: dict[str, list[Expr]]
    within_match: list[Expr]
    against: dict[str, list[Expr]]


def is_aggregate(node: Expr) -> bool:
    """Whether a node computes one value out of all elements of a Kleene variable."""
    if isinstance(node, Call) and node.function in AGGREGATES:
        return True
    return isinstance(node, Name) and node.index in ("first", "last")


def accesses(node: Expr) -> Iterator[tuple[str, str, Name]]:
    """How an expression reads variables: (variable, how, the name).

    How: "now" (the element looked at), "prev" (another, so many before or behind it), "run" (all up
    to one), "all".
    """
    if is_aggregate(node):
        for inner in walk(node):
            if isinstance(inner, Name):
                yield inner.qualifier or inner.name, "run" if upto(inner) else "all", inner
        return
    if isinstance(node, Name):
        yield node.qualifier or "", "prev" if offset_of(node) else "now", node
        return
    for child in children(node):
        yield from accesses(child)


def make_plan(tree: EventTree) -> EventPlan:
    """Sort out the conjuncts of WHERE.

    Examples
    --------
    >>> from slackwater.query.event.parse import parse_event
    >>> plan = make_plan(parse_event('''EVENT SEQ(SHELF s, !(CHECKOUT c), EXIT e)
    ...     WHERE s.id = c.id AND c.id = e.id AND e.value > 2 * s.value AND s.value > 0
    ...     WITHIN 1 hour'''))
    >>> plan.partition, list(plan.scan), len(plan.within_match), plan.against
    (('id',), ['s'], 1, {'c': []})
    """
    return _Planner(tree).plan()


class _Planner:
    def __init__(self, tree: EventTree) -> None:
        self.tree = tree
        self.parts = {p.variable: p for p in tree.parts}
        self.order = {p.variable: i for i, p in enumerate(tree.parts)}
        self.negated = {p.variable for p in tree.parts if p.negated}

    def fail(self, problem: str, at: Span, *, hint: str | None = None,
             mistake: str | None = None) -> QueryError:
        return QueryError(problem, self.tree.text, at, hint=hint, mistake=mistake)

    def plan(self) -> EventPlan:
        positive = [p for p in self.tree.parts if not p.negated]
        if not positive:
            raise self.fail("a pattern needs a component that is not negated",
                            self.tree.parts[0].at, hint="SEQ(SHELF s, !(CHECKOUT c), EXIT e)",
                            mistake="only-negated")
        self.check_skip()
        self.check_limits()
        self.tree = tree = replace(
            self.tree, where=None if self.tree.where is None else self.navigated(self.tree.where),
            returns=tuple(replace(r, expr=self.navigated(r.expr)) for r in self.tree.returns))
        for item in tree.returns:
            if item.every:
                self.check_every(item.expr)
                continue
            self.check_names(item.expr)
            self.check_returned(item.expr)
        equal, others = self.split(conjuncts(self.tree.where))
        scan: dict[str, list[Expr]] = {}
        within: list[Expr] = []
        against: dict[str, list[Expr]] = {v: [] for v in self.negated}
        partition, derived = self.equalities(equal)
        for conjunct in [*derived, *others]:
            self.place(conjunct, scan, within, against, positive[0].variable)
        return EventPlan(self.tree, partition, scan, within, against)

    def navigated(self, expr: Expr) -> Expr:
        """With PREV and NEXT written out."""
        return navigated(expr, lambda problem, at, hint: self.fail(
            problem, at, hint=hint, mistake="navigate"))

    def check_limits(self) -> None:
        """WITHIN 5 s OF a: a is one event, or one a round."""
        for part in self.tree.parts:
            of = part.within[1] if part.within else None
            if of is None:
                continue
            if of not in self.parts or of in self.negated:
                raise self.fail(f"there is no variable {of!r} in a match", part.at,
                                hint=did_you_mean(of, self.parts), mistake="variable")
            if self.parts[of].many and in_one_round([self.parts[of], part]) is None:
                raise self.fail(f"{of!r} stands for many events", part.at, mistake="limit",
                                hint=f"{part.variable}.time - last({of}.time) <= …")

    def check_skip(self) -> None:
        """AFTER MATCH SKIP names a variable of the match."""
        skip = self.tree.skip
        if skip is None or skip.variable is None:
            return
        if skip.variable in self.negated:
            raise self.fail(f"{skip.variable!r} is negated: there is no such event in a match",
                            skip.at, mistake="skip")
        if skip.variable not in self.parts:
            raise self.fail(f"there is no variable {skip.variable!r}", skip.at, mistake="variable",
                            hint=did_you_mean(skip.variable, self.parts)
                            or f"the variables are {', '.join(self.parts)}")

    # -- equality -------------------------------------------------------------------------------

    def split(self, all_: list[Expr]) -> tuple[list[tuple[Term, Term, Span]], list[Expr]]:
        equal: list[tuple[Term, Term, Span]] = []
        others: list[Expr] = []
        for conjunct in all_:
            if isinstance(conjunct, Alike):
                first, *rest = self.tree.parts
                for column in conjunct.columns:
                    equal += [((first.variable, column), (p.variable, column), conjunct.at)
                              for p in rest or [first]]
                continue
            for inner in walk(conjunct):
                if isinstance(inner, Alike):
                    raise self.fail("[…] can only be joined by AND", inner.at,
                                    hint="write the equality out", mistake="alike")
            self.check_names(conjunct)
            pair = self.plain_equality(conjunct)
            if pair is None:
                others.append(conjunct)
            else:
                equal.append((*pair, conjunct.at))
        return equal, others

    def plain_equality(self, node: Expr) -> tuple[Term, Term] | None:
        if not (isinstance(node, Binary) and node.op == "="):
            return None
        sides = []
        for side in (node.left, node.right):
            if not isinstance(side, Name) or side.index not in (None, "i", "*") or not side.name:
                return None
            sides.append((str(side.qualifier), side.name))
        if sides[0][0] == sides[1][0]:
            return None
        if {sides[0][0], sides[1][0]} <= self.negated:
            if self.parts[sides[0][0]].row == self.parts[sides[1][0]].row:
                return None  # of one negated sequence
            raise self.fail("this condition names two negated components", node.at,
                            hint="compare each with a component that is not negated",
                            mistake="two-negated")
        return sides[0], sides[1]

    def equalities(self, equal: list[tuple[Term, Term, Span]]) -> tuple[tuple[str, ...],
                                                                        list[Expr]]:
        """The partition columns, and the equalities that are left to be checked."""
        classes: list[tuple[set[Term], Span]] = []
        for a, b, at in equal:
            together, where = {a, b}, at
            rest = []
            for terms, span in classes:
                if terms & together:
                    together |= terms
                    where = span
                else:
                    rest.append((terms, span))
            classes = [*rest, (together, where)]
        partition: list[str] = []
        derived: list[Expr] = []
        for terms, at in classes:
            covered = [c for c in dict.fromkeys(c for _, c in sorted(terms))
                       if all((v, c) in terms for v in self.parts)]
            partition += [c for c in covered if c not in partition]
            derived += self.chain({(v, c) for v, c in terms
                                   if not covered or c not in covered[1:]},
                                  covered[:1], at)
        return tuple(partition), derived

    def chain(self, terms: set[Term], covered: list[str], at: Span) -> list[Expr]:
        """Equalities that make a class of terms equal, less those the partition sees to."""
        ordered = sorted(terms, key=lambda t: (t[0] in self.negated,
                                               self.parts[t[0]].optional, self.parts[t[0]].many,
                                               self.order[t[0]], t[1]))
        head = ordered[0]
        found: list[Expr] = []
        for term in ordered[1:]:
            if covered and term[1] == covered[0] and head[1] == covered[0]:
                continue
            left: Term = head
            if covered and (term[0], covered[0]) in terms:
                left = (term[0], covered[0])  # the same event's own column: a check at the scan
            found.append(Binary("=", Name(*left, at=at), Name(*term, at=at), at=at))
        return found

    # -- the rest -------------------------------------------------------------------------------

    def check_names(self, expr: Expr) -> None:
        """Variables exist, and indices are used where they mean something."""
        for node in walk(expr):
            if isinstance(node, Call) and node.function in AGGREGATES:
                self.check_aggregate(node)
        for variable, _, name in accesses(expr):
            if name.qualifier is None and variable not in self.parts:
                raise self.fail(f"{name.name!r} has no variable", name.at, mistake="no-variable",
                                hint=f"write {next(iter(self.parts))}.{name.name}")
            self.check_variable(variable, name)
            part = self.parts[variable]
            if name.index is not None and not part.many:
                raise self.fail(f"{variable!r} is one event and has no elements", name.at,
                                hint=f"write {variable}.{name.name or '…'}", mistake="index")
            if name.index in ("first", "last"):
                continue
            offset = offset_of(name)
            if offset is None or abs(offset) > MOST_STEPS:
                raise self.fail(f"an element is named [i], [i-1], [first] or [last], not "
                                f"[{name.index}]", name.at, mistake="index")
        for node in walk(expr):
            if isinstance(node, Name) and upto(node) and not any(
                    inner is node for _, how, inner in accesses(expr) if how == "run"):
                raise self.fail(f"[{node.index}] means many elements: only an aggregate takes them",
                                node.at, hint=f"sum({node})", mistake="index")

    def check_variable(self, variable: str, name: Name) -> None:
        if variable not in self.parts:
            raise self.fail(f"there is no variable {variable!r}", name.at, mistake="variable",
                            hint=did_you_mean(variable, self.parts)
                            or f"the variables are {', '.join(self.parts)}")

    def check_aggregate(self, node: Call) -> None:
        inside = [n for n in walk(node) if isinstance(n, Name)]
        if len(node.args) == 2 and node.function in ("first", "last"):
            if step_of(node) < 0:
                raise self.fail(f"{node.function} needs a number of elements up to {MOST_STEPS}",
                                node.args[1].at, hint=f"{node.function}(b.value, 1)",
                                mistake="navigate")
        elif len(node.args) != 1 or not inside:
            raise self.fail(f"{node.function} takes one Kleene variable", node.at,
                            hint=f"{node.function}(b.value)" if node.function != "count"
                            else "count(b)", mistake="aggregate")
        for name in inside:
            variable = name.qualifier or name.name
            self.check_variable(variable, name)
            if not self.parts[variable].many:
                kind = (*self.parts[variable].types, "ANY")[0]
                raise self.fail(f"{node.function} needs a Kleene variable, and {variable!r} is one "
                                "event", name.at, hint=f"{kind}+ {variable}[]", mistake="aggregate")
            bare = name.qualifier is None or not name.name
            if bare and not (node.function == "count" and node.args[0] is name):
                raise self.fail(f"{node.function} needs a column", name.at,
                                hint=f"{node.function}({variable}.value)", mistake="aggregate")
            if name.index not in (None, "*", "i") and not upto(name):
                raise self.fail("an aggregate is over all elements, or over those up to one: "
                                f"{variable}[..i-1]", name.at, mistake="aggregate",
                                hint=f"{node.function}({variable}.{name.name})")
        if len({n.qualifier or n.name for n in inside}) > 1:
            raise self.fail("an aggregate is over one variable", node.at, mistake="aggregate")
        if len({(upto(n), offset_of(n)) for n in inside}) > 1:
            raise self.fail("the names in an aggregate mean different elements", node.at,
                            hint=f"{node.function}({inside[0]})", mistake="aggregate")

    def check_every(self, expr: Expr) -> None:
        """`a.*` names a variable of the match."""
        if not isinstance(expr, Name):
            return
        variable = str(expr.qualifier)
        self.check_variable(variable, expr)
        if variable in self.negated:
            raise self.fail(f"{variable!r} is negated: there is no such event in a match",
                            expr.at, mistake="negated-returned")

    def check_returned(self, expr: Expr) -> None:
        for variable, how, name in accesses(expr):
            if variable in self.negated:
                raise self.fail(f"{variable!r} is negated: there is no such event in a match",
                                name.at, mistake="negated-returned")
            if how in ("prev", "run"):
                raise self.fail("RETURN knows all elements at once, not one and the one before",
                                name.at, hint=f"{variable}.{name.name}", mistake="index")
            if how == "now" and not name.name:
                raise self.fail("RETURN needs a column", name.at,
                                hint=f"{variable}.column; `events` has all columns anyway",
                                mistake="bare-variable")

    def place(self, conjunct: Expr, scan: dict[str, list[Expr]], within: list[Expr],
              against: dict[str, list[Expr]], anyone: str) -> None:
        reads = list(accesses(conjunct))
        variables = {v for v, _, _ in reads}
        for variable, how, name in reads:
            if how not in ("all", "run") and not name.name:
                raise self.fail("a column is missing", name.at, hint=f"{variable}.column",
                                mistake="bare-variable")
        negated = sorted(variables & self.negated)
        if len({self.parts[v].row for v in negated}) > 1:
            raise self.fail("this condition names two negated components", conjunct.at,
                            hint="compare each with a component that is not negated",
                            mistake="two-negated")
        elements = sorted({v for v, how, _ in reads if how != "all" and self.parts[v].many})
        if len(elements) > 1 and (in_one_round([self.parts[v] for v in elements]) is None or any(
                how in ("prev", "run") for _, how, _ in reads)):
            raise self.fail("this condition speaks of the elements of two Kleene variables",
                            conjunct.at, hint=f"use an aggregate of one: first({elements[1]}.…)",
                            mistake="two-elements")
        if len(variables) <= 1 and all(how == "now" for _, how, _ in reads):
            scan.setdefault(next(iter(variables), anyone), []).append(conjunct)
        elif negated:
            against[negated[0]].append(conjunct)
        else:
            within.append(conjunct)
