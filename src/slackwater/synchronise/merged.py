"""Method 2: insertion and extraction in one walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from slackwater.core.compiled import njit
from slackwater.synchronise.book import NEVER
from slackwater.synchronise.classic import MERGED, Classic
from slackwater.synchronise.pool import COMPARISONS, ROOT, VISITED, Pool, inherit, is_ready
from slackwater.synchronise.walk import attach, cut, extract, sink, turn_right

__all__ = ["MergedTreeSync", "merged_insert", "merged_process"]


@dataclass(frozen=True)
class MergedTreeSync(Classic):
    """Method 2: on its way down, an insertion lets go what it has made ready.

    A node on the way inherits, by a mask, the readiness of the nodes that it stands before.  Where
    the insertion turns right at a node that is not ready, nothing after that node is ready either,
    but something before it may be: the printed algorithm stops testing there and would find it at
    a later arrival; here the test goes on to the left while the insertion goes right, so that an
    event leaves at the very step that makes it ready.

    Examples
    --------
    Event 5 leaves as soon as it comes, since a has shown 7:

    >>> import pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> logic = MergedTreeSync(Roles("time", source="source", unit="ms"),
    ...                        sources=("a", "b")).start()
    >>> def push(time, source):
    ...     return logic.push(pa.record_batch({"time": [time], "source": [source]})
    ...                       ).ready["time"].to_pylist()
    >>> push(7, "a"), push(5, "b"), push(6, "b"), push(8, "b")
    ([], [5], [6], [7])

    References
    ----------
    Time synchronisation of data stream events with binary trees, section IV.C, algorithm 4.
    """

    method: ClassVar[int] = MERGED


@njit(cache=True)
def merged_insert(pool: Pool, x: int) -> None:
    """Algorithm 4, without recursion."""
    pool.mask[:] = 0
    c, parent, left = pool.head[ROOT], 0, False
    while c:
        pool.tally[VISITED] += 1
        pool.tally[COMPARISONS] += 1
        if pool.node[x].time < pool.node[c].time:
            inherit(pool.mask, pool.bits[c])
            parent, left = c, True
            c = pool.node[c].left
            continue
        turn_right(pool, c, x)
        if not is_ready(pool, c):
            # the insertion goes right alone; what is before c has c's readiness as its mask
            inherit(pool.mask, pool.bits[c])
            extract(pool, pool.node[c].left, c, True, NEVER)
            sink(pool, x, pool.node[c].right, c, False)
            return
        c = cut(pool, c, parent, left)
    attach(pool, x, parent, left)
    if is_ready(pool, x):
        cut(pool, x, parent, left)


@njit(cache=True)
def merged_process(pool: Pool, upto: int) -> None:
    """Extraction alone: time has passed, or someone is no longer waited for."""
    pool.mask[:] = 0
    extract(pool, pool.head[ROOT], 0, False, upto)
