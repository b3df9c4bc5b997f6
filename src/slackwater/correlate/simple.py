"""Simple and simple-sort: every target in the buffer is probed (the paper's Algorithm 1).

The two differ only in how the buffer is kept: in order of arrival, or sorted by latest time, which
makes the obsolete tuples a block at its head.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.correlate.bounds import _FAR, Task
from slackwater.correlate.pairs import Pairs, more_room, probe_range
from slackwater.correlate.regions import Targets

__all__ = ["simple"]

Int64 = NDArray[np.int64]


@njit(cache=True, nogil=True)
def simple(key: Int64, first: Int64, last: Int64, targets: Targets, task: Task, pairs: Pairs,
           count: int, counters: Int64) -> tuple[Pairs, int]:
    """Probe all targets of a base's key; counters: probes, look-up hits, taken unseen."""
    for i in range(len(first)):
        begin, end = targets.starts[key[i]], targets.starts[key[i] + 1]
        pairs = more_room(pairs, count, end - begin)
        counters[0] += end - begin
        before = count
        count = probe_range(i, first[i], last[i], targets, begin, end, task, pairs, count)
        if task.lo == -_FAR or task.hi == _FAR:  # an open end: the horizon takes its place
            kept = before
            for j in range(before, count):
                apart = targets.last[pairs.target[j]] - last[i]
                if (task.lo == -_FAR and apart < -task.horizon) or (
                        task.hi == _FAR and apart > task.horizon):
                    continue
                pairs.base[kept], pairs.target[kept] = pairs.base[j], pairs.target[j]
                pairs.probability[kept] = pairs.probability[j]
                kept += 1
            count = kept
    return pairs, count
