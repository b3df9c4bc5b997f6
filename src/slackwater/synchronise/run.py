"""The step that all methods of the paper share, compiled."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.synchronise.book import FOREVER, LIVE, NEVER, Book, arrive, fail, threshold
from slackwater.synchronise.classic import INDEXED, LINKED, MERGED, RED_BLACK, TREE
from slackwater.synchronise.indexed_list import indexed_insert, indexed_process
from slackwater.synchronise.linked_list import linked_insert, linked_process
from slackwater.synchronise.merged import merged_insert, merged_process
from slackwater.synchronise.pool import LAST, OLDEST, STEP, WORDS, Pool, emit, make_node, set_bit
from slackwater.synchronise.redblack import red_black_insert, red_black_process
from slackwater.synchronise.tree import tree_insert, tree_process

__all__ = ["process", "run", "run_quiet", "wait_for"]

Int64 = NDArray[np.int64]


@njit(cache=True)
def _insert(method: int, pool: Pool, x: int) -> None:
    if method == TREE:
        tree_insert(pool, x)
        tree_process(pool, NEVER)
    elif method == MERGED:
        merged_insert(pool, x)
    elif method == RED_BLACK:
        red_black_insert(pool, x)
    elif method == LINKED:
        linked_insert(pool, x)
    elif method == INDEXED:
        indexed_insert(pool, x)


@njit(cache=True)
def process(method: int, pool: Pool, upto: int) -> None:
    """Let go what is ready, or not after `upto`."""
    if method == TREE:
        tree_process(pool, upto)
    elif method == MERGED:
        merged_process(pool, upto)
    elif method == RED_BLACK:
        red_black_process(pool, upto)
    elif method == LINKED:
        linked_process(pool, upto)
    elif method == INDEXED:
        indexed_process(pool, upto)


@njit(cache=True)
def wait_for(pool: Pool, bit: int, wait: bool) -> None:
    """Wait for the source of this bit, or no longer."""
    if bit >= 0:
        set_bit(pool.live, bit)
        if not wait:
            pool.live[bit >> 6] ^= np.uint64(1) << np.uint64(bit & 63)


@njit(cache=True)
def _follow_mark(method: int, book: Book, k: int, pool: Pool) -> None:
    """The watermark is what has left; method 1 may still hold events that were allowed to leave."""
    reached = threshold(book, k) if method == TREE else pool.head[LAST]
    book.key[k].mark = max(book.key[k].mark, reached)


@njit(cache=True)
def _expire(method: int, book: Book, k: int, pool: Pool, now: int, max_delay: int, most: int,
            producer: bool) -> int:
    """Let go what has waited too long; the greatest time of those that were waiting, or NEVER."""
    x = pool.head[OLDEST]
    if not x or now - pool.node[x].clock <= max_delay:
        return int(NEVER)
    late = [np.int64(0) for _ in range(0)]
    by = [np.int64(0) for _ in range(0)]
    upto = NEVER
    while x and now - pool.node[x].clock > max_delay:
        upto = max(upto, pool.node[x].time)
        if pool.node[x].time > book.key[k].mark:
            late.append(pool.node[x].time)
            by.append(pool.node[x].member)
        x = pool.node[x].newer
    forced = NEVER
    if len(late) > 0:
        out = np.array(late, np.int64)
        forced = out.max()
        for p in fail(book, k, out, np.array(by, np.int64), most, producer):
            wait_for(pool, book.member[p].bit, False)
        book.key[k].mark = max(book.key[k].mark, forced)
    process(method, pool, upto)
    _follow_mark(method, book, k, pool)
    return int(forced)


@njit(cache=True)
def run(method: int, book: Book, k: int, pool: Pool, step: Int64, member: Int64, time: Int64,
        arrival: Int64, n: Int64, max_delay: int, most: int, producer: bool, late_by: Int64,
        clock: Int64, allowed: Int64, forced: Int64) -> None:
    """Take the arrivals of one key; `step` numbers them within the batch, as do the results.

    Before arrival j, events after `allowed` and up to `forced` time out (method 1 may still hold
    some that were allowed to leave).
    """
    head = pool.head
    for i in range(len(step)):
        j, p = step[i], member[i]
        head[STEP] = j
        allowed[j] = book.key[k].mark
        if max_delay >= 0:
            forced[j] = _expire(method, book, k, pool, max(book.key[k].clock, arrival[i]),
                                max_delay, most, producer)
        late_by[j] = arrive(book, k, p, time[i], arrival[i], FOREVER)
        clock[j] = book.key[k].clock
        if late_by[j] == 0:
            bit, joined = -1, book.key[k].joined
            if book.member[p].state == LIVE:
                bit = book.member[p].bit
                wait_for(pool, bit, True)
            head[WORDS] = (joined + 63) >> 6
            x = make_node(pool, time[i], clock[j], n[i], p, bit, joined)
            if time[i] == head[LAST]:
                emit(pool, x)  # an equal timestamp has left: nothing can come before it any more
            else:
                _insert(method, pool, x)
            _follow_mark(method, book, k, pool)


@njit(cache=True)
def run_quiet(method: int, book: Book, k: int, pool: Pool, now: int, max_delay: int, most: int,
              producer: bool) -> tuple[int, int]:
    """A step without an arrival: events after the first result and up to the second time out."""
    pool.head[STEP] = 0
    process(method, pool, NEVER)
    _follow_mark(method, book, k, pool)
    allowed = int(book.key[k].mark)
    if max_delay < 0:
        return allowed, int(NEVER)
    return allowed, _expire(method, book, k, pool, now, max_delay, most, producer)
