"""A buffer that keeps the share of late events within a bound that the user gives."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numba import njit

from slackwater.durations import Duration
from slackwater.errors import ConfigError
from slackwater.kernel import Store
from slackwater.reorder.max_delay import MaxDelay
from slackwater.reorder.paper_buffer import PaperEstimator
from slackwater.reorder.policy import Arrivals, Estimator, Float64, Int64, Policy, durations
from slackwater.reorder.release import NEVER
from slackwater.reorder.tide import as_share
from slackwater.state import Table

__all__ = ["DropRatio"]

# a group's numbers, before the two rings
B, MARK, DEBT, SEEN, NEXT, LAST, KEPT, AT, NEAR, FIRST = 0, 1, 2, 3, 4, 5, 6, 7, 8, 9
_HEAD = 10
_AIM = 0.8  # of the ratio is aimed at; the rest is for what the estimate does not foresee
_FEW = 30  # arrivals before the first estimate
_WARY, _YOUNG = 1.25, 1.5  # margin on a young stream; young up to so many of its greatest delays
_AHEAD = 3.0  # so many times what the delays have risen since the last estimate is added
_HORIZON = 100.0  # late events over which an excess is worked off


@dataclass(frozen=True)
class DropRatio(Policy):
    """As short a buffer as keeps at most a given share of the events late.

    The buffer time is a quantile of the delays: the greater of the quantile over the last `recent`
    arrivals, which follows a change at once (a delay of d can first be seen d after the change, so
    recent delays rise no faster than time itself), and of that over `samples` sampled ones, which
    remembers.  Which quantile is settled by what was measured: while more events have been late
    than the ratio allows, a smaller share is aimed at (online control as in adaptive conformal
    inference), beyond the sample by extrapolating its tail.  A new stream waits longer until it
    knows its delays: it starts with a debt, and for the first `recent` arrivals, and until its
    first event is 1.5 times as old as the greatest recent delay, the buffer time is not below 1.25
    times that delay.

    With many keys, let them share one estimate (``Reorder(scope=())``).

    Parameters
    ----------
    ratio
        The share that may be late: ``"1%"`` or 0.01.
    sample_every
        P_s: every so many arrivals a delay is sampled.
    estimate_every
        P_e: every so many arrivals, or after a second, the estimate is renewed.
    samples
        M: how many samples are kept, at least P_e / P_s.
    recent
        How many of the last delays are looked at, all of them.
    initial
        Buffer time before the first estimate.
    literal
        The paper's own estimator, without correction: a buffer of
        n = (C + √(C² + 8·C·σ²/θ²)) / 2 events, C = z(ratio)², n ≥ 30, from the sampled delays' σ
        and the mean time θ between arrivals; for ratios ≤ `max_delay_from`, `MaxDelay`.
    max_delay_from
        See `literal`; 0 to use the formula for every ratio.
    tick
        For `literal`: length of the cells of its circular buffer.

    Examples
    --------
    >>> print(DropRatio("1%", initial="2s").ratio)
    0.01
    >>> DropRatio(2)
    Traceback (most recent call last):
    ...
    slackwater.errors.ConfigError: DropRatio.ratio: is not a share of the events
      expected: more than 0 and less than all: "0.1%" or 0.001
      got:      2

    References
    ----------
    Kim, Kim, Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics
    31, 2012.  Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift. NeurIPS 2021.
    """

    ratio: float | str = 0.01
    sample_every: int = 10
    estimate_every: int = 200
    samples: int = 4096
    recent: int = 2048
    initial: Duration = "750ms"
    literal: bool = False
    max_delay_from: float = 0.001
    tick: Duration = "1ms"

    paper: ClassVar[str] = "DRATIO"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", as_share(self.ratio, step="DropRatio.ratio"))
        durations(self, "initial")
        durations(self, "tick", least=1)
        for name, least in (("sample_every", 1), ("estimate_every", 1), ("samples", 30),
                            ("recent", 30)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ConfigError("is too small", step=f"DropRatio.{name}",
                                  expected=f"a whole number ≥ {least}", got=value)

    def estimator(self) -> Estimator:
        """Start afresh."""
        if not self.literal:
            return QuantileEstimator(self)
        assert isinstance(self.ratio, float)
        if self.ratio <= self.max_delay_from:
            return MaxDelay(initial=self.initial).estimator()
        return PaperEstimator(z=NormalDist().inv_cdf(1 - self.ratio),
                              sample_every=self.sample_every, estimate_every=self.estimate_every,
                              samples=self.samples, tick=self.tick)  # type: ignore[arg-type]


class QuantileEstimator:
    """The corrected estimate, for any number of groups."""

    def __init__(self, policy: DropRatio) -> None:
        self._policy = policy
        assert isinstance(policy.ratio, float)
        head = np.zeros(_HEAD)
        head[B] = float(policy.initial)  # type: ignore[arg-type]
        head[MARK], head[LAST] = -np.inf, -np.inf
        head[DEBT], head[FIRST] = _HORIZON / 4, np.inf
        self._table = Table("dratio", {"head": head, "recent": np.zeros(policy.recent),
                                       "samples": np.zeros(policy.samples)})

    def advance(self, arrivals: Arrivals) -> tuple[Int64, Float64]:
        """See arrivals: θ_j = a_j − B_{j−1}."""
        self._table.grow(arrivals.groups)
        self._table.touch(arrivals.group)
        before, after = np.empty(len(arrivals.time)), np.empty(len(arrivals.time))
        policy, table = self._policy, self._table
        _run(arrivals.time, arrivals.arrival, arrivals.group, table["head"], table["recent"],
             table["samples"], policy.ratio, policy.sample_every, policy.estimate_every, before,
             after)
        return arrivals.arrival - np.ceil(before).astype(np.int64), after

    def thresholds(self, now: Int64) -> Int64:
        """For each group now − B."""
        buffer = np.ceil(self._table["head"][:, B]).astype(np.int64)
        return np.where(now < NEVER + buffer, NEVER, now - buffer)

    def save(self, store: Store) -> dict[str, Any]:
        """Write the touched pages."""
        policy = self._policy
        return {"rows": self._table.save(store), "sizes": [policy.recent, policy.samples]}

    def load(self, store: Store, meta: dict[str, Any]) -> None:
        """Read all pages."""
        now = [self._policy.recent, self._policy.samples]
        if meta["sizes"] != now:
            raise ConfigError("`recent` and `samples` cannot change over a restart",
                              step="restore DropRatio", expected=meta["sizes"], got=now)
        self._table.load(store, meta["rows"])


@njit(cache=True)
def _quantile(ordered: Float64, share: float) -> float:
    """The value that a `share` of the ordered values lies above; beyond them by their tail."""
    n = len(ordered)
    rank = share * n
    if rank >= 1.0:
        return ordered[n - 1 - int(rank)] if int(rank) < n else ordered[0]
    # the tail taken as exponential: its slope from the tenth greatest to the greatest
    tenth = ordered[max(n - 10, 0)]
    slope = (ordered[n - 1] - tenth) / np.log(min(n, 10.0)) if n > 1 else 0.0
    return ordered[n - 1] + slope * np.log(1.0 / max(rank, 1e-3))


@njit(cache=True)
def _run(time: Int64, arrival: Int64, group: Int64, heads: Float64, recents: Float64,
         sampled: Float64, ratio: float, sample_every: int, estimate_every: int, before: Float64,
         after: Float64) -> None:
    aim = _AIM * ratio
    for j in range(len(time)):
        s, recent, samples = heads[group[j]], recents[group[j]], sampled[group[j]]
        delay = float(arrival[j] - time[j])
        before[j] = s[B]
        # what is below the watermark is late; the released events themselves are not known here
        theta = float(arrival[j]) - s[B]
        if theta > s[MARK]:
            s[MARK] = theta
        late = 1.0 if float(time[j]) < s[MARK] else 0.0
        s[DEBT] = max(s[DEBT] + late - aim, -_HORIZON / 4)
        seen = int(s[SEEN])
        recent[seen % len(recent)] = delay
        if seen % sample_every == 0:
            samples[int(s[AT])] = delay
            s[AT] = (s[AT] + 1) % len(samples)
            s[KEPT] = min(s[KEPT] + 1, len(samples))
        s[SEEN] += 1
        s[NEXT] += 1
        s[FIRST] = min(s[FIRST], float(time[j]))
        if seen < _FEW:
            s[B] = max(s[B], 2.0 * delay)
        elif s[NEXT] >= min(estimate_every, seen // 4) or float(arrival[j]) - s[LAST] >= 1e6:
            share = aim * 2.0 ** (-4.0 * max(s[DEBT], 0.0) / _HORIZON)
            near = np.sort(recent[:min(seen + 1, len(recent))])
            far = np.sort(samples[:int(s[KEPT])])
            lately = _quantile(near, share)
            # while delays rise, they will have risen again before the next estimate
            ahead = lately + _AHEAD * max(lately - s[NEAR], 0.0)
            s[NEAR] = lately
            s[B] = max(ahead, _quantile(far, share), 0.0)
            if seen < len(recent) or float(arrival[j]) - s[FIRST] < _YOUNG * near[-1]:
                # the first to arrive are the fastest: those of the same age are still to come
                s[B] = max(s[B], _WARY * near[-1])
            s[NEXT], s[LAST] = 0.0, float(arrival[j])
        after[j] = s[B]
