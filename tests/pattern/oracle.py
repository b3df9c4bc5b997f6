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
    least: int = 1
    most: int = -1  # −1: 1, or without limit for a Kleene variable; 0: without limit
    greedy: bool = False
    before: str | None = None  # a selection of its own
    inside: str | None = None

    @property
    def limit(self) -> float:
        most = (0 if self.kleene else 1) if self.most < 0 else self.most
        return most or float("inf")

    @property
    def counted(self) -> bool:
        return self.least != 1 or self.greedy or self.limit != (
            float("inf") if self.kleene else 1) or bool(self.before or self.inside)


@dataclass
class Query:
    """`tests` must hold for a match; `against` (by negated variable) for an event that undoes it.

    A test names the variables it needs, so that `skip_till_next` knows when to apply it.  `element`
    tests speak of one element of a Kleene variable, given under the variable's name; `pair` tests
    also of the one before, under the name with an apostrophe; `running` tests get the elements up
    to one under the variable's name, and elements with fewer than so many before are exempt.
    """

    parts: list[Part]
    window: int
    tests: list[tuple[set[str], Test]] = field(default_factory=list)
    aggregates: list[tuple[set[str], Test]] = field(default_factory=list)
    pairs: list[tuple[str, Test]] = field(default_factory=list)
    running: list[tuple[str, int, Test]] = field(default_factory=list)
    against: dict[str, list[Test]] = field(default_factory=dict)
    key: Callable[[Event], Any] = lambda event: None
    skip: Skip | None = None  # "past_last", "next", "first", "last" of a variable


def takes(part: Part, event: Event) -> bool:
    """No types: every event."""
    return not part.types or event["type"] in part.types


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


def absent(binding: Binding, names: set[str]) -> bool:
    """A condition on an event that a match does without is met."""
    return any(binding.get(name, True) is None for name in names)


def holds(query: Query, binding: Binding) -> bool:
    for names, test in query.tests:
        if absent(binding, names):
            continue
        if not all(test(b) for b in bindings_of(query, binding, names)):
            return False
    for variable, test in query.pairs:
        run = binding[variable]
        for a, b in pairwise(run):
            if not test({**binding, variable: b, variable + "'": a}):
                return False
    for variable, back, test in query.running:
        run = binding[variable]
        if not all(test({**binding, variable: run[: i + 1]}) for i in range(back, len(run))):
            return False
    return all(absent(binding, names) or test(binding) for names, test in query.aggregates)


def fits_so_far(query: Query, binding: Binding, new: str) -> bool:
    """The running tests of the element just taken."""
    return all(test(binding) for variable, back, test in query.running
               if variable == new and len(binding[new]) > back)


def flat(query: Query, binding: Binding) -> list[Event]:
    out: list[Event] = []
    for part in positives(query):
        got = binding[part.variable]
        out += got if part.kleene else [got] if got is not None else []
    return out


def present(binding: Binding, part: Part) -> int:
    got = binding[part.variable]
    return len(got) if part.kleene else int(got is not None)


