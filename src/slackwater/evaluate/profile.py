"""How disordered a dataset is, and which start values that suggests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from slackwater.core.durations import Duration, format_duration
from slackwater.core.html import html_pairs, html_table, html_text
from slackwater.datasets import Dataset
from slackwater.evaluate.disorder import min_buffer, out_of_order, sequence_breaks
from slackwater.evaluate.metrics import quantiles
from slackwater.evaluate.run import NO_ARRIVALS, Events, usable_events
from slackwater.reorder import (
    DelayRange,
    Kalman,
    KSlack,
    LatestDelay,
    MeanPlusRange,
    Policy,
    Static,
    WeightedMean,
)

__all__ = ["Profile", "profile", "recommended_policies"]


@dataclass(frozen=True)
class Profile:
    """What a sample says about a stream.

    `by_sequence` counts breaks of the sources' own numbering (see `sequence_breaks`); None where
    the dataset does not say. `p98_of` tells what the recommendation rests on: the
    full processing time where it was recorded, else the delay.
    """

    dataset: str
    events: int
    quarantined: int
    sources: int | None
    by_time: int
    by_sequence: int | None
    min_buffer_ms: float | None
    delay_ms: dict[str, float | None]
    p98_us: int | None
    p98_of: str | None
    within_sources: int | None = None
    negative_pct: float | None = None
    gap_ms: dict[str, float | None] = field(default_factory=dict)
    clocks_off_ms: dict[str, float] = field(default_factory=dict)
    """By source: how far its delays are from the usual one, where that is beyond all proportion."""
    arrivals: bool = True
    """Whether the data says when events arrived."""

    def words(self) -> list[str]:
        """What the figures mean, a sentence each."""
        if not self.events:
            left_out = f": {self.quarantined:,} rows are quarantined" if self.quarantined else ""
            return [f"There are no events with a usable time{left_out}."]
        said = []
        share = 100 * self.by_time / self.events
        if not self.by_time:
            said.append("Nothing is out of order: no wait is needed.")
        elif self.within_sources is not None and self.sources and self.sources > 1:
            within = 100 * self.within_sources / self.events
            said.append(
                f"{share:.3g} % of the events are out of order, {within:.3g} % within their own "
                "source: " + ("the disorder comes from merging sources, and a policy that knows "
                              "them need not guess a delay." if within < share / 10 else
                              "sources themselves swap events."))
        else:
            said.append(f"{share:.3g} % of the events are out of order.")
        if self.negative_pct is not None and self.negative_pct > 99:
            said.append(
                f"Nearly all delays are negative (median {_ms(self.delay_ms['p50'])}): the "
                "receiver's clock is behind the producers', so a buffer time of zero already waits "
                "for the difference. Tide takes it into account.")
        elif self.negative_pct:
            said.append(f"{self.negative_pct:.3g} % of the delays are negative: some clock is "
                        "ahead of the receiver's.")
        if self.clocks_off_ms:
            behind, ahead = (
                {name: abs(far) for name, far in self.clocks_off_ms.items() if (far < 0) == fast}
                for fast in (False, True))
            if behind:
                said.append(f"{_off('behind', behind, self.sources)}: their clocks are wrong, or "
                            "they deliver what they had kept. Tide does not wait for them.")
            if ahead:
                said.append(f"{_off('ahead', ahead, self.sources)}: their clocks are wrong. Their "
                            "own events wait until the others are as far.")
        p50, longest = self.gap_ms.get("p50"), self.gap_ms.get("max")
        if not self.arrivals:
            said.append(NO_ARRIVALS)
        elif p50 is not None and longest is not None:
            said.append(("An event arrives every " + _ms(p50) + " (median)" if p50 else
                         "Most events arrive at the same time as another one")
                        + f"; the longest silence is {_ms(longest)}.")
        return said

    def recommended_line(self) -> str:
        """One line to paste."""
        return "policy = Tide(loss='0.1%')" if self.by_time else "policy = Tide()"

    def _repr_html_(self) -> str:
        facts = {"events": self.events, "quarantined": self.quarantined, "sources": self.sources,
                 "out of order": self.by_time, "within sources": self.within_sources,
                 "sequence breaks": self.by_sequence, "min buffer ms": self.min_buffer_ms}
        delays = html_table("delay (ms)", list(self.delay_ms), [list(self.delay_ms.values())])
        return (html_pairs(self.dataset, facts) + delays
                + html_text("\n".join([*self.words(), self.recommended_line()])))

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "dataset": self.dataset, "events": self.events, "quarantined": self.quarantined,
            "sources": self.sources,
            "out_of_order": {
                "by_time": self.by_time,
                "by_time_pct": round(100 * self.by_time / self.events, 4) if self.events else 0.0,
                "by_sequence": self.by_sequence,
                "within_sources": self.within_sources,
            },
            "negative_delays_pct": self.negative_pct,
            "gap_ms": self.gap_ms,
            "clocks_off_ms": self.clocks_off_ms,
            "words": self.words(),
            "recommended_line": self.recommended_line(),
            "min_buffer_ms": self.min_buffer_ms,
            "delay_ms": {n: None if v is None else round(v, 4) for n, v in self.delay_ms.items()},
            "recommended": self.recommended(),
        }

    def recommended(self) -> dict[str, Any] | None:
        """Start values in milliseconds per policy, by the paper's acronyms; None without delays."""
        if self.p98_us is None:
            return None
        found: dict[str, Any] = {"p98_ms": self.p98_us / 1000, "p98_of": self.p98_of,
                                 "initial_ms": 5 * self.p98_us / 1000}
        for name, policy in recommended_policies(self.p98_us).items():
            waits = {f"{field}_ms": getattr(policy, field) / 1000
                     for field in ("buffer", "initial", "offset") if hasattr(policy, field)}
            found[name] = {"policy": str(policy), **waits}
        return found


