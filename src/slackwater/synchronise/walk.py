"""Walks over an unbalanced search tree that the two methods of the paper share."""

from __future__ import annotations

from slackwater.core.compiled import njit
from slackwater.synchronise.pool import (
    COMPARISONS,
    ROOT,
    TIES,
    UPDATES,
    VISITED,
    Pool,
    emit,
    inherit,
    is_ready,
    set_bit,
)

__all__ = ["attach", "cut", "extract", "sink", "turn_right"]


@njit(cache=True)
def attach(pool: Pool, x: int, parent: int, left: bool) -> None:
    """Make x (or no node) a child of `parent`, or the root."""
    if parent == 0:
        pool.head[ROOT] = x
    elif left:
        pool.node[parent].left = x
    else:
        pool.node[parent].right = x
    if x:
        pool.node[x].parent = parent


@njit(cache=True)
def turn_right(pool: Pool, c: int, x: int) -> None:
    """The arriving x is at or after c: its source's bit is set there."""
    if pool.node[x].bit >= 0:
        set_bit(pool.bits[c], pool.node[x].bit)
        pool.tally[UPDATES] += 1
    if pool.node[x].time == pool.node[c].time:  # whoever has shown c's time has shown x's
        inherit(pool.bits[x], pool.bits[c])
        pool.head[TIES] += 1


@njit(cache=True)
def sink(pool: Pool, x: int, c: int, parent: int, left: bool) -> None:
    """Insert x below c (whose place is that child of `parent`): algorithm 1, without recursion."""
    while c:
        pool.tally[VISITED] += 1
        pool.tally[COMPARISONS] += 1
        parent = c
        left = pool.node[x].time < pool.node[c].time
        if left:
            c = pool.node[c].left
        else:
            turn_right(pool, c, x)
            c = pool.node[c].right
    attach(pool, x, parent, left)


@njit(cache=True)
def cut(pool: Pool, c: int, parent: int, left: bool) -> int:
    """Node c and all before it in its subtree leave, in order; its right child takes its place."""
    rest = pool.node[c].right
    attach(pool, rest, parent, left)
    depth, e = 0, pool.node[c].left
    while e or depth:
        while e:
            pool.node[depth].stack = e
            depth += 1
            e = pool.node[e].left
        depth -= 1
        out = pool.node[depth].stack
        e = pool.node[out].right
        pool.tally[VISITED] += 1
        emit(pool, out)
    pool.tally[VISITED] += 1
    emit(pool, c)
    return int(rest)


@njit(cache=True)
def extract(pool: Pool, e: int, parent: int, left: bool, upto: int) -> None:
    """Let go all that is ready, or not after `upto`, in the subtree at e; the mask is e's."""
    while e:
        pool.tally[VISITED] += 1
        if pool.node[e].time <= upto or is_ready(pool, e):
            e = cut(pool, e, parent, left)
        else:
            inherit(pool.mask, pool.bits[e])
            parent, left = e, True
            e = pool.node[e].left
