"""Algorithm 7 as the paper prints it, and as its text tells it, beside our `by_lookup`.

All three find the same pairs; they differ in what the table remembers, and so in how often it
helps.

- Printed: a target's entry is the base last probed and its result.  It is usable if the new base
  starts no later; but where a usable entry says that the condition failed, the new base is probed
  and its result is *not* stored.
- Told (section 4.2): the same, and there the new result is stored.
- Ours: the entry is the latest start among the bases known to satisfy the condition.  A base that
  fails says nothing about those after it, so it does not replace one that satisfied.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import TOLERANCE, Task
from slackwater.correlate.pairs import Pairs, more_room, probe_uniform, take_range
from slackwater.correlate.regions import Regions, Targets

__all__ = ["by_printed_lookup"]

Int64 = NDArray[np.int64]
_UNKNOWN, _SATISFIED, _FAILED = 0, 1, 2


@njit(cache=True)
def by_printed_lookup(first: Int64, last: Int64, targets: Targets, found: Regions, task: Task,
                      told: bool, pairs: Pairs, counters: Int64) -> tuple[Pairs, int]:
    """Evaluate a block of uniform intervals, sorted by end; `told`: store after a failed entry."""
    count, hits, probes = 0, 0, 0
    unseen = (found.c - found.b).sum()
    counters[2] += unseen
    pairs = more_room(pairs, 0, (found.d - found.a).sum())
    for i in range(len(first)):
        count = take_range(i, found.b[i], found.c[i], pairs, count)
    low, high = found.a.min(), found.d.max()
    starts, results = np.empty(max(high - low, 0), np.int64), np.empty(max(high - low, 0), np.int64)
    n = len(first)
    least = task.confidence - TOLERANCE
    for sign in (1, -1):
        results[:] = _UNKNOWN
        begin, end = (found.a, found.b) if sign == 1 else (found.c, found.d)
        for step in range(n):
            i = n - 1 - step if sign == 1 else step
            start = sign * first[i]
            for t in range(begin[i], end[i]):
                at = t - low
                usable = results[at] == _UNKNOWN or start <= starts[at]
                if usable and results[at] == _SATISFIED:
                    hits += 1
                    pairs.base[count], pairs.target[count] = i, t
                    pairs.probability[count] = np.nan
                    count += 1
                    continue
                probes += 1
                p = probe_uniform(first[i], last[i], targets.first[t], targets.last[t], task.lo,
                                  task.hi, least, task.left)
                if results[at] == _UNKNOWN or not usable or told:
                    starts[at], results[at] = start, _SATISFIED if p >= 0.0 else _FAILED
                if p >= 0.0:
                    pairs.base[count], pairs.target[count], pairs.probability[count] = i, t, p
                    count += 1
    counters[0] += probes
    counters[1] += hits
    return pairs, count
