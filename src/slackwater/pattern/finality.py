"""When a match is final, and which arrival made it so."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.events import NEVER
from slackwater.pattern.schedule import FOLLOWING, STRICT, Plan
from slackwater.pattern.shape import Graph

__all__ = ["Matches", "closes", "release_steps", "with_ends"]

Int64 = NDArray[np.int64]


@dataclass(frozen=True)
class Matches:
    """Complete matches in flat arrays: see `construct.Found`."""

    rows: Int64
    counts: Int64  # (matches, m)
    op: NDArray[np.int8]
    trigger: Int64  # arrival number of the row that completed or undid it
    ends: NDArray[np.int64] | None = None  # first and last row, where `rows` is not in their order

    def __len__(self) -> int:
        return len(self.op)

    @property
    def begin(self) -> Int64:
        """Where each match's rows begin, and the end of all."""
        begin = np.zeros(len(self.op) + 1, np.int64)
        np.cumsum(self.counts.sum(axis=1), out=begin[1:])
        return begin

    @property
    def head(self) -> Int64:
        """The first row of each match."""
        return self.ends[0] if self.ends is not None else self.rows[self.begin[:-1]]

    @property
    def tail(self) -> Int64:
        """The last row of each match."""
        return self.ends[1] if self.ends is not None else self.rows[self.begin[1:] - 1]

    def take(self, which: Int64) -> Matches:
        """Some of the matches, in the given order."""
        begin, length = self.begin, self.counts.sum(axis=1)[which]
        at = np.repeat(begin[which] - np.concatenate([[0], np.cumsum(length)[:-1]])
                       if len(which) else begin[which], length) + np.arange(int(length.sum()))
        return Matches(self.rows[at], self.counts[which], self.op[which], self.trigger[which],
                       None if self.ends is None else self.ends[:, which])


def with_ends(matches: Matches, time: Int64, seq: Int64) -> Matches:
    """Matches that know their first and last rows, in the order of time."""
    owner = np.repeat(np.arange(len(matches)), matches.counts.sum(axis=1))
    rows = matches.rows[np.lexsort((seq[matches.rows], time[matches.rows], owner))]
    begin = matches.begin
    return replace(matches, ends=np.stack([rows[begin[:-1]], rows[begin[1:] - 1]]))


def closes(matches: Matches, plan: Plan, graph: Graph, time: Int64, *, numbered: bool, chosen: bool,
           skips: bool = False, grows: bool = True) -> Int64:
    """The time that the watermark must pass before nothing can undo a match; NEVER: at once.

    The intervals before a component are open at its time, so without sequence numbers the watermark
    need only reach it.  With `chosen` (`skip_till_next`, `strict`) a late event can also take the
    place of one that was chosen, up to the last; a Kleene run at the end can grow until the window
    closes, if it `grows` at all (every part of it is a match otherwise).  With `skips` all matches
    must be known that begin so early, which is when it closes.
    """
    when = np.full(len(matches), NEVER)
    head = time[matches.head]
    if plan.shaped:
        return _closes_shaped(matches, plan, graph, time, skips=skips, grows=grows)
    total = matches.counts.sum(axis=1)
    for gap in plan.gap:
        before = matches.counts[:, :gap].sum(axis=1)
        trailing = before == total  # also where all that comes behind the gap is left out
        after = matches.rows[matches.begin[:-1] + np.where(trailing, 0, before)]
        when = np.maximum(when, np.where(trailing, head + plan.window,
                                         time[after] - (not numbered)))
    if skips:
        when = np.maximum(when, head + plan.window)
    if chosen:
        end = grows and (plan.kleene[-1] or plan.least[-1] == 0)
        tail = head + plan.window if end else time[matches.tail]
        when = np.maximum(when, tail)
    return when


def _closes_shaped(matches: Matches, plan: Plan, graph: Graph, time: Int64, *, skips: bool,
                   grows: bool) -> Int64:
    """Along a graph: with the last event, or with the window if more could come behind it."""
    ends = np.flatnonzero(graph.last)
    more = any(graph.way[e] in (FOLLOWING, STRICT)
               for n in ends for e in range(graph.start[n], graph.start[n + 1]))
    head = time[matches.head] + plan.window
    if skips or graph.trailing.any() or (grows and more):
        return np.asarray(head)
    return np.asarray(time[matches.tail])


@njit(cache=True)
def release_steps(close: Int64, stream: Int64, mark: Int64, starts: Int64, order: Int64,
                  before: Int64) -> Int64:
    """For each match the first row of its stream after which the watermark is past `close`.

    −1 if it was so before the batch, len(order) if it is not yet.
    """
    out = np.empty(len(close), np.int64)
    for i in range(len(close)):
        k = stream[i]
        if before[k] > close[i]:
            out[i] = -1
            continue
        lo, hi = starts[k], starts[k + 1]
        end = hi
        while lo < hi:
            mid = (lo + hi) >> 1
            if mark[order[mid]] > close[i]:
                hi = mid
            else:
                lo = mid + 1
        out[i] = order[lo] if lo < end else len(order)
    return out
