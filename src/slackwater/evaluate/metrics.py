"""How a policy did on a dataset: the metrics of paper 3, and the wait (SPEC section 1)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from slackwater.datasets import Dataset
from slackwater.evaluate.disorder import min_buffer, out_of_order
from slackwater.evaluate.evaluation import Evaluation
from slackwater.evaluate.live import best_constant, needed_buffers
from slackwater.evaluate.run import Engine, Events, Run, run, usable_events
from slackwater.reorder import Policy, Static, as_policy

__all__ = ["BEST", "Metrics", "constant_run", "evaluate", "measure"]

BEST = "best constant"


@dataclass(frozen=True)
class Metrics:
    """How well a policy did.

    Parameters
    ----------
    dataset, policy
        Names, as asked for.
    parameters
        The policy with all its parameters.
    events, quarantined
        Rows with a usable time, and the others.
    out_of_order
        Events with a time below the greatest that arrived before them.
    not_compensated
        Events that came after their place had been released.
    mean_buffer_ms
        Mean of the buffer time over all arrivals.
    min_buffer_ms
        Above this, a constant buffer time compensates everything; None: nothing is out of order.
    latency_ms
        Release − time over all events: mean, p50, p95, p99, max.
    wait_ms
        Release − arrival, which is what a policy decides: mean, p50, p95, p99, max.
    best_wait_ms
        Mean wait of the best constant buffer in hindsight; None where no loss was asked for.
    """

    dataset: str
    policy: str
    parameters: str
    events: int
    quarantined: int
    out_of_order: int
    not_compensated: int
    mean_buffer_ms: float | None
    min_buffer_ms: float | None
    latency_ms: dict[str, float | None]
    wait_ms: dict[str, float | None]
    best_wait_ms: float | None = None

    @cached_property
    def late_pct(self) -> float:
        """Share of all usable events that were late."""
        return 100 * self.not_compensated / self.events if self.events else 0.0

    @cached_property
    def wait_ratio(self) -> float | None:
        """Mean wait against that of the best constant; None where that is nothing."""
        mean = self.wait_ms["mean"]
        return mean / self.best_wait_ms if self.best_wait_ms and mean is not None else None

    @cached_property
    def not_compensated_pct(self) -> float:
        """Share of the out-of-order events that were not compensated."""
        return 100 * self.not_compensated / self.out_of_order if self.out_of_order else 0.0

    @cached_property
    def overfitting_pct(self) -> float | None:
        """Mean buffer time against the least that would do; None where nothing need be waited for.
        """
        if self.mean_buffer_ms is None or self.min_buffer_ms is None or self.min_buffer_ms <= 0:
            return None
        return 100 * self.mean_buffer_ms / self.min_buffer_ms

    def _repr_html_(self) -> str:
        return Evaluation([self])._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """For JSON and CSV."""
        return {
            "dataset": self.dataset, "policy": self.policy, "parameters": self.parameters,
            "events": self.events, "quarantined": self.quarantined,
            "out_of_order": self.out_of_order, "not_compensated": self.not_compensated,
            "not_compensated_pct": _round(self.not_compensated_pct),
            "mean_buffer_ms": _round(self.mean_buffer_ms),
            "min_buffer_ms": _round(self.min_buffer_ms),
            "overfitting_pct": _round(self.overfitting_pct),
            "latency_ms": {name: _round(value) for name, value in self.latency_ms.items()},
            "late_pct": _round(self.late_pct),
            "wait_ms": {name: _round(value) for name, value in self.wait_ms.items()},
            "best_wait_ms": _round(self.best_wait_ms),
            "wait_ratio": _round(self.wait_ratio),
        }


def measure(done: Run, *, policy: str, out_of_order: int, min_buffer: int | None,
            best_wait_ms: float | None = None) -> Metrics:
    """Sum up a run; what the events alone decide is handed in, as it is the same for all runs."""
    events = done.events
    latency = (done.released - events.time) / 1000
    wait = np.where(done.late, 0, done.released - events.arrival) / 1000
    return Metrics(
        dataset=events.name, policy=policy, parameters=str(done.policy), events=len(events),
        quarantined=events.quarantined, out_of_order=out_of_order,
        not_compensated=int(done.late.sum()),
        mean_buffer_ms=float(done.buffer.mean()) / 1000 if len(events) else None,
        min_buffer_ms=None if min_buffer is None else min_buffer / 1000,
        latency_ms=quantiles(latency, mean=True, p50=50, p95=95, p99=99, max=100),
        wait_ms=quantiles(wait, mean=True, p50=50, p95=95, p99=99, max=100),
        best_wait_ms=best_wait_ms,
    )


def evaluate(dataset: Dataset | Events, policies: Iterable[Policy | str], *,
             engine: Engine | None = None, literal: bool = False,
             loss: float | None = None) -> Evaluation:
    """Try policies on a dataset, as a live stream: time passes between arrivals.

    `literal`: rows leave at arrivals only, as in the papers. `loss`: policies that take a target
    get this one, and the first row of the result is the best constant buffer in hindsight with at
    most that share late.

    Examples
    --------
    >>> from slackwater.datasets import simulated
    >>> for m in evaluate(simulated("g-2"), ["sba", "sba(buffer=500ms)"]):
    ...     print(m.policy, m.not_compensated, m.mean_buffer_ms)
    sba 0 1000.0
    sba(buffer=500ms) 1778 500.0
    """
    events = dataset if isinstance(dataset, Events) else usable_events(dataset)
    disordered = int(out_of_order(events.time, events.key).sum())
    least = min_buffer(events.time, events.arrival, events.key)
    found, best_wait = Evaluation(), None
    if loss is not None:
        done = constant_run(events, best_constant(events.time, events.arrival, events.key, loss))
        best = measure(done, policy=BEST, out_of_order=disordered, min_buffer=least)
        best_wait = best.wait_ms["mean"]
        found.append(replace(best, best_wait_ms=best_wait))
    for policy in policies:
        chosen = as_policy(policy)
        if loss is not None and chosen.bound is not None:
            chosen = replace(chosen, **{chosen.bound: loss})  # type: ignore[type-var]
        found.append(measure(
            run(events, chosen, engine=engine, literal=literal), out_of_order=disordered,
            min_buffer=least, best_wait_ms=best_wait,
            policy=policy if isinstance(policy, str) else type(policy).__name__))
    return found


def constant_run(events: Events, buffer: int | None) -> Run:
    """What a constant buffer would have done, which may be negative; None: no buffer at all."""
    needed = needed_buffers(events.time, events.arrival, events.key)
    if buffer is None:
        late, released = np.zeros(len(events), bool), events.arrival
    else:
        late = needed >= buffer
        released = np.where(late, events.arrival,
                            np.maximum(events.arrival, events.time + buffer))
    if buffer is None:
        late = needed > np.iinfo(np.int64).min
    return Run(events, Static(max(buffer or 0, 0)), late, released,
               np.full(len(events), float(buffer or 0)))


def quantiles(values: NDArray[np.float64], *, mean: bool = False,
              **percents: float) -> dict[str, float | None]:
    """Named percentiles (R's type 7, which the paper used), None where there are no values."""
    if not len(values):
        return dict.fromkeys((*(["mean"] if mean else []), *percents))
    found = np.percentile(values, list(percents.values()))
    named: dict[str, float | None] = {"mean": float(values.mean())} if mean else {}
    return named | {name: float(v) for name, v in zip(percents, found, strict=True)}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)
