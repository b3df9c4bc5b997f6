"""Which delays a policy may learn from.

One row stamped 1970, or one source whose clock is a day behind, says nothing of how long the others
take; a policy that looks at the greatest delay would hold everything for years.  So a delay far
beyond all that is believed so far (`FACTOR` times, or that many times the policy's initial buffer)
is only a *claim*.  It teaches once a second row, of another source where sources are known, has
come with a delay of that size.  Delays count from the least one that is believed, so that a clock
that is wrong for all of them changes nothing.
"""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.core.state.pages import Pages

__all__ = ["FACTOR", "Belief"]

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
_NOBODY = np.zeros(0, np.int64)

FACTOR = 8.0
"""A delay that is longer than all believed ones by this factor needs a witness."""

_RECENT = 1000  # rows for which a claim waits for a witness
_RECORD = np.dtype([
    ("known", np.int64),       # whether any delay is believed
    ("least", np.float64),     # the least of them
    ("believed", np.float64),  # the greatest distance from it
    ("claims", np.int64),      # whether a delay waits for a witness …
    ("claim", np.float64),     # … which
    ("by", np.int64),          # … whose
    ("rows", np.int64),        # … and for how many rows
])


class Belief:
    """The delays believed of each group.

    Parameters
    ----------
    floor
        A delay below `FACTOR` times this is always believed.
    """

    def __init__(self, floor: float, store: Store) -> None:
        self._floor = floor
        self._groups = Pages("belief", {"of": np.zeros((), _RECORD)}, store)

    def grow(self, groups: int) -> None:
        """Have room for so many groups."""
        self._groups.grow(groups)

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""
        self._groups.reset(groups)

    def teaches(self, delay: Float64, group: Int64, source: pa.Array | None) -> NDArray[np.bool_]:
        """For each arrival, whether its delay is believed."""
        self._groups.touch(group)
        mask = np.ones(len(delay), bool)
        of, far = self._groups["of"], FACTOR * self._floor
        who = _NOBODY
        if source is not None:
            away = _away(delay, group, of, far / 2)
            who = _who(source, away, len(delay)) if len(away) else _NOBODY
        _judge(delay, group, who, of, far, mask)
        return mask

    def save(self) -> dict[str, Any]:
        """Write what changed."""
        return self._groups.save()

    def load(self, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._groups.load(meta)


def _who(source: pa.Array, rows: Int64, count: int) -> Int64:
    """A number for the source of the rows that may be claims; −1: not one of them."""
    who = np.full(count, -1)
    names = source.take(pa.array(rows)).to_pylist()
    who[rows] = [zlib.crc32(repr(name).encode()) for name in names]
    return who


@njit(cache=True)
def _away(delay: Float64, group: Int64, of: Any, far: float) -> Int64:
    """The rows that may turn out to be claims: those far from what is believed before them all."""
    found, count = np.empty(len(delay), np.int64), 0
    for j in range(len(delay)):
        g = of[group[j]]
        if abs(delay[j] - (g.least if g.known == 1 else delay[0])) > far:
            found[count] = j
            count += 1
    return found[:count]


@njit(cache=True)
def _judge(delay: Float64, group: Int64, who: Int64, of: Any, far: float,
           mask: NDArray[np.bool_]) -> None:
    for j in range(len(delay)):
        g, d = of[group[j]], delay[j]
        if g.known == 0:  # there is nothing to compare the first one with
            g.known, g.least = 1, d
        size = abs(d - g.least)
        if g.claims == 1:
            g.rows += 1
        believed = size <= far or size <= FACTOR * g.believed
        if not believed:
            by = who[j] if len(who) else -1
            recent = g.claims == 1 and g.rows <= _RECENT
            if recent and (by < 0 or by != g.by) and abs(d - g.claim) <= max(far, size / 2):
                believed, g.claims = True, 0
            elif not recent or size < abs(g.claim - g.least):
                # of two claims, the one that is nearer to what is known
                g.claims, g.claim, g.by, g.rows = 1, d, by, 0
        if not believed:
            mask[j] = False
            continue
        # next to no row changes them: a look is cheaper than a write
        if size > g.believed:
            g.believed = size
        if d < g.least:
            g.least = d
