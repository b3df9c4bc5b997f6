"""The meaning of groups, OR, AND, UNTIL and negated sequences, slow and obvious.

A pattern is a tree; what is left of it after an event is another tree.  `ways` gives, for a tree,
each part that the next event may be taken for, and the tree that is left then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise
from typing import Any

from tests.pattern.oracle import (
    Binding,
    Event,
    Made,
    Part,
    Skip,
    Test,
    order_of,
    place,
    stand,
    takes,
)

Tree = Any


@dataclass(frozen=True)
class Take:
    part: Part
    least: int
    most: float
    begun: bool = False
    within: int | None = None


@dataclass(frozen=True)
class Row:
    items: tuple[tuple[str | None, Tree], ...]


@dataclass(frozen=True)
class Loop:
    body: Tree
    number: int
    least: int
    most: float
    greedy: bool = False
    until: Part | None = None
    inside: str | None = None  # what may lie between two rounds
    now: Tree = None  # what is left of the round
    done: int = 0


@dataclass(frozen=True)
class Or:
    options: tuple[Tree, ...]


@dataclass(frozen=True)
class And:
    items: tuple[Tree, ...]


@dataclass(frozen=True)
class Not:
    parts: tuple[Part, ...]
    nearest: bool = False  # only the next event counts


@dataclass(frozen=True)
class Way:
    part: Part
    rest: Tree
    arrow: str | None = None
    passed: tuple[Not, ...] = ()
    rounds: frozenset[int] = frozenset()
    between: tuple[Part, ...] = ()
    at: tuple[Part, ...] = ()
    within: int | None = None
    greedy: bool = False
    yields: tuple[Way, ...] = ()  # greedy ways that go before it, where ways do not compete


@dataclass
class Query:
    tree: Tree
    parts: list[Part]
    window: int
    many: set[str]
    tests: list[tuple[set[str], Test]] = field(default_factory=list)
    scoped: list[tuple[set[str], int, Test]] = field(default_factory=list)
    against: dict[str, list[Test]] = field(default_factory=dict)
    speaks: dict[str, set[str]] = field(default_factory=dict)  # a negated variable: of which others
    key: Callable[[Event], Any] = lambda event: None
    skip: Skip | None = None


class UndecidedError(Exception):
    """Two matches go by the same events in the same order: their ids decide which comes first."""


def empty(tree: Tree) -> tuple[Not, ...] | None:
    """What is passed by leaving the rest out; None if it cannot be left out."""
    match tree:
        case Take():
            return () if tree.least <= 0 else None
        case Not():
            return (tree,)
        case Row():
            found = [empty(item) for _, item in tree.items]
            return None if None in found else tuple(n for f in found for n in f)
        case Or():
            return next((f for f in map(empty, tree.options) if f is not None), None)
        case And():
            return None
        case Loop():
            least = 0 if empty(tree.body) is not None else tree.least
            if tree.now is None:
                return () if least == 0 else None
            return empty(tree.now) if tree.done >= least else None


def ways(tree: Tree) -> tuple[list[Way], list[Way]]:
    """Those that a greedy loop prefers, and the others; what is further ahead comes first."""
    match tree:
        case Take():
            if tree.most <= 0:
                return [], []
            rest = replace(tree, least=tree.least - 1, most=tree.most - 1, begun=True)
            return [], [Way(tree.part, rest, tree.part.inside if tree.begun else None,
                            within=tree.within, greedy=tree.part.greedy)]
        case Not():
            return [], []
        case Row():
            return row_ways(tree)
        case Or():
            return [], [w for option in tree.options for part in ways(option) for w in part]
        case And():
            found = []
            for i, item in enumerate(tree.items):
                others = tree.items[:i] + tree.items[i + 1:]
                left = And(others) if others else Row(())
                found += [replace(w, rest=Row(((None, w.rest), (None, left))))
                          for part in ways(item) for w in part]
            return [], found
        case Loop():
            return loop_ways(tree)


def row_ways(row: Row) -> tuple[list[Way], list[Way]]:
    if not row.items:
        return [], []
    (arrow, head), rest = row.items[0], Row(row.items[1:])

    def inside(w: Way) -> Way:
        return replace(w, rest=Row(((None, w.rest), *rest.items)),
                       arrow=arrow if w.arrow is None else w.arrow)

    pinned, normal = ([inside(w) for w in some] for some in ways(head))
    passed = empty(head)
    if passed is None:
        return pinned, normal
    first = tuple(w for w in pinned + normal if w.greedy)
    ahead = [replace(w, passed=passed + w.passed, yields=w.yields + first)
             for part in ways(rest) for w in part]
    return pinned, ahead + normal


def loop_ways(loop: Loop) -> tuple[list[Way], list[Way]]:
    stop = (loop.until,) if loop.until else ()

    def entered(passed: tuple[Not, ...], between: tuple[Part, ...]) -> list[Way]:
        return [replace(w, rest=replace(loop, now=w.rest, done=loop.done + 1),
                        rounds=w.rounds | {loop.number}, passed=passed + w.passed,
                        between=w.between + between, at=w.at + stop,
                        greedy=w.greedy or loop.greedy)
                for part in ways(loop.body) for w in part]

    if loop.now is None:
        return [], entered((), ())
    pinned, normal = ([replace(w, rest=replace(loop, now=w.rest), between=w.between + stop,
                               at=w.at + stop) for w in some] for some in ways(loop.now))
    passed = empty(loop.now)
    again = ([replace(w, arrow=loop.inside if w.arrow is None else w.arrow)
              for w in entered(passed, stop)]
             if passed is not None and loop.done < loop.most else [])
    greedy = loop.greedy and loop.done >= (0 if empty(loop.body) is not None else loop.least)
    return (pinned + again, normal) if greedy else (pinned, again + normal)


def rows_in(parts: tuple[Part, ...], events: list[Event]) -> Iterator[Binding]:
    """Every choice of an unwanted row."""
    if not parts:
        yield {}
        return
    part, *rest = parts
    fits = sorted((e for e in events if takes(part, e)), key=place)
    most = int(min(part.limit, len(fits)))
    for size in range(part.least, most + 1):
        for run in combinations(fits, size):
            if any(place(a) >= place(b) for a, b in pairwise(run)):
                continue
            later = [e for e in events if not run or place(e) > place(run[-1])]
            for more in rows_in(tuple(rest), later):
                yield {part.variable: list(run) if part.kleene else run[0] if run else None, **more}


def still_to_come(tree: Tree) -> set[str]:
    """The variables that may still get an event."""
    match tree:
        case Take():
            return {tree.part.variable} if tree.most > 0 else set()
        case Not():
            return set()
        case Row():
            return {v for _, item in tree.items for v in still_to_come(item)}
        case Or():
            return {v for option in tree.options for v in still_to_come(option)}
        case And():
            return {v for item in tree.items for v in still_to_come(item)}
        case Loop():
            again = tree.now is None or tree.done < tree.most
            return (still_to_come(tree.body) if again else set()) | (
                set() if tree.now is None else still_to_come(tree.now))


def unwanted(query: Query, bad: tuple[Part, ...], inside: list[Event], binding: Binding,
             unknown: set[str] = frozenset()) -> bool:  # type: ignore[assignment]
    """Whether they lie there; what speaks of the `unknown` cannot be judged, and does not."""
    if any(query.speaks.get(p.variable, set()) & unknown for p in bad):
        return False
    tests = [t for p in bad for t in query.against.get(p.variable, [])]
    return any(all(test({**binding, **row}) for test in tests) for row in rows_in(bad, inside)
               if any(row.values()))


def matches(query: Query, events: list[Event], select: str) -> Counter[Any]:
    return judged(query, events, select)[0]


def judged(query: Query, events: list[Event], select: str,
           every: bool = False) -> tuple[Counter[Any], Counter[Any]]:
    """The matches, and the partial ones that time out (with `every`, as the query says ALL)."""
    found: Counter[Any] = Counter()
    timed: Counter[Any] = Counter()
    taken = [p.variable for p in query.parts if not p.negated]
    for key in {query.key(e) for e in events}:
        mine = sorted((e for e in events if query.key(e) == key), key=place)
        made, partial = (  # a match may be come by in several ways
            {tuple((v, tuple(map(id, as_list(b[v])))) for v in taken): b for b in bindings}
            for bindings in _of_partition(query, mine, select, every))
        late = [b for which, b in partial.items() if which not in made]
        whole = list(made.values())
        if query.skip is not None:
            whole, late = _after_skipping(query.skip, taken, whole, late)
        for bindings, into in ((whole, found), (late, timed)):
            into.update(tuple((v, tuple(e["_id"] for e in as_list(b[v]))) for v in taken)
                        for b in bindings)
    return found, timed


def _after_skipping(skip: Skip, taken: list[str], whole: list[Binding],
                    late: list[Binding]) -> tuple[list[Binding], list[Binding]]:
    """The matches that stand, and the partial ones whose start none of them has skipped."""
    def seen(b: Binding) -> Made:
        runs = [as_list(b[v]) for v in taken]
        return (sorted((e for run in runs for e in run), key=place),
                as_list(b[skip[1]]) if skip[1] else [], [len(run) for run in runs])

    made = [seen(b) for b in whole]
    if any(x == y for x, y in pairwise(sorted(map(order_of, made)))):
        raise UndecidedError
    kept = stand(skip, made)

    def starts(b: Binding) -> bool:
        head = place(seen(b)[0][0])
        before = [(point, behind) for i, point, behind in kept if place(made[i][0][0]) <= head]
        return not before or not (head < before[-1][0] or before[-1] == (head, True))

    return [whole[i] for i, _, _ in kept], [b for b in late if starts(b)]


def as_list(got: Any) -> list[Event]:
    return got if isinstance(got, list) else [] if got is None else [got]


Step = tuple[Way, Event, dict[int, int]]


def _of_partition(query: Query, events: list[Event], select: str,
                  every: bool) -> tuple[list[Binding], list[Binding]]:
    made: list[Binding] = []
    timed: list[Binding] = []
    usual = "skip_till_next" if select == "branching" else select

    def arrow(way: Way) -> str:
        return way.arrow or usual

    def bound(steps: list[Step]) -> Binding:
        binding: Binding = {p.variable: [] if p.variable in query.many else None
                            for p in query.parts}
        for way, event, _ in steps:
            v = way.part.variable
            binding[v] = [*binding[v], event] if v in query.many else event
        return binding

    def holds(steps: list[Step], new: str | None) -> bool:
        """All tests, or those that speak of the event just taken."""
        binding = bound(steps)
        for names, test in query.tests:
            if (new is not None and new not in names) or any(
                    not binding[n] for n in names):
                continue
            lists = [n for n in names if n in query.many]
            for e in binding[lists[0]] if lists else [None]:
                if not test({**binding, **({lists[0]: e} if lists else {})}):
                    return False
        for names, loop, test in query.scoped:
            for turn in {rounds.get(loop) for _, _, rounds in steps}:
                here = {w.part.variable: e for w, e, r in steps if r.get(loop) == turn}
                if names <= set(here) and not test(here):
                    return False
        return True

    def fits(steps: list[Step], way: Way, event: Event) -> list[Step] | None:
        last = steps[-1][1] if steps else None
        if last and way.within is not None and event["time"] - last["time"] > way.within:
            return None
        binding = bound(steps)
        for stop in way.between if last else ():
            if unwanted(query, (stop,), [e for e in events
                                         if place(last) < place(e) < place(event)], binding):
                return None
        for stop in way.at:
            if unwanted(query, (stop,), [event], binding):
                return None
        rounds = dict(steps[-1][2]) if steps else {}
        for loop in way.rounds:
            rounds[loop] = rounds.get(loop, 0) + 1
        new = [*steps, (way, event, rounds)]
        return new if holds(new, way.part.variable) else None

    def lies(bad: Not, inside: list[Event], binding: Binding, leading: bool = False,
             unknown: set[str] = frozenset()) -> bool:  # type: ignore[assignment]
        if bad.nearest and inside:
            near = (max if leading else min)(map(place, inside))
            inside = [e for e in inside if place(e) == near]
        return unwanted(query, bad.parts, inside, binding, unknown)

    def clear(steps: list[Step], partial: bool = False) -> bool:
        unknown = still_to_come(steps[-1][0].rest) if partial else set()
        binding, chain = bound(steps), [e for _, e, _ in steps]
        first, last = chain[0], chain[-1]
        for i, (way, event, _) in enumerate(steps):
            for bad in way.passed:
                inside = [e for e in events if (
                    place(chain[i - 1]) < place(e) and (
                        place(e) <= place(event) if bad.nearest else place(e) < place(event))
                    if i else
                    last["time"] - query.window <= e["time"] and place(e) < place(first))]
                if lies(bad, inside, binding, i == 0, unknown):
                    return False
        behind = [e for e in events if place(e) > place(last)
                  and e["time"] <= first["time"] + query.window]
        return partial or not any(lies(bad, behind, binding)
                                  for bad in empty(steps[-1][0].rest) or ())

    def first_that_fits(steps: list[Step], way: Way, near: bool, later: list[Event],
                        inside: list[Event]) -> list[list[Step]]:
        for where in sorted(set(map(place, inside))):
            if near and where != place(later[0]):
                break
            good = [fits(steps, way, e) for e in inside if place(e) == where
                    and takes(way.part, e)]
            if any(g is not None for g in good):
                return [g for g in good if g is not None]
        return []

    def own(steps: list[Step], way: Way, later: list[Event],
            inside: list[Event]) -> list[list[Step]]:
        mine = first_that_fits(steps, way, arrow(way) == "strict", later, inside)
        claim = claimed(steps, way, later, inside)
        return [] if mine and claim and claim <= place(mine[0][-1][1]) else mine

    def claimed(steps: list[Step], way: Way, later: list[Event], inside: list[Event]) -> Any:
        """Where the first event lies that a greedy way before this one could take, were it next."""
        theirs = [first_that_fits(steps, greedy, False, later, inside)
                  for greedy in way.yields if select == "branching"]
        return min((place(t[0][-1][1]) for t in theirs if t), default=None)

    def could_go_on(steps: list[Step], way: Way, inside: list[Event]) -> bool:
        unknown = still_to_come(steps[-1][0].rest)
        binding = bound(steps)
        return not ((arrow(way) == "strict" and inside)
                    or any(unwanted(query, (stop,), inside, binding) for stop in way.between)
                    or any(lies(bad, inside, binding, unknown=unknown) for bad in way.passed))

    def go(steps: list[Step]) -> bool:
        """Whether a walk that could be a match comes of it."""
        way, last, _ = steps[-1]
        latest = steps[0][1]["time"] + query.window
        pinned, normal = ways(way.rest)
        options = pinned + normal
        if way.part.greedy:
            options.reverse()
        later = [e for e in events if place(e) > place(last)]
        inside = [e for e in later if e["time"] <= latest]
        compete = [w for w in options if arrow(w) != "skip_till_any" and select != "branching"]
        won: list[list[Step]] = []
        for where in sorted(set(map(place, inside))):
            for w in compete:
                if arrow(w) == "strict" and where != place(later[0]):
                    continue
                good = [fits(steps, w, e) for e in inside if place(e) == where and takes(w.part, e)]
                won = [g for g in good if g is not None]
                if won:
                    break
            if won:
                break
        below = [go(more) for more in won]
        whole = empty(way.rest) is not None
        matched = whole and not any(below) and holds(steps, None) and clear(steps)
        if matched:
            made.append(bound(steps))
        waiting = [] if won else list(compete)
        for w in options:
            if w in compete:
                continue
            if arrow(w) == "skip_till_any":
                claim = claimed(steps, w, later, inside)
                new = [fits(steps, w, e) for e in inside if takes(w.part, e)
                       and (claim is None or place(e) < claim)]
            else:
                new = list(own(steps, w, later, inside))
            tried = [go(more) for more in new if more is not None]
            below += tried
            if (arrow(w) == "skip_till_any" or not tried) and not claimed(steps, w, later, inside):
                waiting.append(w)
        if not matched and (every or not below) and clear(steps, partial=True) and any(
                could_go_on(steps, w, inside) for w in waiting):
            timed.append(bound(steps))
        return whole or any(below)

    for event in events:
        for way in (w for some in ways(query.tree) for w in some):
            if takes(way.part, event) and not (select == "branching" and any(
                    takes(g.part, event) and fits([], g, event) for g in way.yields)):
                steps = fits([], way, event)
                if steps is not None:
                    go(steps)
    return made, timed
