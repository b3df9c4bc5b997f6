"""Held events of one key as nodes in arrays: what trees and lists are made of.

A node has links, a time, and a *readiness table*: one bit a source, in 64-bit words, set when that
source has shown an event at or after the node.  The bits of sources that join later than the node
are born set, so no node waits for a source that came after it.  Node 0 is no node.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit

__all__ = ["COMPARISONS", "COUNTERS", "FREE", "HEAD", "LAST", "NEWEST", "OLDEST", "OUT", "ROOT",
           "SIZE", "START", "STEP", "TAIL", "TIES", "UPDATES", "VISITED", "WORDS", "Pool", "drop",
           "emit", "grow_pool", "inherit", "is_ready", "make_node", "new_pool", "pool_arrays",
           "pool_from", "set_bit"]

Int64 = NDArray[np.int64]
UInt64 = NDArray[np.uint64]

ROOT, FREE, SIZE, WORDS, LAST, OLDEST, NEWEST, OUT, STEP, TIES, START, TAIL = range(12)
HEAD = ROOT  # of a list
COMPARISONS, UPDATES, VISITED = range(3)
COUNTERS = ("comparisons", "updates", "visited")
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_ONE = np.uint64(1)


_NODE = np.dtype([(name, np.int64) for name in (
    "left", "right", "parent", "red",
    "older", "newer",          # neighbours in order of arrival
    "time", "clock", "n",      # n: arrival number, the name of the row
    "member", "bit",           # the producer, and its bit, −1 for a guest
    # room for as many numbers as there are nodes, though not about them
    "order",                   # nodes by time, for the indexed list
    "stack", "out_n", "out_step")])


class Pool(NamedTuple):
    """Nodes, the head that finds them, counters, and room to write down what leaves.

    Few arrays, because each is handed on by value at every call of a compiled function.
    """

    node: NDArray[Any]
    bits: UInt64    # readiness tables, one row a node
    live: UInt64    # the sources that are waited for
    mask: UInt64
    head: Int64
    tally: Int64


def new_pool(nodes: int, words: int) -> Pool:
    """An empty pool with room for `nodes` nodes and `words` words of sources."""
    pool = Pool(np.zeros(nodes + 1, _NODE), np.zeros((nodes + 1, words), np.uint64),
                np.zeros(words, np.uint64), np.zeros(words, np.uint64), np.zeros(12, np.int64),
                np.zeros(len(COUNTERS), np.int64))
    pool.head[LAST] = np.iinfo(np.int64).min
    _chain_free(pool, 1)
    return pool


def grow_pool(pool: Pool, nodes: int, words: int) -> Pool:
    """The pool with room for at least so many nodes and words."""
    room, wide = len(pool.node) - 1, pool.bits.shape[1]
    if nodes <= room and words <= wide:
        return pool
    grown = new_pool(room if nodes <= room else max(nodes, 2 * room), max(words, wide))
    for old, new in zip(pool, grown, strict=True):
        if old.ndim == 1:
            new[: len(old)] = old
    grown.bits[:, wide:] = _ALL  # sources that join now are not waited for by what is held
    grown.bits[: room + 1, :wide] = pool.bits
    if len(grown.node) > len(pool.node):
        _chain_free(grown, room + 1)
        grown.node["right"][-1] = pool.head[FREE]
    return grown


def pool_arrays(pool: Pool) -> dict[str, NDArray[Any]]:
    """The pool as plain arrays, for a snapshot."""
    plain = pool.node.view(np.int64).reshape(len(pool.node), -1)
    return {**pool._asdict(), "node": plain}


def pool_from(arrays: Mapping[str, NDArray[Any]]) -> Pool:
    """The pool that `pool_arrays` took apart."""
    node = np.ascontiguousarray(arrays["node"]).view(_NODE).reshape(-1)
    return Pool(**{**arrays, "node": node})


def _chain_free(pool: Pool, first: int) -> None:
    nodes = np.arange(first, len(pool.node))
    pool.node["right"][nodes] = nodes + 1
    pool.node["right"][-1] = 0
    pool.head[FREE] = first if len(nodes) else 0


@njit(cache=True)
def set_bit(words: UInt64, bit: int) -> None:
    """Set one bit of a row of words."""
    words[bit >> 6] |= _ONE << np.uint64(bit & 63)


@njit(cache=True)
def make_node(pool: Pool, time: int, clock: int, n: int, member: int, bit: int,
              joined: int) -> int:
    """A fresh node, newest in order of arrival, ready for its own source and for those to come."""
    head = pool.head
    x = head[FREE]
    head[FREE] = pool.node[x].right
    head[SIZE] += 1
    pool.node[x].left = pool.node[x].right = pool.node[x].parent = pool.node[x].red = 0
    pool.node[x].time, pool.node[x].clock, pool.node[x].n = time, clock, n
    pool.node[x].member, pool.node[x].bit = member, bit
    row = pool.bits[x]
    for w in range(len(row)):
        known = joined - 64 * w
        row[w] = _ALL if known <= 0 else (np.uint64(0) if known >= 64
                                          else _ALL << np.uint64(known))
    if bit >= 0:
        set_bit(row, bit)
    pool.node[x].older, pool.node[x].newer = head[NEWEST], 0
    if head[NEWEST]:
        pool.node[head[NEWEST]].newer = x
    else:
        head[OLDEST] = x
    head[NEWEST] = x
    return int(x)


@njit(cache=True)
def drop(pool: Pool, x: int) -> None:
    """Give a node back."""
    older, newer, head = pool.node[x].older, pool.node[x].newer, pool.head
    if older:
        pool.node[older].newer = newer
    else:
        head[OLDEST] = newer
    if newer:
        pool.node[newer].older = older
    else:
        head[NEWEST] = older
    pool.node[x].right = head[FREE]
    head[FREE] = x
    head[SIZE] -= 1
    if head[SIZE] == 0:
        head[TIES] = 0


@njit(cache=True)
def emit(pool: Pool, x: int) -> None:
    """The event of a node leaves."""
    head = pool.head
    pool.node[head[OUT]].out_n, pool.node[head[OUT]].out_step = pool.node[x].n, head[STEP]
    head[OUT] += 1
    head[LAST] = pool.node[x].time
    drop(pool, x)


@njit(cache=True)
def is_ready(pool: Pool, x: int) -> bool:
    """Whether no live source is missing from the node's table and the mask together."""
    for w in range(pool.head[WORDS]):
        if ~(pool.bits[x, w] | pool.mask[w]) & pool.live[w]:
            return False
    return True


@njit(cache=True)
def inherit(words: UInt64, row: UInt64) -> None:
    """Who has shown an event at or after a node has shown one at or after all before it."""
    for w in range(len(row)):
        words[w] |= row[w]
