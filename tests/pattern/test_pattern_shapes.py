"""Groups, OR, AND, UNTIL, limits and negated sequences, drawn by chance, against the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.query.event.query import event_query
from tests.pattern import harness, oracle, shapes
from tests.pattern.oracle import Part, Skip
from tests.pattern.test_pattern_oracle import (
    EMIT,
    SECOND,
    SELECT,
    SLACK,
    null_safe,
    streams,
)

COUNTS = {"": (1, 1), "?": (0, 1), "+": (1, 0), "*": (0, 0), "{2}": (2, 2), "{1,2}": (1, 2)}
ARROWS = {", ": None, " => ": "strict", " -> ": "skip_till_next", " ~> ": "skip_till_any"}
INSIDE = {"": None, **{arrow.strip(): way for arrow, way in ARROWS.items() if way}}


class Drawn:
    """A pattern as it grows: text, tree and parts."""

    def __init__(self, draw: Any) -> None:
        self.draw = draw
        self.names = iter("abcdefghijklmnopqrstuvwxyz")
        self.parts: list[Part] = []
        self.many: set[str] = set()
        self.loops: dict[str, tuple[int, ...]] = {}
        self.arrows = draw(st.booleans())
        self.greedy = draw(st.sampled_from(["none", "leaf", "group"]))
        self.number = 0

    def pick(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def inside(self) -> str:
        """What may lie between two of the same."""
        return self.pick("", "", *INSIDE) if self.arrows else ""

    def part(self, negated: bool = False, counts: Any = ("", "", "+", "?")) -> tuple[str, Part]:
        mark = self.pick(*counts)
        least, most = COUNTS[mark]
        kleene = most != 1
        greedy = bool(mark) and not negated and self.greedy == "leaf" and self.pick(True, False)
        types = self.pick(("A",), ("B",), ("C",), ("A", "B"), ())
        inside = self.inside() if kleene and not negated else ""
        part = Part(next(self.names), types, kleene, negated, least, most, greedy,
                    inside=INSIDE[inside])
        self.parts.append(part)
        kind = f"ANY({', '.join(types)})" if len(types) > 1 else types[0] if types else "ANY"
        return (f"{kind}{mark}{'+' * greedy} {part.variable}{f'[{inside}]' * kleene}"), part

    def take(self, within: tuple[int, ...], counts: Any = ("", "", "+", "?"),
             limits: bool = True) -> tuple[str, Any]:
        text, part = self.part(counts=counts)
        self.loops[part.variable] = within
        if part.kleene or within:
            self.many.add(part.variable)
        limit = self.pick(None, None, None, 2, 4) if limits else None
        tree: Any = shapes.Take(part, part.least, part.most or float("inf"),
                                within=None if limit is None else limit * SECOND)
        if part.kleene and self.pick(False, False, True):
            stop = self.stop()
            loop = shapes.Loop(tree, -1, 1, 1, until=stop[1])
            text, tree = f"{text} UNTIL {stop[0]}", loop
        return text + (f" WITHIN {limit} s" if limit else ""), tree

    def stop(self) -> tuple[str, Part]:
        text, part = self.part(negated=True, counts=("",))
        return text, part

    def row(self, depth: int, within: tuple[int, ...], length: int) -> tuple[str, Any]:
        text, items = "", []
        for i in range(length):
            if i and self.pick(*[False] * 4, True):
                size = self.pick(1, 1, 2)
                bad = [self.part(negated=True, counts=("", "", "+", "{2}", "?") if j else
                                 ("", "", "{2}")) for j in range(size)]
                plain = size == 1 and bad[0][1].least == bad[0][1].limit == 1
                nearest = plain and self.pick(False, False, True)
                text += f", !({'=> ' * nearest}{', '.join(t for t, _ in bad)})"
                items.append((None, shapes.Not(tuple(p for _, p in bad), nearest)))
            arrow = self.pick(*ARROWS) if i and self.arrows else ", "
            inner, tree = self.item(depth, within)
            text += (arrow if text else "") + inner
            items.append((ARROWS[arrow] if i else None, tree))
        return text, shapes.Row(tuple(items))

    def item(self, depth: int, within: tuple[int, ...]) -> tuple[str, Any]:
        kind = self.pick("take", "take", "group", "or", "and") if depth else "take"
        if kind == "take":
            return self.take(within)
        if kind == "group":
            mark = self.pick("+", "?", "{2}", "{1,2}", "*", "")
            least, most = COUNTS[mark]
            greedy = self.greedy == "group" and most != 1 and self.pick(True, False)
            number, mine = self.number, within
            if most != 1:
                self.number += 1
                mine = (*within, number)
            text, tree = self.row(depth - 1, mine, self.pick(1, 2))
            text = f"({text}){mark}{'+' * greedy}"
            if most != 1:
                inside = self.inside()
                text += f" [{inside}]" * bool(inside)
                tree = shapes.Loop(tree, number, least, most or float("inf"), greedy,
                                   inside=INSIDE[inside])
                if self.pick(False, False, True):
                    stop = self.stop()
                    return f"{text} UNTIL {stop[0]}", shapes.replace(tree, until=stop[1])
            elif least == 0:
                tree = shapes.Or((tree, shapes.Row(())))
            return text, tree
        if kind == "or":
            options = [self.item(depth - 1, within) for _ in range(2)]
            return (f"OR({', '.join(t for t, _ in options)})",
                    shapes.Or(tuple(tree for _, tree in options)))
        options = [self.take(within, ("", "", "+"), limits=False)
                   for _ in range(self.pick(2, 2, 3))]
        return (f"AND({', '.join(t for t, _ in options)})",
                shapes.And(tuple(tree for _, tree in options)))


@st.composite
def shaped(draw: Any) -> tuple[str, shapes.Query]:
    drawn = Drawn(draw)
    text, tree = drawn.row(2, (), draw(st.sampled_from([2, 1, 3])))
    window = draw(st.integers(2, 9))
    query = shapes.Query(tree, drawn.parts, window * SECOND, drawn.many)
    where = []
    if draw(st.booleans()):
        where.append("[id]")
        query.key = lambda e: e["id"]
    taken = [p for p in drawn.parts if not p.negated]
    single = [p.variable for p in taken if p.variable not in drawn.many]
    lists = [p.variable for p in taken if p.variable in drawn.many]
    if len(single) > 1 and draw(st.booleans()):
        x, y = single[0], single[-1]
        where.append(f"{x}.v <= {y}.v")
        query.tests.append(({x, y}, null_safe(lambda b, x=x, y=y: b[x]["v"] <= b[y]["v"])))
    if single and lists and draw(st.booleans()):
        x, z = single[-1], lists[0]
        where.append(f"{z}.v >= {x}.v")
        query.tests.append(({x, z}, null_safe(lambda b, x=x, z=z: b[z]["v"] >= b[x]["v"])))
    loop = drawn.loops
    pairs = [(u, v) for u in lists for v in lists if u < v and loop[u] and loop[u] == loop[v]
             and not any(p.kleene for p in taken if p.variable in (u, v))]
    if pairs and draw(st.booleans()):
        u, v = pairs[0]
        where.append(f"{u}.v <= {v}.v")
        query.scoped.append(({u, v}, loop[u][-1], null_safe(lambda b: b[u]["v"] <= b[v]["v"])))
    for p in drawn.parts:
        if p.negated and not p.kleene and p.least and single and draw(st.booleans()):
            n, x = p.variable, single[0]
            where.append(f"{n}.v <= {x}.v")
            query.speaks.setdefault(n, set()).add(x)
            query.against.setdefault(n, []).append(null_safe(
                lambda b, n=n, x=x: b[x] is None or b[n]["v"] <= b[x]["v"]))
    clause = f" WHERE {' AND '.join(where)}" if where else ""
    to = draw(st.sampled_from([*[None] * 5, "past_last", "next", "first", "last"]))
    if to is not None:
        query.skip = (to, draw(st.sampled_from([p.variable for p in taken]))
                      if to in ("first", "last") else None)
    return f"EVENT SEQ({text}){clause} WITHIN {window} s", query


def likely(chance: Random, query: shapes.Query) -> list[dict[str, Any]]:
    """A stream with events that the pattern looks for, one after the other, and some others.

    Events by chance alone match few patterns, and a kernel that is wrong about what it never gets
    far enough to judge passes.  So unwanted events are put where they just do or do not matter: at
    both ends of an interval and inside it; and steps and windows are as long as they may be, or one
    second longer.
    """
    tree, time, window = query.tree, chance.randrange(3), query.window // SECOND
    taken: list[tuple[int, str]] = []
    beside: list[tuple[int, str]] = []

    def unwanted(rows: Iterable[tuple[Part, ...]], ends: tuple[int, ...], inside: range) -> None:
        for parts in rows:
            if chance.random() < 0.5:
                continue
            for part in parts:
                for _ in range(max(part.least, 1)):
                    at = chance.choice([*ends, *(inside or ends)])
                    beside.append((at, chance.choice(part.types or "ABC")))

    while len(taken) < 7:
        found = [way for some in shapes.ways(tree) for way in some]
        if not found or (taken and shapes.empty(tree) is not None and chance.random() < 0.3):
            break
        way = chance.choice(found)
        before = time
        if taken:
            time += chance.choice([1, 1, 1, 1, 2, 0])
            if way.within is not None and chance.random() < 0.5:
                time = before + way.within // SECOND + chance.choice([0, 1])
            if (way.arrow == "strict" or way.yields) and chance.random() < 0.4:
                time = max(time, before + 2)
                unwanted([(replace(way.part, least=1, types=()),)] if way.arrow == "strict" else [],
                         (), range(before + 1, time))
                unwanted([(greedy.part,) for greedy in way.yields], (), range(before + 1, time))
            if chance.random() < 0.1:
                time = max(time, taken[0][0] + window + chance.choice([0, 0, 1]))
            unwanted([n.parts for n in way.passed], (before, time), range(before + 1, time))
            unwanted([(p,) for p in way.between + way.at], (before, time), range(before + 1, time))
        taken.append((time, chance.choice(way.part.types or "ABC")))
        if len(taken) == 1:
            first = way
        tree = way.rest
    if taken:
        unwanted([n.parts for n in first.passed],
                 (time - window, time - window - 1, taken[0][0], taken[0][0] - 1), range(0))
        unwanted([n.parts for n in shapes.empty(tree) or ()],
                 (time, time + 1, taken[0][0] + window, taken[0][0] + window + 1), range(0))
    room = max(9 - len(taken), 0)
    beside = chance.sample(beside, min(len(beside), room, 4))
    others = [(chance.randrange(time + 2), chance.choice("ABC"))
              for _ in range(chance.randrange(room - len(beside) + 1) if chance.random() < 0.6
                             else 0)]
    same = chance.choice([[1], [1, 1, 1, 2]])
    values = chance.choice([[1], [1, 1, 2], [0, 1, 2, None]])
    events = [{"time": 1_700_000_000 + at, "type": kind, "id": chance.choice(same),
               "v": chance.choice(values), "w": None, "name": None, "seq": chance.randrange(2),
               "arrival": 1_700_000_000 + at + chance.randrange(SLACK + 1)}
              for at, kind in taken + beside + others]
    return sorted(events, key=lambda e: e["arrival"])


def words(skip: Skip | None) -> str:
    return "" if skip is None else " AFTER MATCH SKIP " + {
        "past_last": "PAST LAST EVENT", "next": "TO NEXT EVENT", "first": f"TO FIRST {skip[1]}",
        "last": f"TO LAST {skip[1]}"}[skip[0]]


@pytest.mark.parametrize("select", [*SELECT, "branching"])
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_shape_any_order_any_cut(select: str, data: Any) -> None:
    text, query = data.draw(shaped())
    chance, numbered = data.draw(st.randoms(use_true_random=True)), data.draw(st.booleans())
    events = likely(chance, query) if chance.random() < 0.8 else data.draw(streams())[:9]
    roles = Roles("time", type="type", unit="s", sequence="seq" if numbered else None,
                  arrival="arrival" if data.draw(st.booleans()) else None)
    rows = [{**e, "time": e["time"] * SECOND, "_id": harness.content(e),
             **({} if numbered else {"seq": 0})} for e in events]
    every = data.draw(st.sampled_from([False, True]))
    if query.skip is not None:  # which of two equally early events comes first is not said
        first = {oracle.place(row): i for i, row in reversed([*enumerate(rows)])}
        events, rows = ([some[i] for i in sorted(first.values())] for some in (events, rows))
    try:
        want, timed = shapes.judged(query, rows, select, every)
    except shapes.UndecidedError:
        query.skip = None
        want, timed = shapes.judged(query, rows, select, every)
    text += words(query.skip)
    cuts = data.draw(st.lists(st.integers(0, 11), max_size=4))
    ids = None
    for emit in EMIT:
        kernel = event_query(text, roles, slack=f"{SLACK}s", emit=emit, select=select,
                             timed_out="all" if every else True)
        whole = harness.run(kernel, events)
        assert whole.counts() == want, (emit, "in one batch")
        assert Counter(whole.timed_out.values()) == timed, (emit, "timed out")
        cut = harness.run(kernel, events, cuts, restarts=data.draw(st.booleans()))
        assert cut.log == whole.log, (emit, "the output depends on the cuts")
        assert ids in (None, set(whole.standing)), "the ids depend on how matches are emitted"
        ids = set(whole.standing)
    in_order = sorted(events, key=lambda e: e["time"])
    again = harness.run(event_query(text, roles, slack="100s", select=select), in_order)
    assert set(again.standing) == ids, "the ids depend on the order of arrival"
