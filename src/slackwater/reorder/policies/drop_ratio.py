"""A buffer that keeps the share of late events within a bound that the user gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from slackwater.core.compiled import njit
from slackwater.core.durations import Duration
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.kernel import Store
from slackwater.core.numbers import finite_fields
from slackwater.core.release import Walk, advance_to, take
from slackwater.core.state.pages import Pages
from slackwater.reorder.belief import Belief
from slackwater.reorder.estimator import (
    Estimator,
    Float64,
    GroupEstimator,
    Int64,
    Seen,
    buffer_ends,
)
from slackwater.reorder.policies.drop_ratio_paper import PaperEstimator
from slackwater.reorder.policies.max_delay import RateMaxDelay
from slackwater.reorder.policy import Policy, durations
from slackwater.reorder.tide.policy import as_share

__all__ = ["DropRatio"]

# a group's numbers, before the two rings; FIRST to THIRD are the smallest times seen
B, DEBT, SEEN, NEXT, LAST, KEPT, AT, NEAR, FIRST, SECOND, THIRD, BEGAN = range(12)
_HEAD = 12
_AIM = 0.75  # of the ratio is aimed at; the rest is for what the estimate does not foresee
_BEYOND = 0.75  # a stream is known once so much more of the delays' spread could have been seen
_WARY = 0.25  # of a young stream's age is added to its buffer time
_AHEAD = 3.0  # so many times what the delays have risen since the last estimate is added
_ALL = np.zeros(0, bool)  # every delay teaches
_HORIZON = 50.0  # late events over which an excess is worked off


@dataclass(frozen=True)
class DropRatio(Policy):
    """As short a buffer as keeps at most a given share of the events late.

    **Known delays.** An event is late when its delay exceeds the buffer time B, so B is the delays'
    upper `ratio` quantile q (for normal delays μ + z·σ; the paper's n = √2·z·σ·λ events hold more).
    It is the greater of the quantile over the last `recent` arrivals, which follows a change at
    once (a delay of d can first be seen d after the change, so recent delays rise no faster than
    time itself), and of that over `samples` sampled ones, which remembers; beyond a sample its tail
    is extrapolated.  Three quarters of the ratio are aimed at, and what is measured corrects it:
    while more events have been late than that, a smaller share is aimed at (online control as in
    adaptive conformal inference).

    **Unknown delays.** Of a stream whose first event happened A ago no delay above A can have been
    seen: early delays are truncated, and their quantile says nothing while it presses against A.
    So nothing is released before A ≥ q + ¾·(q − mean), when a tail beyond A would have shown, and
    by 1 / (ratio·n) more of that spread while there are but n arrivals.  This costs little: with a
    buffer time of q nothing could be released before A = q either.  A is taken from the third
    smallest time, so that one stray event does not make a stream look old.

    **Settling time.** Where delays keep their distribution, the share over the whole stream is
    within the ratio.  Where it changes, it is so once the stream has settled: when its age is the
    greatest delay, 20 s for the paper's streams (``slackwater reproduce dratio-promise``).  What a
    jump cost before that, when no delay had announced it, is made up for afterwards.

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
        and the mean time θ between arrivals (above 100 arrivals a second √2·z·σ/θ, its Equation
        12); for ratios ≤ `max_delay_from`, the adaptive method of `MaxDelay` with W no smaller than
        the arrivals of a second.
    max_delay_from
        See `literal`; 0 to use the formula for every ratio.
    tick
        For `literal`: length of the cells of its circular buffer.
    heartbeat
        For `literal`: which events are late.  ``"released"``: those before one that has left, the
        rule of all policies.  ``"earliest"``: those before the earliest event held, as Algorithm 1
        has it to the letter; an event with that very time goes straight out.
    sampling
        For `literal`: ``"every"`` `sample_every`-th arrival, the last `samples` of them; or a
        biased ``"reservoir"`` of `samples`, in which a sample may outlive newer ones.

    Examples
    --------
    >>> print(DropRatio("1%", initial="2s").ratio)
    0.01
    >>> DropRatio(2)
    Traceback (most recent call last):
    ...
    slackwater.core.errors.ConfigError: DropRatio.ratio: is not a share of the events
      expected: more than 0 and less than all: "0.1%" or 0.001
      got:      2

    References
    ----------
    Kim, Kim, Kim: Adaptive Disorder Control in Data Stream Processing. Computing and Informatics
    31, 2012.  Gibbs, Candès: Adaptive Conformal Inference Under Distribution Shift. NeurIPS 2021.
    """

    ratio: float | str = 0.01
    sample_every: int = 20
    estimate_every: int = 200
    samples: int = 4096
    recent: int = 2048
    initial: Duration = "750ms"
    literal: bool = False
    max_delay_from: float = 0.001
    tick: Duration = "1ms"
    heartbeat: str = "released"
    sampling: str = "every"

    paper: ClassVar[str] = "DRATIO"

    def __post_init__(self) -> None:
        object.__setattr__(self, "ratio", as_share(self.ratio, step="DropRatio.ratio"))
        durations(self, "initial")
        finite_fields(self)
        durations(self, "tick", least=1)
        for name, least in (("sample_every", 1), ("estimate_every", 1), ("samples", 30),
                            ("recent", 30)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < least:
                raise ConfigError("is too small", step=f"DropRatio.{name}",
                                  expected=f"a whole number ≥ {least}", got=value)
        if not isinstance(self.literal, bool):
            raise ConfigError("is neither True nor False", step="DropRatio.literal",
                              expected="True or False", got=repr(self.literal))
        for name, known in (("heartbeat", ("released", "earliest")),
                            ("sampling", ("every", "reservoir"))):
            if getattr(self, name) not in known:
                raise ConfigError("is not one of the paper's ways", step=f"DropRatio.{name}",
                                  expected=" or ".join(known), got=getattr(self, name))

    bound: ClassVar[str] = "ratio"

    def identity(self) -> dict[str, Any]:
        """The estimators with and without correction keep other numbers."""
        return {**super().identity(), "literal": self.literal}

    def estimator(self, store: Store, *, literal: bool = False) -> Estimator:
        """Start afresh."""
        if not self.literal:
            return QuantileEstimator(self, store, literal)
        assert isinstance(self.ratio, float)
        if self.ratio <= self.max_delay_from:
            return RateMaxDelay(float(self.initial), store)  # type: ignore[arg-type]
        return PaperEstimator(z=NormalDist().inv_cdf(1 - self.ratio),
                              sample_every=self.sample_every, estimate_every=self.estimate_every,
                              samples=self.samples, tick=self.tick,  # type: ignore[arg-type]
                              earliest=self.heartbeat == "earliest",
                              reservoir=self.sampling == "reservoir", store=store)


class QuantileEstimator(GroupEstimator):
    """The corrected estimate, for any number of groups."""

    exact = False

    def __init__(self, policy: DropRatio, store: Store, literal: bool) -> None:
        assert isinstance(policy.ratio, float)
        head = np.zeros(_HEAD)
        head[B] = float(policy.initial)  # type: ignore[arg-type]
        head[LAST] = -np.inf
        head[DEBT], head[NEAR] = _HORIZON / 4, np.inf
        head[[FIRST, SECOND, THIRD, BEGAN]] = np.inf
        super().__init__(
            Pages("dratio", {"head": head, "recent": np.zeros(policy.recent),
                             "samples": np.zeros(policy.samples)}, store),
            None if literal else Belief(head[B], store))
        self._policy = policy

    def advance(self, seen: Seen, walk: Walk) -> Float64:
        """Run through the arrivals: θ_j = a_j − B_{j−1}."""
        policy, groups = self._policy, self._groups
        groups.touch(seen.group)
        delay = (seen.arrival - seen.time).astype(np.float64)
        teaches = None
        if self._belief is not None:
            teaches = self._belief.teaches(seen.arrival, delay, seen.group, seen.source_column)
        after = np.empty(len(seen))
        _run(walk, seen.time, seen.arrival, delay, seen.group, _ALL if teaches is None else teaches,
             groups["head"], groups["recent"], groups["samples"], policy.ratio,
             float(policy.initial), policy.sample_every, policy.estimate_every, after)  # type: ignore[arg-type]
        return after

    def thresholds(self, groups: Int64, now: Int64) -> Int64:
        """For each group now − B."""
        self._groups.need(groups)
        return buffer_ends(now, self._groups["head"][groups, B])

    def save(self) -> dict[str, Any]:
        """Write the touched pages."""
        return {**super().save(), "sizes": self._sizes()}

    def load(self, meta: Mapping[str, Any]) -> None:
        """Know the pages that `save` told of."""
        if meta["sizes"] != self._sizes():
            raise SnapshotError("`recent` and `samples` cannot change over a restart",
                                step="restore DropRatio", expected=meta["sizes"],
                                got=self._sizes())
        super().load(meta)

    def _sizes(self) -> list[int]:
        return [self._policy.recent, self._policy.samples]


@njit(cache=True)
def _greatest(values: Float64, count: int) -> Float64:
    """The `count` greatest values, ascending."""
    if 8 * count > len(values):
        return np.sort(values)[len(values) - count:]
    kept = np.sort(values[:count])
    for i in range(count, len(values)):
        if values[i] > kept[0]:
            at = 0
            while at + 1 < count and kept[at + 1] < values[i]:
                kept[at] = kept[at + 1]
                at += 1
            kept[at] = values[i]
    return kept


@njit(cache=True, _nrt=True)
def _quantile(values: Float64, share: float) -> float:
    """The value that a `share` of the values lies above; beyond them by their tail."""
    rank = share * len(values)
    top = _greatest(values, min(max(int(rank) + 1, 10), len(values)))
    if rank >= 1.0:
        return top[len(top) - 1 - int(rank)]
    # the tail taken as exponential: its slope from the tenth greatest to the greatest
    slope = (top[-1] - top[0]) / np.log(float(len(top))) if len(top) > 1 else 0.0
    return top[-1] + slope * np.log(1.0 / max(rank, 1e-3))


@njit(cache=True, _nrt=False)
def _run(walk: Walk, time: Int64, arrival: Int64, delays: Float64, group: Int64,
         teaches: NDArray[np.bool_], heads: Float64, recents: Float64, sampled: Float64,
         ratio: float, initial: float, sample_every: int, estimate_every: int,
         after: Float64) -> None:
    aim = _AIM * ratio
    for j in range(len(time)):
        s, recent, samples = heads[group[j]], recents[group[j]], sampled[group[j]]
        now, t = float(arrival[j]), float(time[j])
        delay = delays[j]
        advance_to(walk, walk.of[j], arrival[j] - np.int64(np.ceil(s[B])), j, j)
        late = 1.0 if take(walk, j) > 0 else 0.0
        if len(teaches) and not teaches[j]:
            after[j] = s[B]
            continue
        s[DEBT] = max(s[DEBT] + late - aim, -_HORIZON / 4)
        seen = int(s[SEEN])
        recent[seen % len(recent)] = delay
        if seen % sample_every == 0:
            samples[int(s[AT])] = delay
            s[AT] = (s[AT] + 1) % len(samples)
            s[KEPT] = min(s[KEPT] + 1, len(samples))
        s[SEEN] += 1
        s[NEXT] += 1
        earlier = t < s[FIRST]
        if t < s[THIRD]:
            s[THIRD] = min(max(t, s[SECOND]), s[THIRD])
            s[SECOND] = min(max(t, s[FIRST]), s[SECOND])
            s[FIRST] = min(t, s[FIRST])
        s[BEGAN] = min(s[BEGAN], now)
        if earlier or s[NEXT] >= min(estimate_every, seen // 4) or now - s[LAST] >= 1e6:
            share = aim * 2.0 ** (-4.0 * max(s[DEBT], 0.0) / _HORIZON)
            near = recent[:min(seen + 1, len(recent))]
            lately = _quantile(near, share)
            # while delays rise, they will have risen again before the next estimate
            ahead = lately + _AHEAD * max(lately - s[NEAR], 0.0)
            s[NEAR] = lately
            top = max(ahead, _quantile(samples[:int(s[KEPT])], share))
            beyond = now - s[THIRD] - top
            spread = top - near.mean()
            doubt = (spread + initial) / (ratio * s[SEEN])
            if beyond < _BEYOND * spread + doubt:
                s[B] = now - s[FIRST] + _WARY * (now - s[BEGAN]) + initial
            else:
                s[B] = top
            s[B] = max(s[B], 0.0)
            s[NEXT], s[LAST] = 0.0, now
        after[j] = s[B]
