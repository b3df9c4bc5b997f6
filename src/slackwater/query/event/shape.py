"""The nested structure of an EVENT pattern: groups, OR, AND, negated sequences, UNTIL."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count

from slackwater.pattern.shape import Either, Loop, Row, Shape, Take, Together, Tree, Without
from slackwater.query.event.tree import Choice, EventTree, Group, Node_, Part, Until, Unwanted

__all__ = ["groups_of", "in_one_round", "is_row", "may_lack", "numbered", "parts_of", "shape_of",
           "with_parts"]


def may_lack(node: Node_) -> bool:
    """Whether a match may do without it."""
    match node:
        case Part():
            return node.least == 0
        case Group():
            return node.least == 0 or all(may_lack(item) for _, item in node.items)
        case Choice():
            return any(map(may_lack, node.options))
        case Unwanted():
            return True
        case Until():
            return may_lack(node.node)


def is_row(shape: Group) -> bool:
    """Whether it is components and single negations, one after the other."""
    return all((isinstance(item, Part) and (item.within is None or item.within[1] is not None))
               or (isinstance(item, Unwanted) and len(item.parts) == 1
                   and item.parts[0].least == item.parts[0].most == 1
                   and item.parts[0].before is None)
               for _, item in shape.items)


def parts_of(node: Node_) -> list[Part]:
    """All components, negated or not, in the order in which they are written."""
    match node:
        case Part():
            return [node]
        case Group():
            return [p for _, item in node.items for p in parts_of(item)]
        case Choice():
            return [p for option in node.options for p in parts_of(option)]
        case Unwanted():
            return list(node.parts)
        case Until():
            return [*parts_of(node.node), node.stop]


def groups_of(node: Node_ | None) -> Iterator[Group]:
    """Every group of the structure."""
    match node:
        case Group():
            yield node
            for _, item in node.items:
                yield from groups_of(item)
        case Choice():
            for option in node.options:
                yield from groups_of(option)
        case Until():
            yield from groups_of(node.node)


def numbered(shape: Group) -> Group:
    """With the numbers of loops and negations, and what may be absent, written into the parts."""
    loops, rows = count(), count()

    def inside(node: Node_, within: tuple[int, ...], absent: bool) -> Node_:
        match node:
            case Part():
                return replace(node, loops=within, absent=absent)
            case Group():
                mine = (*within, next(loops)) if node.most != 1 else within
                absent = absent or node.least == 0
                return replace(node, items=tuple((a, inside(i, mine, absent))
                                                 for a, i in node.items))
            case Choice():
                return replace(node, options=tuple(
                    inside(o, within, absent or node.kind == "or") for o in node.options))
            case Unwanted():
                row = next(rows)
                return replace(node, parts=tuple(replace(p, row=row) for p in node.parts))
            case Until():
                return replace(node, node=inside(node.node, within, absent),
                               stop=replace(node.stop, row=next(rows)))

    found = inside(shape, (), False)
    assert isinstance(found, Group)
    return found


def with_parts(shape: Group, named: Sequence[Part]) -> Group:
    """The structure with the parts as they are named, which stand in the same order."""
    given: Iterator[Part] = iter(named)

    def change(node: Node_) -> Node_:
        match node:
            case Part():
                return next(given)
            case Group():
                return replace(node, items=tuple((a, change(i)) for a, i in node.items))
            case Choice():
                return replace(node, options=tuple(change(o) for o in node.options))
            case Unwanted():
                return replace(node, parts=tuple(next(given) for _ in node.parts))
            case Until():
                return Until(change(node.node), next(given), node.at)

    found = change(shape)
    assert isinstance(found, Group)
    return found


def in_one_round(parts: Sequence[Part]) -> tuple[int, Part | None] | None:
    """The loop in a round of which lists are lists no more, and the one that still is; or None.

    Of `(A a, B+ b[])+` a round has one `a`, and a list `b`.
    """
    if not all(p.loops for p in parts):
        return None
    common = [loop for loop in parts[0].loops if all(loop in p.loops for p in parts)]
    if not common:
        return None
    lists = [p for p in parts if p.kleene or p.loops[-1] != common[-1]]
    return (common[-1], lists[0] if lists else None) if len(lists) < 2 else None


def shape_of(tree: EventTree, places: Mapping[str, int], components: int,
             ways: Mapping[str | None, int]) -> Shape:
    """The shape that the matcher takes; `places` has a component for each variable."""
    rows: dict[int, tuple[tuple[int, int, int], ...]] = {}
    loops = 1 + max((loop for p in tree.parts for loop in p.loops), default=-1)
    seen = count()

    def unwanted(parts: Sequence[Part]) -> int:
        rows[parts[0].row] = tuple((places[p.variable] - components, p.least, p.most)
                                   for p in parts)
        return parts[0].row

    def made(node: Node_, until: int = -1) -> Tree:
        match node:
            case Part():
                limit = node.within[0] if node.within and node.within[1] is None else -1
                return Take(places[node.variable], node.least, node.most, node.greedy,
                            ways.get(node.inside), limit, until)
            case Group():
                number = next(seen) if node.most != 1 else -1
                row = Row(tuple((ways.get(arrow), made(item)) for arrow, item in node.items))
                if node.least == node.most == 1:
                    return row
                if number < 0:
                    return Either((row, Row(())))
                return Loop(row, number, node.least, node.most, node.greedy,
                            ways.get(node.inside), until)
            case Choice():
                options = tuple(made(option) for option in node.options)
                return Either(options) if node.kind == "or" else Together(options)
            case Unwanted():
                return Without(unwanted(node.parts))
            case Until():
                return made(node.node, unwanted([node.stop]))

    root = made(tree.whole)
    nearest = frozenset(p.row for p in tree.parts if p.negated and p.before is not None)
    return Shape(root, tuple(rows[i] for i in range(len(rows))), loops, nearest)
