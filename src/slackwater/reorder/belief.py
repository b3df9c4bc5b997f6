"""Which delays a policy may learn from.

One row stamped 1970, or one source whose clock is a day behind, says nothing of how long the others
take; a policy that looks at the greatest delay would hold everything for years.  So a delay far
beyond all that is believed so far (`FACTOR` times, or that many times the policy's initial buffer)
is only a *claim*.  It teaches once a second row, of another source where sources are known, has
come with a delay of that size.
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

FACTOR = 8.0
"""A delay that is longer than all believed ones by this factor needs a witness."""

_RECENT = 1000  # rows for which a claim waits for a witness
_RECORD = np.dtype([("believed", np.float64), ("claim", np.float64), ("by", np.int64),
                    ("rows", np.int64)])


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
        if not (np.abs(delay) > far).any():
            _all_near(delay, group, of)
            return mask
        _judge(delay, group, _who(source, np.flatnonzero(np.abs(delay) > far), len(delay)), of, far,
               mask)
        return mask

    def save(self) -> dict[str, Any]:
        """Write what changed."""
        return self._groups.save()

    def load(self, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._groups.load(meta)


def _who(source: pa.Array | None, rows: Int64, count: int) -> Int64:
    """A number for the source of the rows that may be claims; −1: not known."""
    who = np.full(count, -1)
    if source is not None:
        names = source.take(pa.array(rows)).to_pylist()
        who[rows] = [zlib.crc32(repr(name).encode()) for name in names]
    return who


@njit(cache=True)
def _all_near(delay: Float64, group: Int64, of: NDArray) -> None:
    for j in range(len(delay)):
        g = of[group[j]]
        g.believed = max(g.believed, abs(delay[j]))
        g.rows += 1


@njit(cache=True)
def _judge(delay: Float64, group: Int64, who: Int64, of: NDArray, far: float,
           mask: NDArray[np.bool_]) -> None:
    for j in range(len(delay)):
        g, size = of[group[j]], abs(delay[j])
        g.rows += 1
        if size <= max(far, FACTOR * g.believed):
            g.believed = max(g.believed, size)
            continue
        recent = g.claim > 0 and g.rows <= _RECENT
        other = who[j] < 0 or who[j] != g.by
        if recent and other and g.claim <= 2 * size and size <= 2 * g.claim:
            g.believed, g.claim = size, 0.0
            continue
        mask[j] = False
        if not recent or size < g.claim:  # of two claims, the one that is nearer to what is known
            g.claim, g.by, g.rows = size, who[j], 0
