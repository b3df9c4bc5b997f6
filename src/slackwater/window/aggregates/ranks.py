"""Exact quantiles of a sliding set: a search tree with weights (a treap) over an arena's entries.

An entry stands for as many equal values as its weight says.  Logarithmic to insert, to remove and
to look up, for any number of quantiles at once.  The tree is derived from the entries: it is not
part of a snapshot, and its shape has no influence on results.

References
----------
Aragon, Seidel: Randomized Search Trees. FOCS 1989.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.window.compiled import uncounted

__all__ = ["Tree", "empty_tree", "find", "insert", "quantile", "remove", "resized",
           "weigh"]


class Tree(NamedTuple):
    """For each entry: its children, its weight, and the weight of it and all that is below it.

    Equal values stand in the order of `order`, which tells them apart.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    weight: NDArray[np.int64]
    size: NDArray[np.int64]
    order: NDArray[np.int64]


def empty_tree(entries: int) -> Tree:
    """Room for so many entries, each with weight 1, and with its number as its order."""
    return Tree(np.zeros(entries, np.int64), np.zeros(entries, np.int64),
                np.ones(entries, np.int64), np.zeros(entries, np.int64), np.arange(entries))


def resized(tree: Tree, entries: int) -> Tree:
    """The tree with room for more entries, or with less room at the end."""
    other, both = empty_tree(entries), min(entries, len(tree.left))
    for old, new in zip(tree, other, strict=True):
        new[:both] = old[:both]
    return other


@uncounted
def _rank(slot: int) -> np.uint64:
    """A fixed random-looking priority (splitmix64 of the slot)."""
    z = np.uint64(slot) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@uncounted
def _before(tree: Tree, value: NDArray[Any], a: int, b: int) -> bool:
    return value[a] < value[b] or (value[a] == value[b] and tree.order[a] < tree.order[b])


@uncounted
def _size(tree: Tree, node: int) -> int:
    return tree.size[node] if node >= 0 else 0


@uncounted
def _split(tree: Tree, value: NDArray[Any], node: int, slot: int) -> None:
    """Hang what is below `node` under `slot`: smaller values left, greater right."""
    less, at = 0, node  # the weight of what goes left
    while at >= 0:
        if _before(tree, value, at, slot):
            less += tree.weight[at] + _size(tree, tree.left[at])
            at = tree.right[at]
        else:
            at = tree.left[at]
    tree.size[slot] = tree.weight[slot] + _size(tree, node)
    low, high = slot, slot  # where the next smaller and greater subtree is hung
    while node >= 0:
        if _before(tree, value, node, slot):
            if low == slot:
                tree.left[slot] = node
            else:
                tree.right[low] = node
            here = tree.weight[node] + _size(tree, tree.left[node])
            tree.size[node] = less  # of all that was below it, it keeps what goes left
            less -= here
            low, node = node, tree.right[node]
        else:
            if high == slot:
                tree.right[slot] = node
            else:
                tree.left[high] = node
            tree.size[node] -= less
            high, node = node, tree.left[node]
    if low == slot:
        tree.left[slot] = -1
    else:
        tree.right[low] = -1
    if high == slot:
        tree.right[slot] = -1
    else:
        tree.left[high] = -1


@uncounted
def insert(tree: Tree, value: NDArray[Any], root: int, slot: int) -> int:
    """Put an entry into the tree; returns the root."""
    rank = _rank(slot)
    parent, node = -1, root
    went_left = False
    while node >= 0 and _rank(node) >= rank:
        tree.size[node] += tree.weight[slot]
        parent, went_left = node, _before(tree, value, slot, node)
        node = tree.left[node] if went_left else tree.right[node]
    _split(tree, value, node, slot)
    if parent < 0:
        return slot
    if went_left:
        tree.left[parent] = slot
    else:
        tree.right[parent] = slot
    return root


@uncounted
def find(tree: Tree, value: NDArray[Any], root: int, wanted: Any, order: int) -> int:
    """The entry with this value and order; −1 if there is none."""
    node = root
    while node >= 0:
        if value[node] == wanted and tree.order[node] == order:
            return node
        if value[node] < wanted or (value[node] == wanted and tree.order[node] < order):
            node = tree.right[node]
        else:
            node = tree.left[node]
    return -1


@uncounted
def weigh(tree: Tree, value: NDArray[Any], root: int, slot: int) -> None:
    """Add 1 to the weight of an entry in the tree."""
    node = root
    while node != slot:
        tree.size[node] += 1
        node = tree.left[node] if _before(tree, value, slot, node) else tree.right[node]
    tree.size[slot] += 1
    tree.weight[slot] += 1


@uncounted
def remove(tree: Tree, value: NDArray[Any], root: int, slot: int) -> int:
    """Take an entry out of the tree; returns the root."""
    parent, node = -1, root
    went_left = False
    while node != slot:
        tree.size[node] -= tree.weight[slot]
        parent, went_left = node, _before(tree, value, slot, node)
        node = tree.left[node] if went_left else tree.right[node]
    # merge the two subtrees from the top down; sizes grow by what is merged in from the other side
    a, b = tree.left[slot], tree.right[slot]
    top, hook, hook_left = -1, -1, False
    while a >= 0 or b >= 0:
        if b < 0 or (a >= 0 and _rank(a) >= _rank(b)):
            node = a
            tree.size[a] += _size(tree, b)
            a, left = tree.right[a], False
        else:
            node = b
            tree.size[b] += _size(tree, a)
            b, left = tree.left[b], True
        if hook < 0:
            top = node
        elif hook_left:
            tree.left[hook] = node
        else:
            tree.right[hook] = node
        hook, hook_left = node, left
        if a < 0 or b < 0:
            rest = b if a < 0 else a
            if left:
                tree.left[node] = rest
            else:
                tree.right[node] = rest
            break
    if parent < 0:
        return top
    if went_left:
        tree.left[parent] = top
    else:
        tree.right[parent] = top
    return root


@uncounted
def _at(tree: Tree, root: int, k: int) -> int:
    node = root
    while True:
        below = _size(tree, tree.left[node])
        if k < below:
            node = tree.left[node]
        elif k < below + tree.weight[node]:
            return node
        else:
            k -= below + tree.weight[node]
            node = tree.right[node]


@uncounted
def quantile(tree: Tree, value: NDArray[Any], root: int, q: float) -> float:
    """The q-quantile of a tree that is not empty, between neighbours by linear interpolation."""
    place = q * (tree.size[root] - 1)
    k = int(np.floor(place))
    low = float(value[_at(tree, root, k)]) + 0.0  # −0 and 0 are equal: the order says nothing
    if place == k:
        return low
    high = float(value[_at(tree, root, k + 1)])
    return low + (high - low) * (place - k)