def undone(query: Query, binding: Binding, events: list[Event]) -> bool:
    chain = flat(query, binding)
    first, last = chain[0], chain[-1]
    seen: list[Part] = []
    for part in query.parts:
        if not part.negated:
            seen.append(part)
            continue
        before = chain[: sum(present(binding, p) for p in seen)]
        after = chain[len(before):]
        for event in events:
            if not takes(part, event) or query.key(event) != query.key(first):
                continue
            if not before:
                inside = (last["time"] - query.window <= event["time"]
                          and place(event) < place(first))
            elif not after:
                inside = (place(event) > place(last)
                          and event["time"] <= first["time"] + query.window)
            else:
                inside = place(before[-1]) < place(event) < place(after[0])
            whole = {**binding, part.variable: event}
            each = list(bindings_of(query, whole, {p.variable for p in query.parts})) or [whole]
            if inside and all(all(map(test, each)) for test in query.against.get(
                    part.variable, [])):
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
        fits = [e for e in events if takes(part, e)
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
        if not fits_so_far(query, binding, new):
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
                    if takes(target, e) and fits(bound, target.variable, None):
                        ahead.append((bound, at + 1, e))
            if not ahead and part.kleene:
                for e in group:
                    bound = {**binding, part.variable: [*binding[part.variable], e]}
                    if takes(part, e) and fits(bound, part.variable, last):
                        ahead.append((bound, at, e))
            if ahead:
                for bound, now, e in ahead:
                    yield from step(bound, now, e, latest)
                return
        if at + 1 == len(parts):
            yield binding

    for e in events:
        if takes(parts[0], e):
            start = {parts[0].variable: [e] if parts[0].kleene else e}
            if fits(start, parts[0].variable, None):
                yield from step(start, 0, e, e["time"] + query.window)


def counted_match(query: Query, events: list[Event], select: str) -> Iterator[Binding]:
    """Quantifiers, by the words: from each first event, the ways to go on.

    A way under `skip_till_any` is tried with every event.  The others compete: the earliest event
    that fits one of them is taken, for the component furthest ahead, or behind a greedy one for its
    own; only if none does, what there is may be a match.
    """
    parts = positives(query)

    def ways(binding: Binding, at: int) -> list[int]:
        if at < 0:
            count, part = 1, Part("", ())
        else:
            count, part = present(binding, parts[at]), parts[at]
        found = [at] if at >= 0 and count < part.limit else []
        if count >= part.least:
            for t in range(at + 1, len(parts) + 1):
                found.append(t)  # len(parts) stands for the end
                if t < len(parts) and parts[t].least > 0:
                    break
        return found

    def taken(binding: Binding, at: int, t: int, e: Event) -> Binding:
        if t == at:
            return {**binding, parts[t].variable: [*binding[parts[t].variable], e]}
        left_out = {p.variable: [] if p.kleene else None for p in parts[at + 1:t]}
        return {**binding, **left_out, parts[t].variable: [e] if parts[t].kleene else e}

    def fits(binding: Binding, t: int) -> bool:
        new = parts[t].variable
        for names, test in query.tests:
            if new in names and names <= set(binding) and not absent(binding, names):
                last = ({**binding, new: binding[new][-1:]} if parts[t].kleene else binding)
                if not all(test(b) for b in bindings_of(query, last, names)):
                    return False
        for variable, test in query.pairs:
            if variable == new and len(binding[new]) > 1 and not test(
                    {**binding, variable: binding[new][-1], variable + "'": binding[new][-2]}):
                return False
        if not fits_so_far(query, binding, new):
            return False
        complete = {p.variable for p in parts[:t]} | {v for v in binding
                                                      if not isinstance(binding[v], list)}
        return all(test(binding) for names, test in query.aggregates
                   if names <= complete and not absent(binding, names))

    def go(binding: Binding, at: int, last: Event, latest: int) -> Iterator[Binding]:
        open_ = ways(binding, at)
        end = {**binding, **{p.variable: [] if p.kleene else None for p in parts[at + 1:]}}
        later = sorted((e for e in events if place(e) > place(last)), key=place)
        inside = [e for e in later if e["time"] <= latest]
        compete = [t for t in open_ if t < len(parts) and way(at, t) != "skip_till_any"]
        found = winner(binding, at, compete, later, inside)
        for t, e in found:
            yield from go(taken(binding, at, t, e), t, e, latest)
        if not found and len(parts) in open_:
            yield end
        for t in open_:
            for e in inside:
                if t < len(parts) and t not in compete and takes(parts[t], e):
                    yield from go(taken(binding, at, t, e), t, e, latest)

    def way(at: int, t: int) -> str:
        return (parts[t].inside if t == at else parts[t].before) or select

    def winner(binding: Binding, at: int, compete: list[int], later: list[Event],
               inside: list[Event]) -> list[tuple[int, Event]]:
        for where in sorted(set(map(place, inside))):
            for t in sorted(compete, reverse=not parts[at].greedy):
                if way(at, t) == "strict" and where != place(later[0]):
                    continue
                good = [(t, e) for e in inside if place(e) == where
                        and takes(parts[t], e) and fits(taken(binding, at, t, e), t)]
                if good:
                    return good
        return []

    for e in events:
        for t in ways({}, -1):
            if t < len(parts) and takes(parts[t], e):
                start = taken({}, -1, t, e)
                if fits(start, t):
                    yield from go(start, t, e, e["time"] + query.window)


Skip = tuple[str, str | None]
Made = tuple[list[Event], list[Event], list[int]]


def order_of(made: Made) -> Any:
    """By first event, then by last, then earlier events, then more in the earlier variables."""
    chain, _, counts = made
    return (place(chain[0]), place(chain[-1]), list(map(place, chain)), [-n for n in counts])


def stand(skip: Skip, made: list[Made]) -> list[tuple[int, tuple[int, int], bool]]:
    """AFTER MATCH SKIP: which matches stand, and where (or behind what) the next may begin.

    A match is its events in order, those of the variable that is skipped to, and how many events
    each variable has.
    """
    to, _ = skip
    kept: list[tuple[int, tuple[int, int], bool]] = []
    for i in sorted(range(len(made)), key=lambda i: order_of(made[i])):
        chain, run, _ = made[i]
        head = place(chain[0])
        if kept and (head < kept[-1][1] or (kept[-1][2] and head == kept[-1][1])):
            continue
        target = chain[-1] if to == "past_last" else chain[0]
        if run:
            target = run[0] if to == "first" else run[-1]
        kept.append((i, place(target), to in ("past_last", "next")))
    return kept


def after_skipping(query: Query, standing: list[Binding]) -> list[Binding]:
    """Those that stand, each of which moves the point."""
    if query.skip is None:
        return standing
    _, variable = query.skip
    parts = positives(query)
    made = [(flat(query, b), flat(Query([p for p in parts if p.variable == variable], 0), b),
             [present(b, p) for p in parts]) for b in standing]
    return [standing[i] for i, _, _ in stand(query.skip, made)]


def matches(query: Query, events: list[Event], select: str = "skip_till_any") -> Counter[Any]:
    """The final set of matches: for each, its events in order, by `_id`, variable by variable."""
    found: Counter[Any] = Counter()
    for key in {query.key(e) for e in events}:
        mine = [e for e in events if query.key(e) == key]
        if any(p.counted for p in query.parts):
            made = counted_match(query, mine, select)
        elif select == "skip_till_any":
            made = any_match(query, mine)
        else:
            made = next_match(query, mine, select == "strict")
        standing = []
        for binding in made:
            chain = flat(query, binding)
            if chain[-1]["time"] - chain[0]["time"] > query.window:
                continue
            if holds(query, binding) and not undone(query, binding, mine):
                standing.append(binding)
        for binding in after_skipping(query, standing):
            found[tuple((p.variable, tuple(e["_id"] for e in flat(
                Query([p], 0), binding))) for p in positives(query))] += 1
    return found
