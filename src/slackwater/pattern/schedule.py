"""When each condition can be checked, for every way in which a match can be built.

A match is built around the event that completes it: rightwards from it to the last component, then
leftwards to the first.  So the order in which components are bound depends on the component of that
event, and with it the earliest point at which a condition can be checked.

Slot c (0…m−1) is for an event of component c.  Slot m + g is for building from the gap before
component g: around a negated event, and, with g = 0, from left to right.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.program import Condition
from slackwater.pattern.shape import NO_GRAPH, Graph, Shape, first_components, graph_of

__all__ = [
    "ANY",
    "FOLLOWING",
    "OWN",
    "OWN_STRICT",
    "STRICT",
    "Component",
    "Negation",
    "Plan",
    "conditions_graph",
    "schedule",
]

Int64 = NDArray[np.int64]


ANY, FOLLOWING, STRICT, OWN, OWN_STRICT = 0, 1, 2, 3, 4
"""How far apart two events that follow each other in a match may be: any event between them may be
passed over; only those that do not fit; none.  The last two are FOLLOWING and STRICT where ways to
go on do not compete: each takes its own next event (`branching`)."""


@dataclass(frozen=True)
class Component:
    """A component of a pattern.

    Parameters
    ----------
    variable
        Its name.
    types
        The types that it takes; none: every event.
    kleene
        It stands for a list of events, not for one.
    least, most
        How many events it takes (`most` 0: without limit).
    greedy
        An event that could go to it or to a component after it goes to it.
    before, inside
        ANY, FOLLOWING or STRICT: what may lie between it and the event before it, and between its
        own events; None: as the whole pattern has it.
    """

    variable: str
    types: tuple[str, ...]
    kleene: bool = False
    least: int = 1
    most: int = -1  # none given: 1, or without limit if it is Kleene
    greedy: bool = False
    before: int | None = None
    inside: int | None = None

    def __post_init__(self) -> None:
        if self.most < 0:
            object.__setattr__(self, "most", 0 if self.kleene else 1)

    @property
    def optional(self) -> bool:
        """A match may do without it."""
        return self.least == 0

    @property
    def plain(self) -> bool:
        """One event, or one and more, as far apart as the whole pattern has it."""
        return (self.least == 1 and not self.greedy and self.most == (0 if self.kleene else 1)
                and self.before is None and self.inside is None)


@dataclass(frozen=True)
class Negation:
    """A negated component; `gap` is the number of components before it."""

    variable: str
    types: tuple[str, ...]
    gap: int


class Plan(NamedTuple):
    """A pattern as the compiled loops see it."""

    m: int  # components
    stacks: int  # a partition: components, negations, and one for every event if `strict`
    window: int
    kleene: NDArray[np.bool_]
    gap: Int64  # a negation
    free: NDArray[np.bool_]  # a negation without conditions of its own
    negation_start: Int64  # a negation: its conditions are negation_condition[start … next start]
    negation_condition: Int64
    match_condition: Int64  # the conditions that every match must satisfy
    at_start: Int64  # a (slot, point): its conditions, likewise
    at_condition: Int64
    prune: bool  # push the window into construction (stack partition)
    limit: int  # matches that one event may complete
    general: bool  # it has quantifiers or running conditions: `explore` finds its matches
    heads: int  # how many components a match can begin with
    least: Int64
    most: Int64
    greedy: NDArray[np.bool_]
    before: Int64  # a component: ANY, FOLLOWING or STRICT, behind the one before it
    inside: Int64  # and between its own events
    everything: bool  # there is a stack with every event
    named: Int64  # a condition: the components it looks at one event of, as bits
    shaped: bool  # it is more than a row of components: `wander` finds its matches


def schedule(components: tuple[Component, ...], negations: tuple[Negation, ...],
             conditions: list[Condition], *, window: int, strict: bool, prune: bool,
             limit: int, way: int = ANY, shape: Shape | None = None) -> Plan:
    """Work out the plan.

    The points of a slot: a component (an element of it is placed), m (the match is complete),
    m + 1 (an element is placed to the left of the completing event, in the same component).
    """
    m = len(components)
    kleene = [c.kleene for c in components]
    own: list[list[int]] = [[] for _ in negations]
    for g, condition in enumerate(conditions):
        if condition.negation is not None:
            own[condition.negation].append(g)
    points: list[list[int]] = []
    for slot in range(2 * m + 1):
        here: list[list[int]] = [[] for _ in range(m + 2)]
        for g, condition in enumerate(conditions):
            if condition.negation is None:
                for point in _points(condition, slot, m):
                    here[point].append(g)
        points += here
    return Plan(
        m, m + len(negations) + strict, window, np.array(kleene, bool),
        np.array([n.gap for n in negations], np.int64),
        np.array([not o for o in own], bool), *_flat(own),
        np.array([g for g, c in enumerate(conditions) if c.negation is None], np.int64),
        *_flat(points), prune, limit, shape is not None or is_general(components, conditions),
        heads(components) if shape is None else 1 + max(first_components(shape.tree)),
        np.array([c.least for c in components], np.int64),
        np.array([c.most for c in components], np.int64),
        np.array([c.greedy for c in components], bool),
        np.array([way if c.before is None else c.before for c in components], np.int64),
        np.array([way if c.inside is None else c.inside for c in components], np.int64), strict,
        np.array([_named(c, shape is not None) for c in conditions], np.int64), shape is not None)


def conditions_graph(shape: Shape | None, conditions: list[Condition], way: int, *,
                     branching: bool = False) -> Graph:
    """The graph of a shape, with the conditions of its unwanted rows and rounds."""
    if shape is None:
        return NO_GRAPH
    own = [[g for g, c in enumerate(conditions) if c.negation in {q for q, _, _ in row}]
           for row in shape.unwanted]
    graph = graph_of(shape, way, own, [(c.scope, _mask(c.scoped), _mask(c.aggregated))
                                       for c in conditions])
    if not branching:  # ways compete, and no edge waits for a greedy one
        return graph._replace(yield_start=np.zeros_like(graph.yield_start),
                              yields=graph.yields[:0])
    alone = {FOLLOWING: OWN, STRICT: OWN_STRICT}
    return graph._replace(way=np.array([alone.get(int(w), int(w)) for w in graph.way], np.int64))


def is_general(components: tuple[Component, ...], conditions: list[Condition]) -> bool:
    """Whether it takes `explore`: quantifiers, or conditions that need all elements so far."""
    return not all(c.plain for c in components) or any(c.running for c in conditions)


def heads(components: tuple[Component, ...]) -> int:
    """How many components a match can begin with."""
    return next((i + 1 for i, c in enumerate(components) if not c.optional), len(components))


def _mask(components: Iterable[int]) -> int:
    return sum(1 << c for c in components)


def _named(condition: Condition, shaped: bool) -> int:
    own = () if condition.element is None else (condition.element,)
    more = {*condition.scoped, *condition.unwanted} if shaped else set()
    return _mask({*condition.singles, *own, *more})


def _points(condition: Condition, slot: int, m: int) -> list[int]:
    """The points of a slot at which a condition must be checked."""
    real = slot < m
    middle = slot if real else slot - m
    order = [*range(middle, m), *range(middle - 1, -1, -1)]
    place = {c: i for i, c in enumerate(order)}

    def complete(c: int) -> int:
        """Where in `order` the Kleene component c is known to have all its elements."""
        if real and c == slot:
            return place[c - 1] if c > 0 else m
        return place[c] + 1

    known = max([place[c] for c in condition.singles]
                + [complete(c) for c in condition.aggregated], default=-1)
    k = condition.element
    if k is None:
        return [order[known] if known < m else m]
    found = []
    if known <= place[k]:
        found.append(k)
    else:
        found.append(order[known] if known < m else m)
    if real and k == slot and known <= m - 1 - slot:
        found.append(m + 1)
    return found


def _flat(lists: list[list[int]]) -> tuple[Int64, Int64]:
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(x) for x in lists], out=start[1:])
    return start, np.array([g for x in lists for g in x], np.int64)
