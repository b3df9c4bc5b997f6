"""Which policy, with which parameters: chosen on one part of a sample, reported on the other.

What happened to fit the first part need not fit the second: a constant that just kept the loss is
luck, a policy that controls the loss is not.  So a policy without a target of its own must keep
half the loss asked for to be chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, NullFormatter, StrMethodFormatter

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError, DataError
from slackwater.core.html import html_table
from slackwater.datasets import Dataset
from slackwater.evaluate import pictures
from slackwater.evaluate.metrics import Metrics, measure
from slackwater.evaluate.run import Events, Run, run, usable_events
from slackwater.reorder import (
    POLICIES,
    DelayRange,
    DropRatio,
    Kalman,
    KSlack,
    LatestDelay,
    MeanPlusRange,
    Percentile,
    Policy,
    Static,
    Tide,
    WeightedMean,
)
from slackwater.reorder.tide.policy import as_share

__all__ = ["Trial", "Tuned", "grid", "trade_off_picture", "tune"]

SAMPLE = 100_000
_OFFSETS = (0.25, 0.5, 1, 2, 3, 4, 6)  # times p98; paper 3, section 5.8, recommends 1 to 4
_QUANTILES = (50, 75, 90, 95, 98, 99, 99.5, 99.9, 99.99, 100)
_LATE_ROWS = 10  # fewer late rows than this say nothing of a share
_LOSSES = (0.02, 0.01, 0.005, 0.002, 0.001, 0.0005, 0.0001)


@dataclass(frozen=True)
class Trial:
    """One policy with its parameters, how it did on the second part, and on the first."""

    policy: Policy
    metrics: Metrics
    first: Metrics
    pareto: bool = False

    @property
    def loss(self) -> float:
        """Share of the second part's events that were late."""
        return self.metrics.not_compensated / max(self.metrics.events, 1)

    @property
    def loss_seen(self) -> float:
        """Share of the first part's events that were late: what a choice rests on."""
        return self.first.not_compensated / max(self.first.events, 1)

    @property
    def controls(self) -> bool:
        """Whether the policy itself keeps a share of late events."""
        return self.policy.bound is not None

    @property
    def latency_ms(self) -> float:
        """Mean latency."""
        return self.metrics.latency_ms["mean"] or 0.0

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"policy": str(self.policy), "late": self.metrics.not_compensated,
                "loss": round(self.loss, 8),
                "loss_on_first_part": round(self.loss_seen, 8),
                "latency_ms": self.metrics.to_dict()["latency_ms"],
                "pareto": self.pareto}


@dataclass(frozen=True)
class Tuned:
    """Every trial, the one to use, and whether it meets what was asked for.

    `target` is a share of late events or a mean latency in microseconds, as `by` says.
    """

    dataset: str
    events: int
    by: str
    target: float
    trials: tuple[Trial, ...]
    chosen: Trial
    met: bool

    @property
    def too_short(self) -> str | None:
        """What to say if the sample cannot tell whether the loss is kept."""
        needed = int(np.ceil(2 * _LATE_ROWS / self.target)) if self.by == "loss" else 0
        if self.events >= needed:
            return None
        return (f"the sample is too short for a loss of {100 * self.target:g} %: {needed:,} events "
                f"are needed to see {_LATE_ROWS} late ones in each part, there are {self.events:,}")

    @property
    def reason(self) -> str:
        """The recommendation in a sentence."""
        c = self.chosen
        how = (f"late on the first part {100 * c.loss_seen:.3g} %, on the second, which it was not "
               f"chosen on, {100 * c.loss:.3g} %, at a mean latency of "
               f"{format_duration(round(1000 * c.latency_ms))}")
        kind = type(c.policy).__name__
        if not self.met:
            return f"{kind} comes closest to {describe_target(self)}: {how}"
        why = ("it controls the loss itself" if c.controls
               else "it kept half the loss with settings that never change")
        if self.by == "latency":
            why = "it loses least within the latency"
        return f"{kind}, because {why} and no other is faster: {how}" if self.by == "loss" else (
            f"{kind}, because {why}: {how}")

    def _repr_html_(self) -> str:
        shown = self.front if self.chosen in self.front else [*self.front, self.chosen]
        rows = [("→" if t == self.chosen else "", str(t.policy), t.metrics.not_compensated,
                 100 * t.loss, t.latency_ms) for t in shown]
        return html_table(f"{self.dataset}: {self.reason}",
                          ("", "policy", "late", "late %", "mean latency ms"), rows)

    @property
    def front(self) -> list[Trial]:
        """The trials that no other beats in both loss and latency, fastest first."""
        return sorted((t for t in self.trials if t.pareto), key=lambda t: t.latency_ms)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "dataset": self.dataset, "events": self.events,
            "target": ({"loss": self.target} if self.by == "loss"
                       else {"latency_ms": self.target / 1000}),
            "met": self.met, "reason": self.reason, "too_short": self.too_short,
            "policy": str(self.chosen.policy), "chosen": self.chosen.to_dict(),
            "trials": [t.to_dict() for t in self.trials],
        }


