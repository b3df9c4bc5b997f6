"""Partial matches that time out: how far a pattern had come when its window closed.

A *partial match* is a first event and what followed it along the pattern, every condition met that
can be judged by then.  It times out if it is no match, could still have gone on, and the watermark
has passed the window after its first event: then nothing can complete it any more, so it is given
once, and never taken back, with final and with eager output alike.  What a negated event, or the
wrong next event behind `=>`, has made impossible does not time out: it has failed before.

They are looked for when windows close, in stacks of their own that are made of the events around
the first events concerned: what the matching itself has purged by then does not matter.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slackwater.pattern.accept import new_scratch, new_walk
from slackwater.pattern.construct import MATCHES, ROWS, fresh_found
from slackwater.pattern.finality import Matches, with_ends
from slackwater.pattern.live import Live
from slackwater.pattern.loop import build, run_starts
from slackwater.pattern.program import Programs
from slackwater.pattern.schedule import Plan
from slackwater.pattern.shape import Graph
from slackwater.pattern.stacks import Pool

if TYPE_CHECKING:
    from slackwater.pattern.match import Match

__all__ = ["TIMED_OUT_OP", "closing", "joined", "timed_out"]

Int64 = NDArray[np.int64]
TIMED_OUT_OP = 2


def closing(live: Live, plan: Plan, before: Int64, now: Int64) -> Int64:
    """The rows that a match can begin with and whose window closes as watermarks move."""
    time, stream = live["time"], live["stream"]
    begins = live["mask"] & ((1 << plan.heads) - 1) != 0
    return np.flatnonzero(begins & (now[stream] > time) & ~(before[stream] > time))


def timed_out(starts: Int64, live: Live, config: Match, plan: Plan, graph: Graph,
              programs: Programs) -> tuple[Matches, Int64]:
    """The partial matches of these first events; and for each event, why it has none if too many.
    """
    m, refused = plan.m, np.zeros(len(starts), np.int64)
    if not len(starts):
        return Matches(refused, np.zeros((0, m), np.int64), np.zeros(0, np.int8), refused), refused
    time, part, mask = live["time"], live["part"], live["mask"]
    low, high = time[starts].min() - plan.window, time[starts].max() + plan.window
    concerned, part_of = np.unique(part[starts]), np.zeros(live.rows, np.int64)
    near = np.flatnonzero(np.isin(part, concerned) & (time >= low) & (time <= high) & (mask != 0))
    part_of[near] = np.searchsorted(concerned, part[near])
    pool = Pool(plan.stacks)
    st = pool.reserve(len(concerned), part_of[near], mask[near])
    order = near[np.lexsort((live["n"][near], live["seq"][near], time[near], part_of[near]))]
    build(order, part_of, mask, plan, live.events(), st, True)
    longest = int(pool.room.reshape(-1, plan.stacks).sum(axis=1).max(initial=0))
    found = run_starts(starts, part_of, mask, plan, graph, new_walk(graph, longest), programs,
                       live.events(), st, new_scratch(plan, longest), fresh_found(m),
                       config.looks_at_all, refused)
    rows, count = int(found.fill[ROWS]), int(found.fill[MATCHES])
    made = Matches(found.rows[:rows], found.counts[: count * m].reshape(-1, m), found.op[:count],
                   found.trigger[:count])
    kept = made.take(np.flatnonzero(made.op > 0))  # the others are matches
    return with_ends(replace(kept, op=np.full(len(kept), TIMED_OUT_OP, np.int8)), time,
                     live["seq"]), refused


def joined(matches: Matches, partial: Matches, live: Live) -> Matches:
    """Both, in one."""
    made = Matches(*(np.concatenate([getattr(matches, f), getattr(partial, f)])
                     for f in ("rows", "counts", "op", "trigger")))
    return with_ends(made, live["time"], live["seq"])
