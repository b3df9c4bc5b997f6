"""A running window: which rows count, when groups are due, and what a snapshot holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.core.kernel import Store
from slackwater.core.outcome import Refused, outcome
from slackwater.core.stage import slot_of
from slackwater.core.state.ipc import empty_rows
from slackwater.core.state.keys import Keys
from slackwater.core.state.pages import Pages
from slackwater.core.steps import Arrivals, Step
from slackwater.core.times import FIRST_TIME, LAST_TIME
from slackwater.reorder.chain import FollowerLogic
from slackwater.window.aggregates.values import read_only
from slackwater.window.by_group import ByGroup
from slackwater.window.by_row import ByRow
from slackwater.window.by_session import BySession
from slackwater.window.by_slide import BySlide
from slackwater.window.lanes import Lanes
from slackwater.window.schedule import NEVER, NOTHING, Groups, Rows

if TYPE_CHECKING:
    from slackwater.window.window import Window

__all__ = ["WindowLogic"]

Int64 = NDArray[np.int64]
_EVER = 1 << 60  # longer than all of time, and no sum of it and a time overflows
_LATE = "came behind its window, which had been closed"
_BEYOND = "its windows reach beyond the years 1 to 9999"


class WindowLogic(FollowerLogic):
    """A running `Window`.

    A group whose windows have all passed is forgotten: nothing of it is kept.
    """

    def __init__(self, config: Window, store: Store) -> None:
        roles = config.roles
        super().__init__("window", Roles(roles.time, key=config.group, unit=roles.unit), store)
        self._config = config
        length = config.range if config.session is None else config.session
        self._span = min(int(length), _EVER)  # type: ignore[arg-type]
        self._keys = Keys("window/keys", config.group, store)
        self._groups = Pages("window/groups", {
            "last": np.int64(NEVER), "floor": np.int64(NEVER), "edge": np.int64(NEVER),
            "due": np.int64(NOTHING), "open": np.bool_(False), "kept": np.bool_(False)}, store)
        self._passed = NEVER  # the time that every group has been brought to

    # -- steps ----------------------------------------------------------------------------------

    def take(self, new: Arrivals) -> Step:
        """Take rows, in time order per group."""
        batch, time = new.rows, new.time
        beyond = self._beyond(time)
        refused = []
        if beyond is not None:
            bad, good = np.flatnonzero(beyond), np.flatnonzero(~beyond)
            refused = [Refused(outcome(batch.take(pa.array(bad)), [_BEYOND] * len(bad), time[bad]),
                               new.n[bad])]
            batch, time = batch.take(pa.array(good)), time[good]
        slot, fresh = self._keys.slots(batch)
        self._groups.grow(self._keys.room)
        self._groups.reset(fresh)
        self._groups.touch(slot if self._config.group else np.zeros(1, np.int64))
        self._groups["floor"][fresh] = self._passed
        rows = Rows(slot, read_only(time), np.zeros(len(time), bool))
        ready = self._windows.take_in(batch, rows, self._columns())
        late = np.flatnonzero(rows.late)
        return Step(ready, refused=refused, late=batch.take(pa.array(late)),
                    why_late=pa.repeat(_LATE, len(late)) if len(late) else None,
                    late_at=self._groups["last"][slot[late]])

    def pass_time(self, now: int) -> Step:
        """Rows before `now` are no longer waited for."""
        self._passed = max(self._passed, now)
        return self.advance(np.full(self._keys.room, now))

    def punctuated(self, time: int, source: str | None, key: Mapping[str, Any] | None) -> Step:
        """Rows of a group (None: of all) before `time` are no longer waited for."""
        if source is not None:
            raise ConfigError("does not know who sent a row", step="window.punctuate",
                              got=f"source={source!r}", hint="punctuate the step that puts the "
                              "rows in order, or promise for all sources (source=None)")
        if key is None:
            return self.pass_time(time)
        slot = slot_of(self._keys, key, self.name)
        theta = np.full(self._keys.room, NEVER)
        if slot >= 0:
            theta[slot:slot + 1] = time
        return self.advance(theta)

    def end(self) -> Step:
        """Close every window."""
        return self.advance(np.full(self._keys.room, NOTHING))

    def advance(self, theta: Int64) -> Step:
        """Close, for each group, what no row from its `theta` on can change any more."""
        if self.schema is None:
            return Step([pa.record_batch({})])
        self._groups.need_all()
        groups = self._columns()
        whose = np.flatnonzero((groups.due <= theta) & (groups.due != NOTHING))
        self._groups.touch(whose)
        ready = self._windows.advance(whose, theta, groups, self._no_rows)
        passed = whose[(groups.due[whose] <= theta[whose]) & (groups.due[whose] != NOTHING)]
        if len(passed):
            self._forget(passed, theta, groups)
        return Step(ready)

    def groups(self) -> pa.RecordBatch | None:
        """The values of the group columns, by slot: what `advance` goes by; None: no group."""
        return self._keys.by_slot()

    # -- state ----------------------------------------------------------------------------------

    def bind(self, schema: pa.Schema) -> None:
        """Check the columns, and lay out what the aggregates over them need."""
        super().bind(schema)
        config = self._config
        results = config.result_schema(schema)
        grouped = bool(config.group)
        self._no_rows = empty_rows(schema)
        if config.session is not None:
            lanes = Lanes(config.aggregates, schema, 1, 1, grouped, self.store)
            self._windows: ByRow | ByGroup = BySession(self._span, lanes, self._keys, results)
        else:
            slide = None if config.slide is None else int(config.slide)  # type: ignore[arg-type]
            lanes = Lanes(config.aggregates, schema, self._span, slide, grouped, self.store)
            self._windows = (ByRow(self._span, grouped, lanes, results, self.store)
                             if slide is None else
                             BySlide(self._span, slide, lanes, self._keys, results))
        self._lanes = lanes

    def holds(self) -> bool:
        """Whether there are windows over the columns of before."""
        return bool(self._keys.room and (self._groups["kept"].any() or self._groups["open"].any()))

    def identity(self) -> dict[str, Any]:
        """The windows and what is asked of them."""
        config = self._config
        return {"range": config.range, "slide": config.slide, "session": config.session,
                "group": list(config.group),
                "time": [config.roles.time, config.roles.unit],
                "aggregates": [[a.function, a.column, a.q, a.name] for a in config.aggregates]}

    def save(self) -> dict[str, Any]:
        """Write what has changed."""
        begun = self.schema is not None
        return {"keys": self._keys.save(), "groups": self._groups.save(), "passed": self._passed,
                "windows": self._windows.save() if begun else None,
                "lanes": self._lanes.save(self.store) if begun else None}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Read what `save` wrote."""
        self._passed = meta["passed"]
        self._keys.load(meta["keys"])
        self._groups.load(meta["groups"])
        self._groups.need_all()
        if self.schema is not None:
            self._windows.load(meta["windows"])
            self._lanes.load(self.store, meta["lanes"])

    def notes(self) -> dict[str, Any]:
        """Rows that wait, groups, and how much is kept of them."""
        if self.schema is None:
            return {"held": 0, "open": 0, "groups": 0, "retained": 0}
        waiting = len(self._windows)
        return {"held": waiting, "open": waiting, "groups": len(self._keys),
                "retained": self._lanes.size}

    # -- inside ---------------------------------------------------------------------------------

    def _columns(self) -> Groups:
        return Groups(*(self._groups[c] for c in Groups._fields))

    def _beyond(self, time: Int64) -> NDArray[np.bool_] | None:
        """Which rows have windows whose ends no timestamp can say; None: none."""
        # a window with a slide may begin up to its length before a row, a session does not
        before = 0 if self._config.session is not None else self._span
        first, last = FIRST_TIME + before, LAST_TIME - self._span
        if self._config.per_row or len(time) == 0 or (
                time.min() >= first and time.max() <= last):
            return None
        return (time < first) | (time > last)

    def _forget(self, whose: Int64, theta: Int64, groups: Groups) -> None:
        """Forget groups whose windows have all passed."""
        groups.kept[whose] = False
        groups.due[whose] = NOTHING
        groups.floor[whose] = np.maximum(groups.floor[whose], theta[whose])
        self._lanes.forget(len(groups.last), whose, in_panes=not self._config.per_row)
        if self._config.group:
            self._groups.reset(whose)
            self._keys.forget(whose)