def recommended_policies(p98: int) -> dict[str, Policy]:
    """The policies with the start values of paper 3, section 5.8, by their acronyms.

    Examples
    --------
    >>> print(recommended_policies(200_000)["sba"])
    Static(buffer='1.2s')
    """
    initial = 5 * p98
    return {
        "sba": Static(6 * p98),
        "bstt": LatestDelay(initial=initial, offset=3 * p98),
        "bsttwa": WeightedMean(initial=initial, offset=4 * p98),
        "bsttd": DelayRange(initial=initial, offset=2 * p98),
        "bsttda": MeanPlusRange(initial=initial, offset=p98),
        "bskf": Kalman(initial=initial, offset=4 * p98),
        "kslack": KSlack(initial=4 * p98),
    }


def profile(dataset: Dataset, *, max_future_skew: Duration = "5 minutes",
            max_delay: Duration | None = None) -> Profile:
    """Profile a dataset.

    Examples
    --------
    >>> from slackwater.datasets import simulated
    >>> found = profile(simulated("g-2"))
    >>> found.events, found.sources, round(found.delay_ms["p98"])
    (30000, 10, 524)
    """
    events = usable_events(dataset, max_future_skew=max_future_skew, max_delay=max_delay)
    delay = (events.arrival - events.time) / 1000
    known = dataset.roles.arrival is not None and len(events) > 0
    figures = quantiles(delay if known else delay[:0], min=0, p25=25, p50=50, p75=75, p95=95,
                        p98=98, p99=99, max=100)
    delay_ms: dict[str, float | None] = {}
    for name in ("min", "p25", "p50", "mean", "p75", "p95", "p98", "p99", "max", "std"):
        if name == "mean":
            delay_ms[name] = float(delay.mean()) if known else None
        elif name == "std":
            delay_ms[name] = float(delay.std(ddof=1)) if known and len(delay) > 1 else None
        else:
            delay_ms[name] = figures[name]
    spent = dataset.processing_times()
    of = "full processing time"
    if spent is None or not len(spent):
        spent, of = events.arrival - events.time if known else None, "delay"
    by_sequence = None
    if events.source is not None and events.sequence is not None:
        by_sequence = int(sequence_breaks(events.sequence, events.source).sum())
    least = min_buffer(events.time, events.arrival, events.key)
    return Profile(
        dataset=dataset.name, events=len(events), quarantined=events.quarantined,
        sources=None if events.source is None else len(np.unique(events.source)),
        by_time=int(out_of_order(events.time, events.key).sum()), by_sequence=by_sequence,
        min_buffer_ms=None if least is None else least / 1000, delay_ms=delay_ms,
        # clocks ahead of ours can make even p98 negative; a buffer time cannot be
        p98_us=None if spent is None else max(0, round(float(np.percentile(spent, 98)))),
        p98_of=None if spent is None else of,
        within_sources=_within(events),
        negative_pct=round(100 * float((delay < 0).mean()), 4) if known else None,
        gap_ms=quantiles(np.diff(events.arrival if known else events.arrival[:0]) / 1000, p50=50,
                         p99=99, max=100),
        clocks_off_ms=_clocks_off(events) if known else {},
        arrivals=dataset.roles.arrival is not None,
    )


_OFF = 1000  # times the usual distance from the median delay: no delay, but another clock


def _clocks_off(events: Events) -> dict[str, float]:
    """The sources whose median delay is far from everybody's, and how far (milliseconds)."""
    if events.source is None:
        return {}
    delay = events.arrival - events.time
    usual = np.median(delay)
    far = _OFF * max(float(np.median(np.abs(delay - usual))), 1.0)
    order = np.lexsort((delay, events.source))
    source, start, count = np.unique(events.source[order], return_index=True, return_counts=True)
    away = delay[order[start + count // 2]] - usual  # each source's median
    return {str(events.sources[source[i]]): float(away[i]) / 1000
            for i in np.flatnonzero(np.abs(away) > far)}


def _off(where: str, far: dict[str, float], sources: int | None) -> str:
    """Who is off by how much, the furthest first."""
    most = sorted(far, key=lambda name: -far[name])
    named = ", ".join(f"{name} by {_ms(far[name])}" for name in most[:3])
    return (f"{len(most)} of {sources} sources {'is' if len(most) == 1 else 'are'} {where} "
            f"({named}{', …' if len(most) > 3 else ''}) by far more than delays vary")


def _within(events: Events) -> int | None:
    """Events that are out of order among those of their own source and key."""
    if events.source is None:
        return None
    sources = int(events.source.max(initial=0)) + 1
    return int(out_of_order(events.time, events.key * sources + events.source).sum())


def _ms(value: float | None) -> str:
    return "unknown" if value is None else (
        f"-{format_duration(round(-1000 * value))}" if value < 0
        else format_duration(round(1000 * value)))