def tune(
    dataset: Dataset | Events, *, loss: float | str | None = None,
    latency: Duration | None = None, sample: int = SAMPLE, declare_sources: bool = False,
    each: Callable[[str], None] = lambda name: None,
) -> Tuned:
    """Try every policy over a sample and choose.

    Parameters
    ----------
    dataset
        What to try them on: its first `sample` events.
    loss
        The share of events that may be late: the fastest policy that keeps it on the first part of
        the sample is chosen.
    latency
        The mean latency to stay within: the policy that then loses least is chosen. Give one of
        the two.
    declare_sources
        Let `Tide` know the sources beforehand.
    each
        Hears the name of each policy that is about to be tried.

    Examples
    --------
    >>> from slackwater.datasets import simulated
    >>> found = tune(simulated("g-2"), loss="0.1%", sample=5000)
    >>> found.met, found.chosen.loss <= 0.001
    (True, True)
    """
    if (loss is None) == (latency is None):
        raise ConfigError("asks for one target", step="tune", expected="either loss or latency",
                          got="both" if loss is not None else "none",
                          hint='loss="0.1%" or latency="500ms"')
    target = (as_share(loss, step="loss") if loss is not None
              else float(micros(latency, name="latency")))  # type: ignore[arg-type]
    events = _first(dataset if isinstance(dataset, Events) else usable_events(dataset), sample)
    if not len(events):
        raise DataError("there is no event to try a policy on", step="tune", got=events.name)
    trials = []
    for policy in grid(events, loss=target if loss is not None else None,
                       declare_sources=declare_sources):
        each(type(policy).__name__)
        trials.append(_try(events, policy))
    trials = _mark(trials)
    by = "loss" if loss is not None else "latency"
    chosen, met = _choose(trials, by, target)
    return Tuned(events.name, len(events), by, target, tuple(trials), chosen, met)


def _try(events: Events, policy: Policy) -> Trial:
    """One run over both parts, each measured by itself."""
    done, half = run(events, policy), len(events) // 2
    name = type(policy).__name__
    first, second = (
        measure(Run(_part(events, rows), done.policy, done.late[rows], done.released[rows],
                    done.buffer[rows]), policy=name, out_of_order=0, min_buffer=None)
        for rows in (slice(0, half), slice(half, None)))
    return Trial(policy, second, first)


def grid(events: Events, *, loss: float | None = None,
         declare_sources: bool = False) -> list[Policy]:
    """The policies to try: every built-in one, its parameters scaled to the delays of the sample.

    The scale is the 98th percentile of the delays, as in paper 3, section 5.8.
    """
    delay = events.arrival - events.time
    p98 = _whole_ms(np.percentile(delay, 98))
    initial = 5 * p98
    tried: list[Policy] = [kind() for kind in POLICIES.values() if kind.bound is None]
    buffers = np.unique([_whole_ms(q) for q in np.percentile(delay, _QUANTILES)])
    tried += [Static(int(b)) for b in buffers]
    for times in _OFFSETS:
        offset = int(times * p98)
        tried += [LatestDelay(initial=initial, offset=offset),
                  WeightedMean(initial=initial, offset=offset),
                  DelayRange(initial=initial, offset=offset),
                  MeanPlusRange(initial=initial, offset=offset),
                  Kalman(initial=initial, offset=offset)]
    tried += [KSlack(scale=s, initial=4 * p98) for s in (0.0, 0.8, 2.0, 4.0)]
    names = events.sources if declare_sources and events.sources else None
    # on a short sample a looser promise may happen to be kept; it is not what was asked for
    losses = _LOSSES if loss is None else [loss, *(share for share in _LOSSES if share < loss)]
    tried += [Tide(loss=share, sources=names) for share in losses]
    tried += [DropRatio(ratio=share) for share in losses]
    tried += [Percentile(loss=share) for share in losses]
    return list(dict.fromkeys(tried))


