"""`skip_till_next` of the plainest patterns: single events, no negation, nothing left to check.

All that WHERE asks has then been settled by the scan and the partition, so from each event there is
one next event and one only, which a search in the next stack finds.  Most sequence queries are of
this kind.  Where two events are equal in order the match branches, and `follow` takes over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.pattern.accept import Scratch
from slackwater.pattern.construct import ERROR, MATCHES, ROWS, Found
from slackwater.pattern.follow import follow
from slackwater.pattern.program import Programs
from slackwater.pattern.schedule import Plan
from slackwater.pattern.stacks import Events, Stacks, search_upto

__all__ = ["is_straight", "run_straight"]

Int64 = NDArray[np.int64]


def is_straight(plan: Plan) -> bool:
    """Whether `run_straight` can find a plan's matches."""
    return not (plan.general or plan.kleene.any() or len(plan.gap) or len(plan.at_condition))


@njit(cache=True)
def run_straight(starts: Int64, part: Int64, plan: Plan, prog: Programs, ev: Events, st: Stacks,
                 s: Scratch, found: Found, refused: Int64) -> Found:
    """The matches of the given first events, as `run_starts` finds them."""
    m, stacks, window = plan.m, plan.stacks, plan.window
    time, seq, tied = ev.time, ev.seq, ev.tied
    begin, size, base, rows = st.start, st.size, st.base, st.row
    out, counts, trigger, op, fill = found
    for i in range(len(starts)):
        first = starts[i]
        to, match = fill[ROWS], fill[MATCHES]
        here, stack, latest = first, part[first] * stacks, time[first] + window
        length = 0
        # matches that branched may have taken the room of others
        branches = to + m > len(out) or match == len(trigger)
        while not branches:
            out[to + length] = here
            length += 1
            if length == m:
                break
            sid = stack + length
            at = search_upto(time, seq, rows, begin[sid], base[sid], size[sid], here)
            if at >= size[sid]:
                break
            here = rows[begin[sid] + at]
            if time[here] > latest:
                break
            branches = tied[here]
        if branches:
            found = follow(first, stack, np.bool_(False), plan, prog, ev, st, s, found, first)
            out, counts, trigger, op, fill = found
            if fill[ERROR]:
                refused[i] = fill[ERROR]
                fill[ERROR], fill[ROWS], fill[MATCHES] = 0, to, match
        elif length == m:
            for c in range(m):
                counts[match * m + c] = 1
            trigger[match], op[match] = first, 1
            fill[ROWS] += m
            fill[MATCHES] += 1
    return found
