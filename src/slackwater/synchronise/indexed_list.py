"""A baseline of the paper: an array in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.synchronise.book import NEVER
from slackwater.synchronise.classic import INDEXED, Classic
from slackwater.synchronise.pool import (
    COMPARISONS,
    START,
    TAIL,
    UPDATES,
    VISITED,
    Pool,
    emit,
    inherit,
    is_ready,
    set_bit,
)

__all__ = ["IndexedListSync", "indexed_insert", "indexed_process"]


@dataclass(frozen=True)
class IndexedListSync(Classic):
    """Events in an array; an arrival finds its place by bisection and moves what is behind it.

    For comparison only: few comparisons, but every event is touched, by a bit or by a move.

    References
    ----------
    Time synchronisation of data stream events with binary trees, section IV.A, table I.
    """

    method: ClassVar[int] = INDEXED


@njit(cache=True)
def indexed_insert(pool: Pool, x: int) -> None:
    """Find the place of x, make room, set its bit before it, and let the first ones go."""
    node, head = pool.node, pool.head
    if head[TAIL] == len(node):
        size = head[TAIL] - head[START]
        for i in range(size):
            node[i].order = node[head[START] + i].order
        head[START], head[TAIL] = 0, size
    low, high = head[START], head[TAIL]
    while low < high:
        pool.tally[VISITED] += 1
        pool.tally[COMPARISONS] += 1
        middle = (low + high) // 2
        if pool.node[x].time < pool.node[node[middle].order].time:
            high = middle
        else:
            low = middle + 1
    for i in range(head[TAIL], low, -1):
        node[i].order = node[i - 1].order
    node[low].order = x
    head[TAIL] += 1
    for i in range(head[START], low):
        if pool.node[x].bit >= 0:
            set_bit(pool.bits[node[i].order], pool.node[x].bit)
            pool.tally[UPDATES] += 1
    if low + 1 < head[TAIL]:
        inherit(pool.bits[x], pool.bits[node[low + 1].order])
    if low > head[START] and pool.node[node[low - 1].order].time == pool.node[x].time:
        inherit(pool.bits[x], pool.bits[node[low - 1].order])
    indexed_process(pool, NEVER)


@njit(cache=True)
def indexed_process(pool: Pool, upto: int) -> None:
    """The first ones leave while they are ready or not after `upto`."""
    pool.mask[:] = 0
    while pool.head[START] < pool.head[TAIL]:
        c = pool.node[pool.head[START]].order
        pool.tally[VISITED] += 1
        if pool.node[c].time > upto and not is_ready(pool, c):
            return
        pool.head[START] += 1
        emit(pool, c)
