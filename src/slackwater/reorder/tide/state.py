"""What `Tide` remembers of a source and of a key: which number stands where.

The compiled loops see two rows of numbers a source and two a group (a key, or a scope of keys).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from slackwater.core.events import NEVER
from slackwater.reorder.policy import NO_SEQUENCE

__all__ = ["FAR", "NEVER", "NO_SEQUENCE", "fresh_group", "fresh_source"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]

FAR = np.int64(2**62)  # a frontier that holds nothing back

# a source, whole numbers
FRONTIER = 0     # it has shown everything up to this time
GREATEST = 1     # greatest time seen; beyond FRONTIER while a sequence number is missing
SEEN = 2         # arrival of its last event
COUNT = 3        # events seen
STATUS = 4       # STRANGER, LIVE or IDLE
EXPECTED = 5     # next sequence number
PENDING = 6      # bit i: sequence number EXPECTED + 1 + i is there already
GAP_TIME = 7     # time of the event that showed the sequence gap; NEVER: no gap
FAILURES = 8     # silences in which the others stopped waiting for it
FAILED = 9       # whether the present silence is counted
RUN = 10         # events since it (re)appeared, while it is not live …
RUN_TIME = 11    # … the time of the first of them …
RUN_ARRIVAL = 12  # … and its arrival
BLOCK = 13       # gaps in the present block
BASE = 14        # the sequence number it began with, or began anew
KIND = 15        # DENSE or SPARSE
SOURCE_INTS = 16
# a source, real numbers
GAP = 0          # the low quantile of its gaps
STEP = 1         # by how much GAP gives way at the next surprise
SCALE = 2        # mean size of a gap
LONGEST = 3      # longest usual silence, on the arrival clock
LEAST = 4        # smallest gap of the present block
SQUARE = 5       # mean square of a gap: the pauses of a bursty source weigh in it
SOURCE_FLOATS = 6
STRANGER, LIVE, IDLE = 0, 1, 2
# the silence of a dense source means that something is on its way; that of a sparse one nothing
DENSE, SPARSE = 0, 1

# a group, whole numbers
NOW = 0          # greatest arrival
START = 1        # first arrival
PROMISE = 2      # greatest threshold so far
TOP = 3          # greatest time so far
EVENTS = 4
JOINED = 5       # EVENTS when a source was last seen for the first time
GREEN = 6        # sources heard fewer than three times
WARMING = 7
ABSENT = 8       # known sources that are not live
MISSING = 9      # declared sources not heard yet
FILLED = 10      # delays in the present block; + SPARSE: of the sparse sources
GROUP_INTS = 12
# a group, real numbers; those in pairs are of the dense sources and, + SPARSE, of the sparse ones
TIMEOUT = 0
DEBT = 2         # late events beyond the target
MOST = 4         # greatest delay of the present block …
BEFORE = 6       # … and of those before, which fades
DECIDES = 8      # share of the recent time in which a timeout near the greatest delay would decide
WORST = 10       # greatest debt of late: so much is saved up before anything gets bolder
USUAL = 12       # most delays are below: LEVEL + 2 · SPREAD
LEVEL = 13       # mean delay
SPREAD = 14      # mean absolute deviation of the delays from LEVEL
PATIENCE = 15    # no source is idle before this silence
GROUP_FLOATS = 16


def fresh_source() -> dict[str, Int64 | Float64]:
    """The rows of a source that has not been heard."""
    whole = np.zeros(SOURCE_INTS, np.int64)
    whole[[FRONTIER, GREATEST, SEEN, GAP_TIME]] = NEVER
    real = np.zeros(SOURCE_FLOATS)
    real[LEAST] = np.inf
    return {"whole": whole, "real": real}


def fresh_group(timeout: int, declared: int) -> dict[str, Int64 | Float64]:
    """The rows of a key at its start; declared sources take the place of a warm-up."""
    whole = np.zeros(GROUP_INTS, np.int64)
    whole[[NOW, PROMISE, TOP]] = NEVER
    whole[WARMING] = declared == 0
    whole[MISSING] = declared
    real = np.zeros(GROUP_FLOATS)
    for kind in (DENSE, SPARSE):
        real[TIMEOUT + kind] = timeout
        real[DECIDES + kind] = 0.75
    return {"whole": whole, "real": real}
