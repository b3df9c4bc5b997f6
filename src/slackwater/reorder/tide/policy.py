"""Release when every source is past an event: the source-aware policy of our own."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.kernel import Store
from slackwater.core.release import Walk
from slackwater.core.state.pages import Pages
from slackwater.reorder.policy import (
    Estimator,
    Float64,
    Int64,
    Names,
    Policy,
    Seen,
    durations,
)
from slackwater.reorder.tide.explain import health, words_for_late, words_for_ready
from slackwater.reorder.tide.loop import run, threshold_at
from slackwater.reorder.tide.source import frontier
from slackwater.reorder.tide.state import (
    FAILED,
    FAILURES,
    FAR,
    GROUP_INTS,
    KIND,
    LIVE,
    NO_SEQUENCE,
    NOW,
    RUN,
    SOURCE_INTS,
    STATUS,
    TIMEOUT,
    fresh_group,
    fresh_source,
)

__all__ = ["Tide", "as_share"]

_BY_SILENCE = [STATUS, FAILURES, FAILED, RUN]  # what changes of a source by its silence
_FEWEST, _MOST = 100, 100_000  # arrivals over which a greatest delay is taken


@dataclass(frozen=True)
class Tide(Policy):
    """Release an event once every live source is past it, as shown or as its rhythm foretells.

    A buffer time must be long enough for the one source that stalls.  But a stall can be seen: that
    source is silent.  So each source has a frontier, the greatest time it has shown plus a low
    quantile of its gaps (below zero if its events swap places), held back at a missing sequence
    number.  What all live sources are past may leave.  Where a source is silent a timeout decides;
    it gets longer with each late event that it caused and shorter by the arrivals that it decided,
    unless more events were late than the target allows (online control as in adaptive conformal
    inference); after a burst of late events as many must be saved up before it gets shorter again.
    Poisson and bursty sources foretell nothing, and the timeout is what remains.

    There are two such timeouts.  A source that sends many events within a usual delay is *dense*:
    if it is silent, something is held up, and waiting pays.  The silence of a *sparse* source (no
    rhythm, few events) tells nothing; it is waited for as long as sparse sources' events take.  So
    a few slow Poisson sources do not make everybody wait for the stalls of the fast ones.

    - A source is idle, and not waited for, after a silence of three times its longest usual one or
      twice the timeout, whichever is longer: within that time the others' latency recovers.  (Where
      sources are cut off and come back with what they held, such silences are sat out, up to twice
      `max_timeout`.)  While
      one is idle the others wait the usual delay (most are shorter), so that it can come back.  It
      is live again with its first event that is not behind the watermark; a backlog is late, moves
      nothing, and does not count against the target.
    - An event stamped ahead of its arrival waits until the clock is there: a clock that is fast
      keeps back its own events, and makes no other event late.
    - Undeclared sources cost a warm-up: for `warmup` and until every source has been heard three
      times, at most `timeout`, only the timeout releases.  One that joins later may find its first
      events late; ``_reason`` says ``new source``.

    Each released row says what it waited for, each late one why it is late.  Without a ``source``
    role every key is one source.

    Parameters
    ----------
    loss
        The share of events that may be late: ``"0.1%"``, or a number between 0 and 1.
    sources
        The names of the sources, if they are known: every key waits for all of them, for as long as
        twice `timeout`, and there is no warm-up. As text: names separated by spaces.
    timeout
        The timeout to start with.
    max_timeout
        It gets no longer than this. Late events older than that do not count against the target,
        and nobody waits for a source that sends no others.
    warmup
        See above.

    Examples
    --------
    >>> print(Tide(loss="0.5%", sources=["a", "b"]))
    Tide(loss=0.005, sources=('a', 'b'), timeout='5s', max_timeout='1m', warmup='2s')

    Two sources, each an event a second. What leaves was waited for from the other one:

    >>> import numpy as np, pyarrow as pa
    >>> from slackwater.core.events import Roles
    >>> from slackwater.reorder import Reorder
    >>> tenth = np.arange(200) * 500_000 + 1_700_000_000_000_000
    >>> rows = pa.record_batch({"time": tenth, "arrival": tenth + 50_000,
    ...                         "source": ["a", "b"] * 100})
    >>> roles = Roles("time", "arrival", source="source", unit="us")
    >>> out = Reorder(Tide(sources=["a", "b"]), roles).start().push(rows)
    >>> out.ready.num_rows, out.ready["_reason"][150].as_py()
    (199, 'waited for source b')

    References
    ----------
    Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift. NeurIPS 2021.
    Weiss, Expósito Jiménez, Zeiner: Dynamic Buffer Sizing for Out-of-Order Event Compensation for
    Time-Sensitive Applications. ACM Trans. Sensor Netw. 2020 (buffers by delay alone).
    """

    loss: float | str = 0.001
    sources: tuple[str, ...] | None = None
    timeout: Duration = "5s"
    max_timeout: Duration = "1 minute"
    warmup: Duration = "2s"

    needs_source = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "loss", as_share(self.loss, step="Tide.loss"))
        object.__setattr__(self, "sources", _names(self.sources))
        durations(self, "timeout", "max_timeout", "warmup")
        if self.max_timeout < self.timeout:  # type: ignore[operator]
            raise ConfigError("is shorter than the timeout to start with", step="Tide.max_timeout",
                              expected=f"at least {self.timeout} us", got=f"{self.max_timeout} us")

    bound = "loss"

    def estimator(self, store: Store, *, literal: bool = False) -> TideEstimator:
        """Start afresh."""
        return TideEstimator(self, store)


class TideEstimator(Estimator):
    """`Tide` at work for any number of keys and sources."""

    def __init__(self, policy: Tide, store: Store) -> None:
        self._policy = policy
        assert isinstance(policy.loss, float)
        self._block = int(np.clip(round(1 / policy.loss), _FEWEST, _MOST))
        self._groups = Pages("tide-groups", fresh_group(policy.timeout,  # type: ignore[arg-type]
                                                        len(policy.sources or ())), store)
        self._sources = Pages("tide-sources", {**fresh_source(), "home": np.int64(0),
                                               "declared": np.int64(-1)}, store)
        self._alone = True  # no source role: no source can join
        self._arrange()
        none = np.zeros(0, np.int64)
        self._last = self._quiet = (none, none, none)
        self._late, self._timeout = (none, none, none), none

    def grow(self, groups: int, sources: int) -> None:
        """Have room."""
        self._groups.grow(groups)
        self._sources.grow(sources)

    def reset(self, groups: Int64) -> None:
        """Start these groups afresh."""
        self._groups.reset(groups)

    def reset_sources(self, sources: Int64) -> None:
        """Start these sources afresh."""
        self._sources.reset(sources)
        if len(sources):
            self._stale = True

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Run through the arrivals."""
        source = seen.group if seen.source is None else seen.source
        self._alone = seen.source is None
        self._meet(seen, source)
        n = len(seen)
        sequence = (np.full(n, NO_SEQUENCE) if seen.sequence is None else seen.sequence)
        self._groups.touch(seen.group)
        self._sources.touch(source)
        theta, why, whom, value, late_why, late_value, timeout = (
            np.zeros(n, np.int64) for _ in range(7))
        buffer = np.zeros(n)
        quiet = self._sources["whole"][:, _BY_SILENCE]
        policy = self._policy
        run(walk, seen.time, seen.arrival, seen.group, source, sequence, self._sources["declared"],
            self._sources["whole"], self._sources["real"], self._groups["whole"],
            self._groups["real"], self._heap, self._place, self._starts, self._sizes, self._keys,
            self._built, policy.loss, self._block, policy.warmup, policy.timeout,
            float(policy.max_timeout),  # type: ignore[arg-type]
            0 if self._alone else self._block, theta, buffer, why, whom, value, late_why,
            late_value, timeout)
        # a source that was waited for in vain, or went idle, has changed without an arrival
        changed = self._sources["whole"][:, _BY_SILENCE] != quiet
        self._sources.touch(np.flatnonzero(changed.any(axis=1)))
        self._last = (why, whom, value)
        self._late, self._timeout = (late_why, source, late_value), timeout
        return buffer

    def thresholds(self, now: Int64) -> Int64:
        """For each group what time alone has reached."""
        self._need()
        n = self._groups.rows
        theta, why, whom, value = (np.zeros(n, np.int64) for _ in range(4))
        policy = self._policy
        threshold_at(now, self._sources["whole"], self._sources["real"], self._groups["whole"],
                     self._groups["real"], self._members, self._starts, self._sizes, self._keys,
                     policy.warmup, policy.timeout, 0 if self._alone else self._block,
                     theta, why, whom, value)
        self._quiet = (why, whom, value)
        return theta

    def why_ready(self, step: Int64, names: Names | None) -> pa.Array:
        """What rows waited for that the last batch's arrivals `step` released."""
        why, whom, value = (part[step] for part in self._last)
        return words_for_ready(why, whom, value, names)

    def why_ready_by_time(self, group: Int64, names: Names | None) -> pa.Array:
        """What rows of these groups waited for that the last call of `thresholds` released."""
        why, whom, value = (part[group] for part in self._quiet)
        return words_for_ready(why, whom, value, names)

    def why_late(self, row: Int64, names: Names | None) -> pa.Array:
        """Why rows of the last batch are late."""
        why, whom, value = (part[row] for part in self._late)
        return words_for_late(why, whom, value, self._timeout[row], names)

    def notes(self, names: Names | None) -> dict[str, Any]:
        """The longest timeout, and the sources' health."""
        self._need()
        whole, home = self._sources["whole"], self._sources["home"]
        kinds = np.unique(whole[whole[:, STATUS] == LIVE, KIND])
        return {
            "timeout": float(self._groups["real"][:, [TIMEOUT + k for k in kinds]].max(initial=0)),
            "sources": health(whole, self._sources["real"], self._groups["whole"][home, NOW],
                              names) if len(whole) else {},
        }

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {"groups": self._groups.save(), "sources": self._sources.save(),
                "widths": [GROUP_INTS, SOURCE_INTS], "alone": self._alone}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        if meta["widths"] != [GROUP_INTS, SOURCE_INTS]:
            raise SnapshotError("Tide keeps other numbers than the snapshot has",
                                step="restore reorder", expected=[GROUP_INTS, SOURCE_INTS],
                                got=meta["widths"], hint="resume with the release that wrote it")
        self._alone = meta["alone"]
        self._groups.load(meta["groups"])
        self._sources.load(meta["sources"])
        self._stale = True

    # -- inside ---------------------------------------------------------------------------------

    def _need(self) -> None:
        self._groups.need_all()
        self._sources.need_all()
        if self._stale or len(self._sizes) < self._groups.rows:
            self._arrange()

    def _meet(self, seen: Seen, source: Int64) -> None:
        """See who is new, and put each group's sources side by side."""
        if seen.source is None and self._sources.rows < self._groups.rows:
            self._sources.grow(self._groups.rows)
            self._stale = True
        self._sources.touch(source)
        declared = self._sources["declared"]
        new = np.flatnonzero(declared[source] < 0)
        if len(new):
            self._sources["home"][source] = seen.group
            declared[source[new]] = 0
            if seen.source_column is not None and self._policy.sources:
                column = seen.source_column.take(pa.array(new))
                if pa.types.is_dictionary(column.type):
                    column = column.dictionary_decode()
                names = pc.fill_null(column.cast(pa.string()), "null")
                wanted = pa.array(self._policy.sources, pa.string())
                declared[source[new]] = pc.is_in(names, value_set=wanted).to_numpy(
                    zero_copy_only=False)
            self._stale = True
        self._need()

    def _arrange(self) -> None:
        """Put each group's sources side by side, in heaps to be built when they are needed."""
        self._stale = False
        home, whole, real = (self._sources[c] for c in ("home", "whole", "real"))
        self._members = np.argsort(home, kind="stable")
        self._sizes = np.bincount(home, minlength=self._groups.rows).astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum(self._sizes)]).astype(np.int64)
        self._heap = np.stack([self._members, self._members])
        self._place = np.zeros((2, len(home)), np.int64)
        self._built = np.zeros(len(self._sizes), np.int64)
        self._keys = np.full((2, len(home)), FAR)
        for s in np.flatnonzero(whole[:, STATUS] == LIVE):
            self._keys[whole[s, KIND], s] = frontier(whole[s], real[s])


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
    names = sources.split() if isinstance(sources, str) else [str(s) for s in sources]
    if not names or len(set(names)) < len(names):
        raise ConfigError("must name each source once", step="Tide.sources",
                          expected="the names of the sources, or None", got=names)
    return tuple(names)
