"""Release when every source is past an event: the source-aware policy of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError
from slackwater.core.kernel import Store
from slackwater.core.release import Walk
from slackwater.core.state.members import Members
from slackwater.core.state.pages import Pages
from slackwater.reorder.estimator import Estimator, Float64, Int64, Names, Seen
from slackwater.reorder.policy import Policy, durations
from slackwater.reorder.tide.explain import health, promise, words_for_late, words_for_ready
from slackwater.reorder.tide.heap import Heaps
from slackwater.reorder.tide.loop import run, threshold_at
from slackwater.reorder.tide.plain import fresh_tops
from slackwater.reorder.tide.state import NEVER, NO_SEQUENCE, NOBODY, fresh_group, fresh_source

__all__ = ["Tide", "as_share"]

_START = 0.2      # the patience to start with, over the loss: a tail that falls as 1 / delay
_STRANGER = 15.0  # the patience with strangers to start with, if that is less
_FEW = 4096       # of more groups (sources) than this, notes are about those of the last step
_COUNTED = ("rows", "odd_rows", "cut")


@dataclass(frozen=True)
class Tide(Policy):
    """Release an event once every source is past it, as shown or as its delays make likely.

    A buffer time must be long enough for the one source that stalls.  But a stall can be seen: that
    source is silent.  So each source has a bound, a time that its next event will hardly be older
    than, the greater of two: what it has *shown* (its greatest time, or the first missing sequence
    number, and beyond it what its rhythm foretells) and what the *clock* says (now less the delay
    that its events hardly exceed: their low end plus `patience` times their spread).  What is below
    every source's bound is released.

    Nothing is measured in seconds: patience is a pure number, and it is what is controlled.  Every
    late event makes the group more patient with its source, every arrival makes it less patient
    with the one source that all wait for, `loss` times as much: so the share of late events tends
    to `loss` (online control as in adaptive conformal inference), whatever the delays' scale, sign
    and law.  As long as no more events come out of order than may be late, nothing waits at all.
    Where sources tell nothing by their silence (polls, batches, thousands that are hardly known),
    one buffer time for all, learned in the same way, makes events wait less, and is followed.
    The page ``docs/tide.md`` has it in full.

    - **Promise.**  After a warm-up of ``10 / loss`` rows, at most the share `loss` of the rows is
      late over any stretch as long.  A first burst beyond all that was seen before cannot be
      foreseen; the notes then show the debt, which is paid back (at most 300 rows
      of it, or `loss` of the rows so far).
    - **Sources** that are silent for longer than ever (three times, and four times their delays)
      are not waited for until they come back.  After a new or absent source has come, the next one
      is expected for ``0.1 / loss`` rows.  Declared sources are expected from the start.
    - **Wrong clocks.**  A source whose delays are a thousand times the usual spread off, and stay
      the same, has a wrong clock: nobody waits for it and its rows do not count (``odd_rows`` in
      the notes), unless more than a third of the sources is like that. So do rows of a backlog
      that a source sends after newer rows.  A clock that is fast keeps back its own
      events and makes no other event late.
    - **One instant.**  Events with equal arrivals came together: none is late because of another.

    Each released row says what it waited for, each late one why it is late.  Without a ``source``
    role every key is one source.

    Parameters
    ----------
    loss
        The share of events that may be late: ``"0.1%"``, or a number between 0 and 1.
    sources
        The names of the sources, if they are known: for ``1 / loss`` rows each key waits for those
        that it has not heard. As text: names separated by spaces.
    max_timeout
        Wait no longer than this for anyone, beyond the least delay; None: as long as the loss asks
        for. The late rows that this costs are counted in the notes (``cut``).

    Examples
    --------
    >>> print(Tide(loss="0.5%", sources=["a", "b"]))
    Tide(loss=0.005, sources=('a', 'b'), max_timeout=None)

    Two sources, each an event a second. What leaves was waited for from the other one:

    >>> import numpy as np, pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> from slackwater.reorder import Reorder
    >>> half = np.arange(200) * 500_000 + 1_700_000_000_000_000
    >>> late = np.arange(200) % 2 * 600_000
    >>> rows = pa.record_batch({"time": half, "arrival": half + late, "source": ["a", "b"] * 100})
    >>> rows = rows.sort_by("arrival")
    >>> roles = Roles("time", "arrival", source="source", unit="us")
    >>> out = Reorder(Tide(), roles).start().push(rows)
    >>> out.late.num_rows, out.ready["_reason"][150].as_py()
    (0, 'waited for source b')

    References
    ----------
    Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift. NeurIPS 2021.
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020 (buffers by delay alone).
    """

    loss: float | str = 0.001
    sources: tuple[str, ...] | None = None
    max_timeout: Duration | None = None

    needs_source = True
    bound = "loss"

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_share(self.loss, step="Tide.loss"))
        object.__setattr__(self, "sources", _names(self.sources))
        if self.max_timeout is not None:
            durations(self, "max_timeout")

    def estimator(self, store: Store, *, literal: bool = False) -> TideEstimator:
        """Start afresh."""
        return TideEstimator(self, store)


class TideEstimator(Estimator):
    """`Tide` at work for any number of groups and sources."""

    def __init__(self, policy: Tide, store: Store) -> None:
        self._policy = policy
        assert isinstance(policy.loss, float)
        self._start = _START / policy.loss
        self._longest = -1.0 if policy.max_timeout is None else float(policy.max_timeout)  # type: ignore[arg-type]
        self._groups = Pages("tide-groups", {"of": fresh_group(
            self._start, min(_STRANGER, self._start), len(policy.sources or ())),
            "tops": fresh_tops()}, store)
        self._sources = Pages("tide-sources", {"of": fresh_source()}, store)
        self._members = Members(self._groups, self._sources)
        self._heaps = Heaps()
        self._changed = np.zeros(2, np.int64)
        self._alone = False  # True: there is no source role, so no source can join
        self._total = dict.fromkeys(_COUNTED, 0)
        none = np.zeros(0, np.int64)
        self._touched = (none, none)  # groups and sources of the last step
        self._last = (none, none, none)
        self._quiet = (none, none, none)
        self._late = (none, none, none)
        self.last_thresholds = none  # of the last batch, for `slackwater evaluate`

    def grow(self, groups: int, sources: int) -> None:
        """Have room."""
        self._groups.grow(groups)
        self._sources.grow(sources)
        self._heaps.grow(self._groups.rows, self._sources.rows)
        if len(self._changed) < 2 * (self._sources.rows + 1):
            self._changed = np.zeros(4 * (self._sources.rows + 1), np.int64)

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh; their sources stay, unless each is the one of its group."""
        if not len(groups):
            return
        if self._alone:
            self.reset_sources(groups[groups < self._sources.rows])
        self._groups.need(groups)
        first = self._groups["of"]["first"][groups]
        self._groups.reset(groups)
        self._groups["of"]["first"][groups] = first

    def reset_sources(self, sources: Int64) -> None:
        """Start these sources afresh, out of their groups."""
        if not len(sources):
            return
        self._sources.need(sources)
        home = self._sources["of"]["home"][sources]
        groups = np.unique(home[home >= 0])
        self._members.leave(sources)
        self._sources.reset(sources)
        of = self._groups["of"]
        of["binder"][groups[np.isin(of["binder"][groups] // 2, sources)]] = NOBODY
        self._heaps.drop(groups)

    def look(self, seen: Seen) -> Int64:
        """A threshold never exceeds the greatest time so far."""
        self._groups.need(seen.group)
        return np.maximum(np.maximum.accumulate(seen.time), self._groups["of"]["top"][seen.group])

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Run through the arrivals."""
        source = seen.group if seen.source is None else seen.source
        self._alone = seen.source is None
        self._groups.touch(seen.group)
        self._touched = self._heaps.distinct(seen.group), source
        declared = self._meet(seen, source)
        n, heaps, changed = len(seen), self._heaps, self._changed
        sequence = np.full(n, NO_SEQUENCE) if seen.sequence is None else seen.sequence
        why, whom, value, late_why, late_value = (np.zeros(n, np.int64) for _ in range(5))
        buffer, self.last_thresholds = np.zeros(n), np.zeros(n, np.int64)
        groups = self._groups["of"]
        before = [groups[name][self._touched[0]].sum() for name in _COUNTED]
        run(walk, seen.time, seen.arrival, seen.group, source, sequence, declared,
            self._sources["of"], groups, self._groups["tops"], heaps.entry, heaps.place,
            heaps.starts, heaps.sizes, heaps.keys, changed, self._policy.loss, self._start,
            self._longest, self._alone, buffer, self.last_thresholds, why, whom, value, late_why,
            late_value)
        for name, had in zip(_COUNTED, before, strict=True):
            self._total[name] += int(groups[name][self._touched[0]].sum() - had)
        who = changed[1:changed[0] + 1].copy()  # changed without an arrival of their own
        changed[0] = changed[len(changed) // 2 + who] = 0
        self._sources.touch(who)
        self._last = (why, whom, value)
        self._late = (late_why, source, late_value)
        return buffer

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """For each of these groups what time alone has reached."""
        self._members.of(groups)  # loads them
        theta, why, whom, value = (np.zeros(len(groups), np.int64) for _ in range(4))
        threshold_at(now, groups, self._sources["of"], self._groups["of"], self._policy.loss,
                     self._start, self._longest, self._alone, theta, why, whom, value)
        self._quiet = (why, whom, value)
        return theta

    def why_ready(self, step: Int64, names: Names | None) -> pa.Array:
        """What rows waited for that the last batch's arrivals `step` released."""
        why, whom, value = (part[step] for part in self._last)
        return words_for_ready(why, whom, value, names)

    def why_ready_by_time(self, asked: Int64, names: Names | None) -> pa.Array:
        """What rows waited for that the last call of `thresholds` released, by these of its lines.
        """
        why, whom, value = (part[asked] for part in self._quiet)
        return words_for_ready(why, whom, value, names)

    def why_late(self, row: Int64, names: Names | None) -> pa.Array:
        """Why rows of the last batch are late."""
        why, whom, value = (part[row] for part in self._late)
        return words_for_late(why, whom, value, names)

    def notes(self, names: Names | None) -> dict[str, Any]:
        """How the promise is kept, and how the sources fare."""
        groups, sources = (
            np.arange(table.rows) if table.rows <= _FEW else np.unique(some)
            for table, some in zip((self._groups, self._sources), self._touched, strict=True))
        self._groups.need(groups)
        self._sources.need(sources)
        of, rows = self._sources["of"], self._groups["of"]
        return {**promise(rows[groups], self._total, self._policy.loss, self._policy.max_timeout),  # type: ignore[arg-type]
                "sources": health(of, sources, rows, names) if len(of) else {}}

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {"groups": self._groups.save(), "sources": self._sources.save(),
                "alone": self._alone, "total": self._total}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        self._alone, self._total = meta["alone"], dict(meta["total"])
        self._groups.load(meta["groups"])
        self._sources.load(meta["sources"])
        self.grow(0, 0)

    # -- inside ---------------------------------------------------------------------------------

    def _meet(self, seen: Seen, source: Int64) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """See who is new, have the heaps of all groups; which rows are new and of declared ones."""
        if seen.source is None:
            self.grow(0, self._groups.rows)
        self._sources.touch(source)
        of = self._sources["of"]
        declared = np.zeros(len(seen), bool)
        new = np.flatnonzero(of["delay"][source] == NEVER)
        if len(new):
            self._heaps.drop(seen.group[new])
            self._members.join(source[new], seen.group[new])
            if seen.source_column is not None and self._policy.sources:
                column = seen.source_column.take(pa.array(new))
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                names = pc.fill_null(column.cast(pa.string()), "null")
                wanted = pa.array(self._policy.sources, pa.string())
                declared[new] = pc.is_in(names, value_set=wanted).to_numpy(zero_copy_only=False)
        self._heaps.tidy()
        missing = self._heaps.missing(self._touched[0])
        if len(missing):
            members, sizes = self._members.of(missing)
            self._heaps.build(missing, members, sizes, of)
        return declared


def as_share(value: float | str, *, step: str) -> float:
    """A share between 0 and 1, also written as ``"0.1%"``.

    Examples
    --------
    >>> as_share("0.1%", step="loss"), as_share(0.01, step="loss")
    (0.001, 0.01)
    """
    text = str(value).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = float("nan")
    if not 0 < share < 1:
        raise ConfigError("is not a share of the events", step=step, got=repr(value),
                          expected='more than 0 and less than all: "0.1%" or 0.001')
    return round(share, 12)


def _names(sources: Iterable[Any] | str | None) -> tuple[str, ...] | None:
    if sources is None:
        return None
    names = (sources.split() if isinstance(sources, str) else
             [str(s) for s in sources] if isinstance(sources, Iterable) else [])
    if not names or len(set(names)) < len(names):
        raise ConfigError("must name each source once", step="Tide.sources",
                          expected="the names of the sources, or None", got=names or sources)
    return tuple(names)
