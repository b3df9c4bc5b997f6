"""What `Tide` remembers of a source, and of a group (a key, or a scope of keys).

Times and durations are microseconds.  A *bound* of a source is a time that its next event will
hardly be older than; the group's threshold is the least bound of all sources that are waited for.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from slackwater.core.events import NEVER
from slackwater.reorder.estimator import NO_SEQUENCE

__all__ = ["ABSENT", "AHEAD", "FAR", "GROUP", "NEVER", "NOBODY", "NO_SEQUENCE", "OVERDUE", "SOURCE",
           "STRANGERS", "fresh_group", "fresh_source"]

Records: TypeAlias = Any  # an array of records, or one of them: numba reads fields as attributes

FAR = np.int64(2**62)  # a bound that holds nothing back

ABSENT, AHEAD, OVERDUE = 0, 1, 2
"""Not waited for; bound by its frontier; silent for longer than its delays explain."""

NOBODY, STRANGERS = -1, -2
"""Values of `binder`, beside 2 · source (bound by the clock) and 2 · source + 1 (by a frontier)."""

SOURCE = np.dtype([
    ("home", np.int64),       # its group; −1: it is in none (see `Members`) …
    ("after", np.int64),      # … and the next source of that group
    ("count", np.int64),      # events it has taught by
    ("status", np.int64),
    ("seen", np.int64),       # arrival of its last event
    ("delay", np.int64),      # of its last event
    ("frontier", np.int64),   # it has shown everything up to this time
    ("newest", np.int64),     # greatest time seen; beyond `frontier` while a number is missing
    ("expected", np.int64),   # next sequence number
    ("pending", np.int64),    # bit i: sequence number expected + 1 + i is there already
    ("gap_time", np.int64),   # time of the event that showed the sequence gap; NEVER: no gap
    ("edge", np.int64),       # its bound by what it has shown
    ("reach", np.int64),      # its bound by the clock is now − reach
    ("odd", np.int64),        # 1: its clock is wrong, or it sends a backlog
    ("patience", np.float64),  # its own factor of the patience
    ("allowed", np.float64),   # for how long it may be waited for
    ("least", np.float64),    # low end of its delays
    ("spread", np.float64),   # mean distance of its delays from `least`
    ("most", np.float64),     # greatest of these distances
    ("swap", np.float64),     # mean distance of its events behind its frontier
    ("gap", np.float64),      # mean gap between its events' times
    ("low", np.float64),      # low end of these gaps
    ("longest", np.float64),  # longest usual silence
])

GROUP = np.dtype([
    ("first", np.int64),      # of its sources; −1: it has none
    ("now", np.int64),        # greatest arrival: the present instant
    ("theta", np.int64),      # the threshold of this instant
    ("instant", np.int64),    # least time that came in this instant
    ("top", np.int64),        # greatest time so far …
    ("before", np.int64),     # … and before this instant
    ("rows", np.int64),
    ("met", np.int64),        # sources heard
    ("missing", np.int64),    # declared sources not heard yet
    ("turns", np.int64),      # what one source sent at one instant is one turn
    ("last", np.int64),       # the source of the last row
    ("joined", np.int64),     # `turns` when a new or absent source was last heard
    ("binder", np.int64),     # whose bound is the threshold of this instant
    ("odd", np.int64),        # sources with a wrong clock or a backlog …
    ("odd_rows", np.int64),   # … and their rows, which do not count
    ("cut", np.int64),        # late rows that `max_timeout` cost
    ("patience", np.float64),  # what all sources' patience has in common
    ("stranger", np.float64),  # the patience with new and absent sources
    ("least", np.float64),    # low end of all delays …
    ("lowest", np.float64),   # … and the lowest that it has been
    ("spread", np.float64),   # median distance from it
    ("gap", np.float64),      # mean time between arrivals
    ("debt", np.float64),     # late rows beyond the target …
    ("debt_sources", np.float64),  # … that the sources' bounds have made late, or would have
    ("debt_buffer", np.float64),   # … and the plain buffer
    ("disorder", np.float64),  # rows out of order beyond the target
    ("longest", np.float64),  # longest recent delay, beyond `least`
    ("buffer", np.float64),   # the plain buffer, beyond `least` (see plain.py)
    ("plain", np.int64),      # 1: the group follows it, and not its sources
    ("wait_sources", np.float64),  # mean wait by the sources' bounds …
    ("wait_buffer", np.float64),   # … and by the plain buffer
    ("mark_sources", np.int64),    # the greatest time that each would have released
    ("mark_buffer", np.int64),
])


def fresh_source() -> Records:
    """A source that has not been heard."""
    source = np.zeros((), SOURCE)
    for name in ("seen", "delay", "frontier", "newest", "gap_time"):
        source[name] = NEVER
    source["patience"] = 1.0
    source["home"] = source["after"] = -1
    return source


def fresh_group(patience: float, stranger: float, declared: int) -> Records:
    """A group at its start."""
    group = np.zeros((), GROUP)
    for name in ("now", "theta", "instant", "top", "before", "mark_sources", "mark_buffer"):
        group[name] = NEVER
    group["first"] = group["last"] = -1
    group["patience"], group["stranger"] = patience, stranger
    group["missing"], group["joined"], group["binder"] = declared, 0, NOBODY
    return group
