"""COUNT(DISTINCT …): for each group its values, by when each was last seen.

A window counts the values whose last row is not before its begin.  So it is enough to keep a list
of values in the order of their last rows: a row moves its value to the end, and a window drops from
the front what no later one can count either.  Each costs the same, however long the window is.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.kernel import Store
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.window.aggregates.values import read_only
from slackwater.window.schedule import NOTHING, Probes

__all__ = ["DistinctLane"]

Int64 = NDArray[np.int64]
_VALUE = np.dtype([("last", np.int64), ("before", np.int64), ("after", np.int64),
                   ("listed", np.int64)])
_GROUP = np.dtype([("first", np.int64), ("end", np.int64), ("count", np.int64)])


class DistinctLane:
    """Takes in one column's values and answers probes with the number of different ones.

    NULL and NaN are left out; −0 and 0 are one value.

    Parameters
    ----------
    name
        Prefix of its tables in the store.
    store
        Where they are kept.
    times
        How often that number is asked for, under different names.
    once
        Whether a row is in one window only: then nothing is kept of what a probe has counted.
    """

    def __init__(self, name: str, store: Store, times: int = 1, *, once: bool = False) -> None:
        value, group = np.zeros((), _VALUE), np.zeros((), _GROUP)
        value["before"] = value["after"] = group["first"] = group["end"] = -1
        self._times, self._once = times, once
        self._keys = Keys(f"{name}/keys", ("group", "value"), store)
        self._values = Pages(f"{name}/values", {"of": value}, store)
        self._groups = Pages(f"{name}/groups", {"of": group}, store)

    def run(self, group: Int64, groups: int, time: Int64, column: pa.Array | None,
            skip: NDArray[np.bool_], probes: Probes) -> list[pa.Array]:
        """Take in rows (but not those to skip) and answer probes."""
        assert column is not None
        seen = np.flatnonzero(~(skip | _missing(column)))
        slot, fresh = self._keys.slots(pa.record_batch(
            {"group": group[seen], "value": column.take(pa.array(seen))}))
        self._values.grow(self._keys.room)
        self._values.reset(fresh)
        self._groups.grow(groups)
        self._groups.touch(group)
        self._groups.touch(probes.group)
        out = np.zeros(len(probes.at), np.int64)
        # a row takes a value from between two others and puts it behind a third; each leaves once
        changed = np.empty(5 * len(seen) + 3 * (len(seen) + len(self._keys)), np.int64)
        used = _run(seen, slot, read_only(group), read_only(time), probes, self._values["of"],
                    self._groups["of"], out, changed, self._once)
        changed = np.unique(changed[:used])
        self._values.touch(changed)
        gone = changed[self._values["of"]["listed"][changed] == 0]
        self._keys.forget(gone)
        self._values.reset(gone)
        return [pa.array(out)] * self._times

    def forget(self, groups: int, whose: Int64) -> None:
        """Drop all values of these groups."""
        none = np.zeros(0, np.int64)
        end = np.full(len(whose), NOTHING)
        kind = self._keys.values(self._keys.live()[:1])[1].type if len(self._keys) else pa.null()
        self.run(none, groups, none, pa.array([], kind), np.zeros(0, bool),
                 Probes(np.zeros_like(whose), whose, end, end))

    @property
    def size(self) -> int:
        """How many values are kept, over all groups."""
        return len(self._keys)

    def save(self, store: Store) -> dict[str, Any]:
        """Write the pages that changed; the result is what `load` needs."""
        return {"keys": self._keys.save(), "values": self._values.save(),
                "groups": self._groups.save()}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read what `save` wrote."""
        self._keys.load(meta["keys"])
        for table, name in ((self._values, "values"), (self._groups, "groups")):
            table.load(meta[name])
            table.need_all()  # the lists run through all of it


def _missing(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(pc.is_null(column, nan_is_null=True).to_numpy(zero_copy_only=False), bool)


@njit(cache=True)
def _run(seen: Int64, slot: Int64, group: Int64, time: Int64, probes: Probes, values: Any,
         groups: Any, out: Int64, changed: Int64, once: bool) -> int:
    used = row = 0
    for p in range(len(out)):
        while row < len(seen) and seen[row] < probes.at[p]:
            used = _see(slot[row], time[seen[row]], groups[group[seen[row]]], values, changed, used)
            row += 1
        g = groups[probes.group[p]]
        while g.first >= 0 and values[g.first].last < probes.low[p]:
            used = _unlink(g.first, g, values, changed, used)
        out[p] = g.count
        while once and g.first >= 0:
            used = _unlink(g.first, g, values, changed, used)
    while row < len(seen):
        used = _see(slot[row], time[seen[row]], groups[group[seen[row]]], values, changed, used)
        row += 1
    return used


@njit(cache=True)
def _see(v: int, time: int, g: Any, values: Any, changed: Int64, used: int) -> int:
    """A value at the end of its group's list."""
    if values[v].listed and g.end != v:
        used = _unlink(v, g, values, changed, used)
    if not values[v].listed:
        values[v].before, values[v].after, values[v].listed = g.end, -1, 1
        if g.end >= 0:
            values[g.end].after = v
            changed[used] = g.end
            used += 1
        else:
            g.first = v
        g.end = v
        g.count += 1
    values[v].last = time
    changed[used] = v
    return used + 1


@njit(cache=True)
def _unlink(v: int, g: Any, values: Any, changed: Int64, used: int) -> int:
    before, after = values[v].before, values[v].after
    if before >= 0:
        values[before].after = after
        changed[used] = before
        used += 1
    else:
        g.first = after
    if after >= 0:
        values[after].before = before
        changed[used] = after
        used += 1
    else:
        g.end = before
    values[v].listed = 0
    g.count -= 1
    changed[used] = v
    return used + 1