def trade_off_picture(tuned: Tuned) -> Figure:
    """Loss against latency, a colour a policy, the Pareto front drawn through."""
    kinds = list(dict.fromkeys(type(t.policy).__name__ for t in tuned.trials))
    floor = 0.5 / tuned.events  # nothing late has no logarithm: it stands on the lowest line
    with pictures.figure(pictures.WIDE, 4.0) as picture:
        axes = picture.subplots()
        for n, kind in enumerate(kinds):
            mine = [t for t in tuned.trials if type(t.policy).__name__ == kind]
            look = pictures.style_of(n)
            if n >= len(pictures.COLOURS):  # colours come round again: hollow from here on
                look["markerfacecolor"] = "white"
            axes.plot([t.latency_ms for t in mine], [100 * max(t.loss, floor) for t in mine],
                      linestyle="none", label=kind, **look)
        front = tuned.front
        axes.plot([t.latency_ms for t in front], [100 * max(t.loss, floor) for t in front],
                  color="black", linewidth=0.8, zorder=1, drawstyle="steps-post",
                  label="Pareto front")
        chosen = tuned.chosen
        axes.plot([chosen.latency_ms], [100 * max(chosen.loss, floor)], linestyle="none",
                  marker="o", markersize=12, markerfacecolor="none", markeredgecolor="black",
                  label="chosen")
        if tuned.by == "loss":
            axes.axhline(100 * tuned.target, color="grey", linewidth=0.8, linestyle="--")
        else:
            axes.axvline(tuned.target / 1000, color="grey", linewidth=0.8, linestyle="--")
        axes.set_yscale("log")
        # where the receiver's clock is behind, latencies are negative, and have no logarithm
        if min(t.latency_ms for t in tuned.trials) > 0:
            axes.set_xscale("log")
            axes.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
            axes.xaxis.set_minor_formatter(NullFormatter())
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        axes.set_xlabel("mean latency (ms)")
        axes.set_ylabel(f"late (%); the lowest line: none of {tuned.events:,}")
        axes.set_title(f"{tuned.dataset}: lower left is better")
        picture.legend(loc="outside right upper")
        return picture


def describe_target(tuned: Tuned) -> str:
    """The target in words."""
    return (f"at most {100 * tuned.target:.6g} % late" if tuned.by == "loss"
            else f"a mean latency of at most {format_duration(tuned.target)}")


def _choose(trials: Sequence[Trial], by: str, target: float) -> tuple[Trial, bool]:
    """Choose by the first part alone."""
    def latency(t: Trial) -> float:
        return t.first.latency_ms["mean"] or 0.0

    if by == "loss":
        fit = [t for t in trials if t.loss_seen <= (target if t.controls else target / 2)]
        return ((min(fit, key=lambda t: (latency(t), t.loss_seen)), True) if fit
                else (min(trials, key=lambda t: (t.loss_seen, latency(t))), False))
    fit = [t for t in trials if 1000 * latency(t) <= target]
    return ((min(fit, key=lambda t: (t.loss_seen, latency(t))), True) if fit
            else (min(trials, key=lambda t: (latency(t), t.loss_seen)), False))


def _mark(trials: Sequence[Trial]) -> list[Trial]:
    """Mark the trials that no other beats: by latency upwards, each must lose less than all before.
    """
    best = float("inf")
    marked: dict[int, Trial] = {}
    for at in sorted(range(len(trials)), key=lambda i: (trials[i].latency_ms, trials[i].loss)):
        marked[at] = replace(trials[at], pareto=trials[at].loss < best)
        best = min(best, trials[at].loss)
    return [marked[at] for at in range(len(trials))]


def _first(events: Events, sample: int) -> Events:
    if sample < 1:
        raise ConfigError("a sample needs events", step="sample", expected="≥ 1", got=sample)
    if len(events) <= sample:
        return events
    return _part(events, slice(0, sample))


def _part(events: Events, rows: slice) -> Events:
    return replace(
        events, time=events.time[rows], arrival=events.arrival[rows], key=events.key[rows],
        source=None if events.source is None else events.source[rows],
        sequence=None if events.sequence is None else events.sequence[rows])


def _whole_ms(us: float) -> int:
    """Rounded up to a whole millisecond, at least one: a parameter that a person can read."""
    return max(int(np.ceil(us / 1000)), 1) * 1000
