"""Spread a correlation without keys: overlapping buckets of time, each pair found once.

Ownership: a pair belongs to the bucket of the *left* row's latest time.  A left row is sent to that
bucket only; a right row is sent to every bucket in which a left row could be its partner.  With the
bucket as a key (`by`), both rows of a pair meet in exactly one place, and no filter is needed
afterwards.  One copy of every row is its *owner* (for a right row the one in the bucket of its own
latest time): only that copy is told of if it is late or cannot be used.

Buckets are numbered round a ring, so that their clocks and names do not grow for ever.  Rows of
different rounds that meet under one number are too far apart to pair.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.durations import Duration, micros
from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.core.names import BUCKET, OWNER
from slackwater.correlate.bounds import reach, task
from slackwater.correlate.kernel import Correlate
from slackwater.correlate.logic import SIDES
from slackwater.correlate.predicate import OPEN
from slackwater.correlate.rows import read_intervals

__all__ = ["BUCKET", "OWNER", "Copies", "bucketed", "buckets", "widths"]

Int64 = NDArray[np.int64]


class Copies(NamedTuple):
    """Which row goes where; a row that goes to several buckets stands here several times."""

    row: Int64
    bucket: Int64
    owner: NDArray[np.bool_]


def widths(config: Correlate) -> tuple[int, int]:
    """How far before and after a right row's latest time its partners' latest times can lie."""
    shapes = tuple(d.shape() for d in config.distribution)  # type: ignore[union-attr]
    one = task(config.predicate, config.confidence, config.horizon, False, shapes)  # type: ignore[arg-type]
    before = -reach(config.shortest, config.longest, one)  # type: ignore[arg-type]
    # target − base ≤ hi at best when the target is the longest: its latest time is longest later
    after = one.horizon if one.hi == OPEN else one.hi + config.longest  # type: ignore[operator]
    return before, after


def buckets(batch: pa.RecordBatch, side: str, config: Correlate, width: Duration, *,
            ring: int = 1024) -> Copies:
    """Say for each row the buckets it must be sent to.

    Parameters
    ----------
    batch
        Rows of one side. A row that cannot be used goes to bucket 0, to be quarantined there.
    side
        ``"left"`` or ``"right"``.
    config
        The correlation, without the bucket among its keys.
    width
        Of a bucket: a few times the reach of the predicate keeps copies few.
    ring
        How many numbers there are.

    Examples
    --------
    >>> from slackwater.core.events import Roles
    >>> roles = Roles(time_min="time_min", time_max="time_max", unit="ms")
    >>> config = Correlate(within="1s", longest="100ms", roles=roles)
    >>> batch = pa.record_batch({"time_min": [9_950], "time_max": [10_000]})
    >>> buckets(batch, "left", config, "10s").bucket.tolist()
    [1]
    >>> buckets(batch, "right", config, "10s").bucket.tolist()
    [0, 1]
    """
    if side not in SIDES:
        raise ConfigError("is not a side", step="buckets", expected="'left' or 'right'",
                          got=repr(side), hint=did_you_mean(str(side), SIDES))
    size = micros(width, name="width", least=1)
    before, after = widths(config)
    if (before + after) // size + 2 > ring:
        raise ConfigError("the ring is too short: a row would meet itself", step="buckets",
                          expected=f"more than {(before + after) // size + 2} numbers", got=ring,
                          hint="make the buckets wider")
    s = SIDES.index(side)
    ends = read_intervals(batch, config.roles[s], (), config.shortest, config.longest)  # type: ignore[index,arg-type]
    home = np.where(ends.good, ends.last // size, 0)
    if side == "left":
        return Copies(np.arange(len(home)), home % ring, np.ones(len(home), bool))
    first = np.where(ends.good, np.minimum((ends.last - before) // size, home), 0)
    last = np.where(ends.good, np.maximum((ends.last + after) // size, home), 0)
    count = last - first + 1
    row = np.repeat(np.arange(len(home)), count)
    step = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    bucket = first[row] + step
    return Copies(row, bucket % ring, bucket == home[row])


def bucketed(batch: pa.RecordBatch, side: str, config: Correlate, width: Duration, *,
             ring: int = 1024) -> pa.RecordBatch:
    """The rows with their copies, and columns ``_bucket`` and ``_owner`` for the kernel.

    The kernel is then the same configuration with ``_bucket`` added to `by` and
    ``owner="_owner"``.
    """
    copies = buckets(batch, side, config, width, ring=ring)
    rows = batch.take(pa.array(copies.row))
    return rows.append_column(BUCKET, pa.array(copies.bucket)).append_column(
        OWNER, pa.array(copies.owner))
