"""Which delays a policy may learn from.

One row stamped 1970, or one source whose clock is a day behind, says nothing of how long the others
take; a policy that looks at the greatest delay would hold everything for years.  So a delay far
beyond all that is believed so far (`FACTOR` times their spread, or that many times the policy's
initial buffer) is only a *claim*.  It teaches once a second row, of another source where sources
are known, has come with a delay of that size, and not before the stream itself is so old: what
happened before its first row did not take its way.  A stream that begins with old rows is another
matter: there delays teach as soon as `WITNESSES` more rows claim so much than do not.
Delays count from the least one that is believed, so that a clock that is wrong for all of them
changes nothing; the first one is believed up to a day, for there is nothing to compare it with.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.clock import DAY
from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages
from slackwater.core.state.shards import hashes_of

__all__ = ["FACTOR", "Belief"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
_NOBODY = np.zeros(0, np.int64)

FACTOR = 8.0
"""A delay that is longer than all believed ones by this factor needs a witness."""

WITNESSES = 32
"""So many more rows with a delay than without it are proof that there are such delays."""

_RECENT = 1000  # rows for which a claim waits for a witness
_BEGIN = 8  # rows after which the least delay is believed, if all are longer than a day
_YOUNG = 64  # rows before a stream has an age: by then its clock is right
_RECORD = np.dtype([
    ("rows", np.int64),        # so far, as long as it is young
    ("began", np.int64),       # the last arrival of that time
    ("known", np.int64),       # whether any delay is believed
    ("least", np.float64),     # the least of them, or of all while there is none …
    ("greatest", np.float64),  # … and the greatest since that one
    ("claims", np.int64),      # whether a delay waits for a witness …
    ("claim", np.float64),     # … which
    ("by", np.int64),          # … whose
    ("since", np.int64),       # … and for how many rows,
    ("more", np.int64),        # of which so many more claim than do not
])


class Belief:
    """The delays believed of each group.

    Parameters
    ----------
    floor
        A delay below `FACTOR` times this is always believed.
    """

    def __init__(self, floor: float, store: Store) -> None:
        self._far = FACTOR * floor
        self._groups = Pages("belief", {"of": np.zeros((), _RECORD)}, store)

    def grow(self, groups: int) -> None:
        """Have room for so many groups."""
        self._groups.grow(groups)

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""
        self._groups.reset(groups)

    def teaches(self, arrival: Int64, delay: Float64, group: Int64,
                source: pa.Array | None) -> NDArray[np.bool_] | None:
        """For each arrival, whether its delay is believed; None: all are."""
        self._groups.touch(group)
        of = self._groups["of"]
        first = _believed(arrival, delay, group, of, self._far)
        if first == len(delay):
            return None
        who = _NOBODY if source is None else hashes_of(source.slice(first))
        mask = np.ones(len(delay), bool)
        _judge(arrival, delay, group, who, of, self._far, mask, first)
        return mask

    def save(self) -> dict[str, Any]:
        """Write what changed."""
        return self._groups.save()

    def load(self, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._groups.load(meta)


@njit(cache=True, nogil=True)
def _begin(g: Any, arrival: int, delay: float, far: float) -> None:
    """One of the first rows: the least delay is the one to go by."""
    g.rows += 1
    g.began = arrival
    if g.known == 0:
        if abs(delay) <= max(far, DAY):
            g.known, g.least, g.greatest = 1, delay, delay
        else:
            g.least = g.greatest = delay if g.rows == 1 else min(g.least, delay)
            g.known = 1 if g.rows == _BEGIN else 0


@njit(cache=True, nogil=True)
def _believed(arrival: Int64, delay: Float64, group: Int64, of: Any, far: float) -> int:
    """Take in delays until one raises a question: which."""
    for j in range(len(delay)):
        g, d = of[group[j]], delay[j]
        if g.rows < _YOUNG:
            _begin(g, arrival[j], d, far)
        if g.claims == 1 or g.known == 0:
            return j
        # next to no row changes them: a look is cheaper than a write
        if d > g.greatest:
            if d - g.least > max(far, FACTOR * (g.greatest - g.least)):
                return j
            g.greatest = d
        elif d < g.least:
            if g.least - d > max(far, FACTOR * (g.greatest - g.least)):
                return j
            g.least = d
    return len(delay)


@njit(cache=True, nogil=True)
def _judge(arrival: Int64, delay: Float64, group: Int64, who: Int64, of: Any, far: float,
           mask: NDArray[np.bool_], first: int) -> None:
    """The same from row `first` on, for claims too; `who` says who sent a row."""
    for j in range(first, len(delay)):
        g, d = of[group[j]], delay[j]
        if g.rows < _YOUNG and j > first:  # that one has been counted
            _begin(g, arrival[j], d, far)
        if g.known == 0:
            mask[j] = False
            continue
        size = abs(d - g.least)
        g.since += g.claims
        if size <= max(far, FACTOR * (g.greatest - g.least)):
            g.more = max(g.more - 1, 0)
        else:
            recent = g.claims == 1 and g.since <= _RECENT
            g.more = g.more + 1 if recent else 1
            other = len(who) == 0 or who[j - first] != g.by or g.by == 0
            if recent and other and abs(d - g.claim) <= max(far, size / 2) and (
                    d < g.least or size <= arrival[j] - g.began or g.more >= WITNESSES):
                g.claims = 0
                if d < g.least:  # those that were believed may be the wrong ones
                    g.greatest = d
            else:
                if not recent or size < abs(g.claim - g.least):
                    # of two claims, the one that is nearer to what is known
                    g.claims, g.claim, g.since = 1, d, 0
                    g.by = who[j - first] if len(who) else 0
                mask[j] = False
                continue
        g.greatest = max(g.greatest, d)
        g.least = min(g.least, d)
