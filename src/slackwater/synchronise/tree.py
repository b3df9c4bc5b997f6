"""Method 1: a binary search tree, and a test of its root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.synchronise.classic import TREE, Classic
from slackwater.synchronise.pool import LAST, ROOT, TIES, VISITED, Pool, is_ready
from slackwater.synchronise.walk import cut, sink

__all__ = ["TreeSync", "tree_insert", "tree_process"]


@dataclass(frozen=True)
class TreeSync(Classic):
    """Method 1: insert, then test the root; when it is ready, the largest ready part is cut off.

    The root is the event that has waited longest.  Events before it may be ready earlier than it,
    and this method lets them go no sooner than the root; `MergedTreeSync` does.

    Examples
    --------
    Event 5 could leave when b shows 6, but the root, 7, is not ready:

    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> logic = TreeSync(Roles("time", source="source", unit="ms"), sources=("a", "b")).start()
    >>> def push(time, source):
    ...     return logic.push(pa.record_batch({"time": [time], "source": [source]})
    ...                       ).ready["time"].to_pylist()
    >>> push(7, "a"), push(5, "b"), push(6, "b"), push(8, "b")
    ([], [], [], [5, 6, 7])

    References
    ----------
    Time synchronisation of data stream events with binary trees (the first of the five papers),
    section IV.B, algorithms 1 to 3.
    """

    method: ClassVar[int] = TREE


@njit(cache=True)
def tree_insert(pool: Pool, x: int) -> None:
    """Algorithm 1."""
    sink(pool, x, pool.head[ROOT], 0, False)


@njit(cache=True)
def tree_process(pool: Pool, upto: int) -> None:
    """Algorithm 2: while the root is ready (or not after `upto`) it leaves with all before it.

    Down the right spine no node has an ancestor after it, so its own table says all: no mask.
    """
    pool.mask[:] = 0
    before = pool.head[LAST]
    while pool.head[ROOT]:
        root = pool.head[ROOT]
        pool.tally[VISITED] += 1
        if pool.node[root].time > upto and not is_ready(pool, root):
            break
        cut(pool, root, 0, False)
    if pool.head[TIES] and pool.head[LAST] != before:
        # equal times leave together, wherever they stand
        e, parent, left = pool.head[ROOT], 0, False
        while e:
            if pool.node[e].time <= pool.head[LAST]:
                e = cut(pool, e, parent, left)
            else:
                parent, left = e, True
                e = pool.node[e].left
