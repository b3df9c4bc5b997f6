"""A baseline of the paper: a linked list in time order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.synchronise.book import NEVER
from slackwater.synchronise.classic import LINKED, Classic
from slackwater.synchronise.pool import (
    COMPARISONS,
    HEAD,
    TAIL,
    UPDATES,
    VISITED,
    Pool,
    emit,
    inherit,
    is_ready,
    set_bit,
)

__all__ = ["LinkedListSync", "linked_insert", "linked_process"]


@dataclass(frozen=True)
class LinkedListSync(Classic):
    """Events in a list; an arrival walks from the last to its place, then sets its bit before it.

    For comparison only: an arrival costs as much as there are events.

    References
    ----------
    Time synchronisation of data stream events with binary trees, section IV.A, table I.
    """

    method: ClassVar[int] = LINKED


@njit(cache=True)
def _link(pool: Pool, before: int, after: int) -> None:
    if before:
        pool.node[before].right = after
    else:
        pool.head[HEAD] = after
    if after:
        pool.node[after].left = before
    else:
        pool.head[TAIL] = before


@njit(cache=True)
def linked_insert(pool: Pool, x: int) -> None:
    """Walk back to the place of x, then let the first ones go while they are ready."""
    after, c = 0, pool.head[TAIL]
    while c:
        pool.tally[VISITED] += 1
        pool.tally[COMPARISONS] += 1
        if pool.node[x].time >= pool.node[c].time:
            break
        after, c = c, pool.node[c].left
    if after:
        inherit(pool.bits[x], pool.bits[after])
    if c and pool.node[c].time == pool.node[x].time:
        inherit(pool.bits[x], pool.bits[c])
    _link(pool, c, x)
    _link(pool, x, after)
    while c and pool.node[x].bit >= 0:
        pool.tally[VISITED] += 1
        pool.tally[UPDATES] += 1
        set_bit(pool.bits[c], pool.node[x].bit)
        c = pool.node[c].left
    linked_process(pool, NEVER)


@njit(cache=True)
def linked_process(pool: Pool, upto: int) -> None:
    """The first ones leave while they are ready or not after `upto`."""
    pool.mask[:] = 0
    while pool.head[HEAD]:
        c = pool.head[HEAD]
        pool.tally[VISITED] += 1
        if pool.node[c].time > upto and not is_ready(pool, c):
            return
        _link(pool, 0, pool.node[c].right)
        emit(pool, c)
