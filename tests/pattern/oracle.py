"""The meaning of a pattern, slow and obvious: look at every combination of events.

Predicates are plain Python functions of a binding (variable → event or list of events), so nothing
of the query language, the planner or the engine is used here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, pairwise
from typing import Any

Event = dict[str, Any]  # time (microseconds), type, and whatever else; "_id" makes it unique
Binding = dict[str, Any]
Test = Callable[[Binding], bool]


@dataclass(frozen=True)
class Part:
    variable: str
    types: tuple[str, ...]
    kleene: bool = False
    negated: bool = False


@dataclass
class Query:
    """`tests` must hold for a match; `against` (by negated variable) for an event that undoes it.

    A test names the variables it needs, so that `skip_till_next` knows when to apply it.  `element`
    tests speak of one element of a Kleene variable, given under the variable's name; `pair` tests
    also of the one before, under the name with an apostrophe.
    """

    parts: list[Part]
    window: int
    tests: list[tuple[set[str], Test]] = field(default_factory=list)
    aggregates: list[tuple[set[str], Test]] = field(default_factory=list)
    pairs: list[tuple[str, Test]] = field(default_factory=list)
    against: dict[str, list[Test]] = field(default_factory=dict)
    key: Callable[[Event], Any] = lambda event: None
    skip: tuple[str, str | None] | None = None  # "past_last", "next", "first", "last" of a variable


def place(event: Event) -> tuple[int, int]:
    return event["time"], event.get("seq", 0)


def positives(query: Query) -> list[Part]:
    return [p for p in query.parts if not p.negated]


def bindings_of(query: Query, binding: Binding, names: set[str]) -> Iterator[Binding]:
    """The binding, with a Kleene variable among the names replaced by one element after another."""
    kleene = [p.variable for p in query.parts if p.kleene and p.variable in names]
    if not kleene or kleene[0] not in binding:
        yield binding
        return
    for element in binding[kleene[0]]:
        yield {**binding, kleene[0]: element}


def holds(query: Query, binding: Binding) -> bool:
    for names, test in query.tests:
        if not all(test(b) for b in bindings_of(query, binding, names)):
            return False
    for variable, test in query.pairs:
        run = binding[variable]
        for a, b in pairwise(run):
            if not test({**binding, variable: b, variable + "'": a}):
                return False
    return all(test(binding) for _, test in query.aggregates)


def flat(query: Query, binding: Binding) -> list[Event]:
    out: list[Event] = []
    for part in positives(query):
        got = binding[part.variable]
        out += got if part.kleene else [got]
    return out


def undone(query: Query, binding: Binding, events: list[Event]) -> bool:
    chain = flat(query, binding)
    first, last = chain[0], chain[-1]
    seen: list[Part] = []
    for part in query.parts:
        if not part.negated:
            seen.append(part)
            continue
        rest = [p for p in positives(query) if p not in seen]
        for event in events:
            if event["type"] not in part.types or query.key(event) != query.key(first):
                continue
            if not seen:
                inside = (last["time"] - query.window <= event["time"]
                          and place(event) < place(first))
            elif not rest:
                inside = (place(event) > place(last)
                          and event["time"] <= first["time"] + query.window)
            else:
                before, after = binding[seen[-1].variable], binding[rest[0].variable]
                before = before[-1] if seen[-1].kleene else before
                after = after[0] if rest[0].kleene else after
                inside = place(before) < place(event) < place(after)
            if inside and all(
                    all(test(b) for b in bindings_of(query, {**binding, part.variable: event},
                                                     {p.variable for p in query.parts}))
                    for test in query.against.get(part.variable, [])):
                return True
    return False


def any_match(query: Query, events: list[Event]) -> Iterator[Binding]:
    """Every combination, in order, inside the window."""
    parts = positives(query)

    def extend(binding: Binding, at: int, after: tuple[int, int] | None) -> Iterator[Binding]:
        if at == len(parts):
            yield binding
            return
        part = parts[at]
        fits = [e for e in events if e["type"] in part.types
                and (after is None or place(e) > after)]
        if not part.kleene:
            for e in fits:
                yield from extend({**binding, part.variable: e}, at + 1, place(e))
            return
        for size in range(1, len(fits) + 1):
            for run in combinations(sorted(fits, key=place), size):
                if all(place(a) < place(b) for a, b in pairwise(run)):
                    yield from extend({**binding, part.variable: list(run)}, at + 1,
                                      place(run[-1]))

    yield from extend({}, 0, None)


def next_match(query: Query, events: list[Event], strict: bool) -> Iterator[Binding]:
    """From each first event always the next that fits; events equal in order are all next."""
    parts = positives(query)

    def fits(binding: Binding, new: str, previous: Event | None) -> bool:
        """Tests whose variables are bound, and that speak of the one just bound."""
        for names, test in query.tests:
            if new in names and names <= set(binding) and not all(
                    test(b) for b in bindings_of(
                        query, binding if not isinstance(binding[new], list)
                        else {**binding, new: binding[new][-1:]}, names)):
                return False
        for variable, test in query.pairs:
            if variable == new and previous is not None and not test(
                    {**binding, variable: binding[new][-1], variable + "'": previous}):
                return False
        complete = {p.variable for p in parts[: [p.variable for p in parts].index(new)]
                    if p.kleene} | {v for v in binding if not isinstance(binding[v], list)}
        for names, test in query.aggregates:
            if names <= complete and not test(binding):
                return False
        return True

    def step(binding: Binding, at: int, last: Event, latest: int) -> Iterator[Binding]:
        part = parts[at]
        after = [e for e in events if place(e) > place(last) and e["time"] <= latest]
        if strict and after:
            everything = [e for e in events if place(e) > place(last)]
            nearest = min(map(place, everything))
            after = [e for e in after if place(e) == nearest]
        for where in sorted(set(map(place, after))):
            group = [e for e in after if place(e) == where]
            ahead = []
            if at + 1 < len(parts):
                target = parts[at + 1]
                for e in group:
                    bound = {**binding, target.variable: [e] if target.kleene else e}
                    if e["type"] in target.types and fits(bound, target.variable, None):
                        ahead.append((bound, at + 1, e))
            if not ahead and part.kleene:
                for e in group:
                    bound = {**binding, part.variable: [*binding[part.variable], e]}
                    if e["type"] in part.types and fits(bound, part.variable, last):
                        ahead.append((bound, at, e))
            if ahead:
                for bound, now, e in ahead:
                    yield from step(bound, now, e, latest)
                return
        if at + 1 == len(parts):
            yield binding

    for e in events:
        if e["type"] in parts[0].types:
            start = {parts[0].variable: [e] if parts[0].kleene else e}
            if fits(start, parts[0].variable, None):
                yield from step(start, 0, e, e["time"] + query.window)


def after_skipping(query: Query, standing: list[Binding]) -> list[Binding]:
    """AFTER MATCH SKIP: by first event, then by last; each standing match moves the point."""
    if query.skip is None:
        return standing
    to, variable = query.skip

    def order(binding: Binding) -> Any:
        chain = flat(query, binding)
        return (place(chain[0]), place(chain[-1]), list(map(place, chain)),
                [-len(binding[p.variable]) if p.kleene else -1 for p in positives(query)])

    kept: list[Binding] = []
    point, behind = None, False
    for binding in sorted(standing, key=order):
        chain = flat(query, binding)
        head = place(chain[0])
        if point is not None and (head < point or (behind and head == point)):
            continue
        kept.append(binding)
        target = chain[-1] if to == "past_last" else chain[0]
        if variable is not None:
            run = binding[variable] if isinstance(binding[variable], list) else [binding[variable]]
            target = run[0] if to == "first" else run[-1]
        point, behind = place(target), to == "past_last" or target is chain[0]
    return kept


def matches(query: Query, events: list[Event], select: str = "skip_till_any") -> Counter[Any]:
    """The final set of matches: for each, its events in order, by `_id`, variable by variable."""
    found: Counter[Any] = Counter()
    for key in {query.key(e) for e in events}:
        mine = [e for e in events if query.key(e) == key]
        made = (any_match(query, mine) if select == "skip_till_any"
                else next_match(query, mine, select == "strict"))
        standing = []
        for binding in made:
            chain = flat(query, binding)
            if chain[-1]["time"] - chain[0]["time"] > query.window:
                continue
            if holds(query, binding) and not undone(query, binding, mine):
                standing.append(binding)
        for binding in after_skipping(query, standing):
            found[tuple((p.variable, tuple(e["_id"] for e in (
                binding[p.variable] if p.kleene else [binding[p.variable]])))
                for p in positives(query))] += 1
    return found
