"""Patterns that are more than a row of components: groups, alternatives, any order, until.

A tree in, a graph out (Glushkov's construction): a *node* for each place where an event can be
taken, an *edge* for each event that may come next.  Groups that are repeated a number of times, and
events in any order, are written out, so that a walk need remember no more than its node and how
many events the node has.  An edge knows what it passes: negations, the start of another round of a
loop.  The edges of a node stand in the order in which they are preferred where events compete.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError

__all__ = [
    "NO_GRAPH",
    "TIMED_OUT",
    "Either",
    "Graph",
    "Loop",
    "Row",
    "Shape",
    "Take",
    "Together",
    "Without",
    "first_components",
    "graph_of",
    "may_be_empty",
]

Int64 = NDArray[np.int64]
TIMED_OUT = ("furthest", "all")
"""Which partial matches time out: those that nothing followed, or every one that could go on."""
_MOST_EDGES = 100_000


@dataclass(frozen=True)
class Take:
    """Events of a component; `within` microseconds of the event before (−1: any time).

    `until` is the number of the unwanted event that ends it, −1: none.
    """

    component: int
    least: int = 1
    most: int = 1  # 0: without limit
    greedy: bool = False
    inside: int | None = None
    within: int = -1
    until: int = -1


@dataclass(frozen=True)
class Without:
    """Nothing of this kind may lie between the events on both sides."""

    unwanted: int


@dataclass(frozen=True)
class Row:
    """One after the other; each with what may lie before it (None: as the whole pattern has it)."""

    items: tuple[tuple[int | None, Tree], ...]


@dataclass(frozen=True)
class Loop:
    """A group and how often it comes; `number` tells loops apart."""

    body: Tree
    number: int
    least: int = 1
    most: int = 0
    greedy: bool = False
    inside: int | None = None
    until: int = -1


@dataclass(frozen=True)
class Either:
    """One of these; the first that fits is preferred."""

    options: tuple[Tree, ...]


@dataclass(frozen=True)
class Together:
    """All of these, in any order."""

    items: tuple[Tree, ...]


Tree: TypeAlias = Take | Without | Row | Loop | Either | Together


@dataclass(frozen=True)
class Shape:
    """A whole pattern.

    `unwanted` are rows of negated components, each with the least and the most events of it: no
    such row may lie in the interval.  Those in `nearest` have one component, and only the event
    right behind the one before is looked at.
    """

    tree: Tree
    unwanted: tuple[tuple[tuple[int, int, int], ...], ...] = ()
    loops: int = 0
    nearest: frozenset[int] = frozenset()


class Graph(NamedTuple):
    """A shape as the compiled walk sees it; masks are bits of unwanted rows or of loops."""

    component: Int64  # a node
    least: Int64
    most: Int64
    within: Int64
    reach: Int64  # a node: the components that events after it can still go to, as bits
    last: NDArray[np.bool_]  # a node: the match may end here
    trailing: Int64  # a node: what may not come behind it, if it is the end
    start: Int64  # a node: its edges are start[n] … start[n + 1]; after all nodes, the first events
    to: Int64  # an edge
    again: NDArray[np.bool_]  # an edge: one more of the same node
    way: Int64  # an edge: ANY, FOLLOWING or STRICT
    passes: Int64  # an edge: what may not lie on it
    rounds: Int64  # an edge: the loops of which it begins a round
    until: Int64  # an edge: what may not lie on it, its end included
    at: Int64  # an edge: what its end may not be
    yield_start: Int64  # an edge: the greedy ones that go before it where ways do not compete
    yields: Int64
    row_start: Int64  # an unwanted row: its components
    row_part: Int64  # the negation
    row_least: Int64
    row_most: Int64
    nearest: NDArray[np.bool_]  # an unwanted row: of the next event only
    own_start: Int64  # an unwanted row: its conditions
    own: Int64
    scope: Int64  # a condition: the loop in each round of which it must hold, −1: none
    scoped: Int64  # a condition: the components of which it takes the round's event, as bits
    whole: Int64  # a condition: the components that must be complete, as bits
    loops: int
    ambiguous: bool  # a match may be found in several ways
    looks_back: bool = False  # whether any event right before the first can undo a match
    partial: int = 0  # 1, 2: walks are wanted that time out (see `timed_out`), not matches


_NONE = np.zeros(0, np.int64)
NO_GRAPH = Graph._make({**dict.fromkeys(Graph._fields, _NONE), "last": _NONE.astype(bool),
                        "again": _NONE.astype(bool), "nearest": _NONE.astype(bool), "loops": 0,
                        "ambiguous": False, "looks_back": False,
                        "partial": 0}.values())


def may_be_empty(tree: Tree) -> bool:
    """Whether a match may do without all of it."""
    match tree:
        case Take():
            return tree.least == 0
        case Without():
            return True
        case Row():
            return all(may_be_empty(item) for _, item in tree.items)
        case Loop():
            return tree.least == 0 or may_be_empty(tree.body)
        case Either():
            return any(map(may_be_empty, tree.options))
        case Together():
            return all(map(may_be_empty, tree.items))


def first_components(tree: Tree) -> set[int]:
    """The components that a match can begin with."""
    match tree:
        case Take():
            return {tree.component}
        case Without():
            return set()
        case Row():
            found: set[int] = set()
            for _, item in tree.items:
                found |= first_components(item)
                if not may_be_empty(item):
                    break
            return found
        case Loop():
            return first_components(tree.body)
        case Either():
            return {c for option in tree.options for c in first_components(option)}
        case Together():
            return {c for item in tree.items for c in first_components(item)}


@dataclass
class _Edge:
    to: int
    way: int | None
    passes: int = 0
    rounds: int = 0
    until: int = 0
    at: int = 0
    again: bool = False
    greedy: list[int] | None = None  # the nodes of the greedy item that it enters: from, to
    turn: list[int] | None = None  # the nodes of the loop of which it begins another round


@dataclass
class _Piece:
    """A part of the graph: edges that lead in, nodes that lead out, and whether it can be passed.

    `out` has for each node what an edge from it passes; `empty` what an edge passes that leaves the
    piece out, None if none can.
    """

    into: list[_Edge] = field(default_factory=list)
    out: list[tuple[int, int]] = field(default_factory=list)
    empty: int | None = None


class _Maker:
    def __init__(self, way: int) -> None:
        self.way = way
        self.nodes: list[Take] = []
        self.edges: list[list[_Edge]] = []
        self.pinned: list[int] = []  # a node: how many of its edges are preferred to all later ones
        self.made = 0
        self.apart: list[list[range]] = []  # the nodes of alternatives

    def leaves(self, edge: _Edge, other: _Edge) -> bool:
        """Whether an edge leads past the greedy item that another one stays in or enters.

        Another round of a loop around that item does not, nor what goes on in the round before the
        one in which the item stands, and neither does an alternative to it.
        """
        nodes = other.greedy
        if nodes is None or edge.to < nodes[1]:
            return False
        if edge.turn is not other.turn:
            if edge.turn is not None and edge.turn[0] <= nodes[0] and nodes[1] <= edge.turn[1]:
                return False
            if other.turn is not None and other.turn[0] <= edge.to < other.turn[1]:
                return False
        return not any(edge.to in one and nodes[0] in two for ranges in self.apart
                       for one in ranges for two in ranges if one is not two)

    def ranged(self, tree: Tree) -> tuple[_Piece, range]:
        """A piece and its nodes."""
        first = len(self.nodes)
        return self.piece(tree), range(first, len(self.nodes))

    def piece(self, tree: Tree) -> _Piece:
        match tree:
            case Take():
                return self.take(tree)
            case Without():
                return _Piece(empty=1 << tree.unwanted)
            case Row():
                return self.row(tree)
            case Loop():
                return self.loop(tree)
            case Either():
                return self.either(tree)
            case Together():
                return self.together(tree)

    def take(self, take: Take) -> _Piece:
        node = len(self.nodes)
        self.nodes.append(take)
        self.edges.append([])
        self.pinned.append(0)
        stop = 1 << take.until if take.until >= 0 else 0
        own = [node, node + 1] if take.greedy else None
        if take.most != 1:
            self.edges[node].append(_Edge(node, take.inside, until=stop, again=True, greedy=own))
            self.made += 1
        return _Piece([_Edge(node, None, at=stop, greedy=own)], [(node, 0)],
                      0 if take.least == 0 else None)

    def link(self, out: list[tuple[int, int]], into: list[_Edge], *, greedy: bool = False,
             way: int | None = None, until: int = 0) -> None:
        """Edges from the ends of one piece to the beginnings of another.

        What is linked later is further ahead, and preferred; unless a greedy loop came before.
        """
        self.made += len(out) * len(into)
        if self.made > _MOST_EDGES:
            raise ConfigError("the pattern is too large", step="query",
                              expected="fewer repetitions of groups, or fewer events in any order")
        for node, passed in out:
            new = [replace(e, passes=e.passes | passed, until=e.until | until,
                           way=way if e.way is None else e.way) for e in into]
            pinned = self.pinned[node]
            self.edges[node][pinned:pinned] = new
            if greedy:
                self.pinned[node] += len(new)

    def row(self, row: Row) -> _Piece:
        whole = _Piece(empty=0)
        for way, item in row.items:
            piece = self.piece(item)
            into = [replace(e, way=way if e.way is None else e.way) for e in piece.into]
            self.link(whole.out, into)
            if whole.empty is not None:  # further ahead comes first
                into = [replace(e, passes=e.passes | whole.empty) for e in into]
                whole.into = into + whole.into
            if piece.empty is not None:
                piece.out = piece.out + [(n, p | piece.empty) for n, p in whole.out]
            whole.out = piece.out
            whole.empty = (None if whole.empty is None or piece.empty is None
                           else whole.empty | piece.empty)
        return whole

    def loop(self, loop: Loop) -> _Piece:
        least = 0 if may_be_empty(loop.body) else loop.least
        stop = 1 << loop.until if loop.until >= 0 else 0
        bit, first = 1 << loop.number, len(self.nodes)
        copies = loop.most or max(least, 1)
        whole = _Piece(empty=0 if least == 0 else None)
        before: list[tuple[int, int]] = []
        reach = [first, first]
        for i in range(copies):
            piece = self.piece(loop.body)
            into = [replace(e, rounds=e.rounds | bit, at=e.at | stop,
                            greedy=reach if loop.greedy else e.greedy) for e in piece.into]
            if i == 0:
                whole.into = into
            into = [replace(e, turn=reach) for e in into]
            self.link(before, into, greedy=loop.greedy and i >= least, way=loop.inside)
            before = piece.out
            if i + 1 >= least:
                whole.out = whole.out + piece.out
        if loop.most == 0:
            self.link(before, into, greedy=loop.greedy, way=loop.inside)
        reach[1] = len(self.nodes)
        if stop:
            for edges in self.edges[first:]:
                edges[:] = [replace(e, until=e.until | stop) for e in edges]
        return whole

    def either(self, either: Either) -> _Piece:
        made = [self.ranged(option) for option in either.options]
        self.apart.append([nodes for _, nodes in made])
        pieces = [piece for piece, _ in made]
        empty = next((p.empty for p in pieces if p.empty is not None), None)
        return _Piece([e for p in pieces for e in p.into], [o for p in pieces for o in p.out],
                      empty)

    def together(self, both: Together) -> _Piece:
        n = len(both.items)
        made: dict[tuple[int, int], _Piece] = {}
        for done in range(1 << n):
            items = {i: self.ranged(item) for i, item in enumerate(both.items) if not done >> i & 1}
            made |= {(done, i): piece for i, (piece, _) in items.items()}
            self.apart.append([nodes for _, nodes in items.values()])
        whole = _Piece()
        for (done, i), piece in made.items():
            after = done | 1 << i
            if done == 0:
                whole.into += piece.into
            if after == (1 << n) - 1:
                whole.out += piece.out
            self.link(piece.out, [e for j in range(n) if not after >> j & 1
                                  for e in made[after, j].into])
        return whole


def graph_of(shape: Shape, way: int, own: list[list[int]], scope: list[tuple[int, int, int]],
             ) -> Graph:
    """The graph of a shape; `own` has the conditions of each unwanted row.

    `scope` has for each condition its loop, its components in it, those that must be complete.
    """
    maker = _Maker(way)
    whole = maker.piece(shape.tree)
    for node, take in enumerate(maker.nodes):
        if take.greedy:  # its own first, then what is nearest
            maker.edges[node].reverse()
    ends = dict.fromkeys(range(len(maker.nodes)), -1)
    for node, passed in whole.out:
        ends[node] = passed if ends[node] < 0 else ends[node] | passed
    lists = [*maker.edges, whole.into]
    flat = [e for edges in lists for e in edges]
    start = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(edges) for edges in lists], out=start[1:])
    component = [t.component for t in maker.nodes]
    reach = _reach(component, [[e.to for e in edges] for edges in maker.edges])
    ambiguous = any(len({component[e.to] for e in edges}) < len(edges) for edges in lists)
    rows = [part for row in shape.unwanted for part in row]
    yields = [[int(start[i]) + j for j, g in enumerate(edges) if maker.leaves(e, g)]
              for i, edges in enumerate(lists) for e in edges]

    def whole_numbers(values: list[int]) -> Int64:
        return np.array(values, np.int64)

    def starts(lists: list[list[int]]) -> Int64:
        return np.concatenate([[0], np.cumsum([len(x) for x in lists])]).astype(np.int64)

    return Graph(
        whole_numbers(component), whole_numbers([t.least for t in maker.nodes]),
        whole_numbers([t.most for t in maker.nodes]),
        whole_numbers([t.within for t in maker.nodes]), whole_numbers(reach),
        np.array([p >= 0 for p in ends.values()], bool),
        whole_numbers([max(p, 0) for p in ends.values()]), start,
        whole_numbers([e.to for e in flat]), np.array([e.again for e in flat], bool),
        whole_numbers([way if e.way is None else e.way for e in flat]),
        whole_numbers([e.passes for e in flat]), whole_numbers([e.rounds for e in flat]),
        whole_numbers([e.until for e in flat]), whole_numbers([e.at for e in flat]),
        starts(yields), whole_numbers([g for gs in yields for g in gs]),
        starts([list(range(len(row))) for row in shape.unwanted]),
        whole_numbers([q for q, _, _ in rows]), whole_numbers([least for _, least, _ in rows]),
        whole_numbers([most for _, _, most in rows]),
        np.array([u in shape.nearest for u in range(len(shape.unwanted))], bool), starts(own),
        whole_numbers([g for gs in own for g in gs]), whole_numbers([s for s, _, _ in scope]),
        whole_numbers([s for _, s, _ in scope]), whole_numbers([w for _, _, w in scope]),
        shape.loops, ambiguous,
        any(e.passes >> u & 1 for e in whole.into for u in shape.nearest))


def _reach(component: list[int], after: list[list[int]]) -> list[int]:
    """For each node the components of the nodes behind it, as bits."""
    reach = [0] * len(component)
    changed = True
    while changed:
        changed = False
        for node in range(len(component) - 1, -1, -1):
            found = reach[node]
            for other in after[node]:
                found |= reach[other] | 1 << component[other]
            if found != reach[node]:
                reach[node], changed = found, True
    return reach
