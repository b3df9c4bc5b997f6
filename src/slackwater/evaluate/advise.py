"""Advice for an existing Spark job: what its watermark loses, and what to write instead."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError, DataError
from slackwater.core.html import html_table, html_text
from slackwater.datasets import Dataset
from slackwater.evaluate.run import Events, run, usable_events
from slackwater.evaluate.spark_watermark import Fixed, FixedWatermark, by_count, by_trigger
from slackwater.reorder import DropRatio, Policy, Tide
from slackwater.reorder.tide.policy import as_share

__all__ = ["Advice", "Choice", "advise", "spark_duration"]

_LOSSES = (0.0001, 0.001, 0.005, 0.01, 0.02, 0.05)


@dataclass(frozen=True)
class Choice:
    """One way to wait: what it loses, how long results take (milliseconds), what to write."""

    what: str
    late: int
    loss: float
    latency_ms: dict[str, float | None]
    lines: tuple[str, ...]
    met: bool = True

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"what": self.what, "late": self.late, "loss": round(self.loss, 8),
                "latency_ms": self.latency_ms, "met": self.met, "lines": list(self.lines)}


@dataclass(frozen=True)
class Advice:
    """What a job's watermark does now, and what would meet the target.

    Parameters
    ----------
    dataset, rows, cuts
        The sample, and how it was cut into micro-batches.
    target
        In words.
    now
        The job's own delay; None where none was given.
    fixed
        Another fixed delay that meets the target, or comes closest.
    policy
        A policy of Slackwater's that does.
    """

    dataset: str
    rows: int
    cuts: str
    target: str
    now: Choice | None
    fixed: Choice
    policy: Choice

    @property
    def choices(self) -> list[Choice]:
        """All of them, what is now first."""
        return [*([self.now] if self.now else []), self.fixed, self.policy]

    def words(self) -> list[str]:
        """The advice in sentences."""
        said = []
        if self.now is not None:
            said.append(
                f"Now {self.now.late:,} of {self.rows:,} rows ({100 * self.now.loss:.4g} %) are "
                f"silently dropped by {self.now.what}." if self.now.late
                else f"Now {self.now.what} drops no row of this sample.")
        for choice in (self.fixed, self.policy):
            verb = "meets" if choice.met else "comes closest to, but does not meet,"
            said.append(f"{choice.what} {verb} {self.target}: {100 * choice.loss:.4g} % late, mean "
                        f"latency {_ms(choice.latency_ms['mean'])}.")
        return said

    def diff(self) -> str:
        """The lines to change: the fixed delay, or the policy, which hands late rows out."""
        old = [f"- {line}" for line in (self.now.lines if self.now else ())]
        return "\n".join([*old, *(f"+ {line}" for line in self.fixed.lines), "", "or",
                          "", *old, *(f"+ {line}" for line in self.policy.lines)])

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"dataset": self.dataset, "rows": self.rows, "cuts": self.cuts,
                "target": self.target, "now": self.now.to_dict() if self.now else None,
                "fixed": self.fixed.to_dict(), "policy": self.policy.to_dict(),
                "words": self.words()}

    def _repr_html_(self) -> str:
        rows = [(c.what, c.late, 100 * c.loss, *c.latency_ms.values()) for c in self.choices]
        return html_table(f"{self.dataset}: {self.cuts}", (
            "", "late", "late %", "mean ms", "p50 ms", "p99 ms"), rows) + html_text(self.diff())


def advise(
    dataset: Dataset | Events, *, delay: Duration | None = None, loss: float | str | None = None,
    latency: Duration | None = None, trigger: Duration = "10s", batches: int | None = None,
    time: str = "time", arrival: str | None = "arrival", source: str | None = None,
) -> Advice:
    """Say what a fixed watermark loses on a sample, and what would meet a target.

    Parameters
    ----------
    dataset
        The sample, with arrivals.
    delay
        The job's own ``withWatermark`` delay; None: it has none yet.
    loss, latency
        The target, one of the two: the share of rows that may be lost, or the mean time from an
        event to its result.  Neither: a loss of 0.1 %.
    trigger, batches
        How the stream is cut into micro-batches: by the job's trigger interval, or into so many of
        equally many rows.
    time, arrival, source
        The names of the job's columns, for the lines to change; of a `Dataset` its own.

    Examples
    --------
    >>> from slackwater.datasets import simulated
    >>> found = advise(simulated("g-2"), delay="200ms", loss="1%", trigger="1s")
    >>> found.fixed.loss <= 0.01 and found.policy.met
    True
    """
    if loss is not None and latency is not None:
        raise ConfigError("asks for one target", step="advise", expected="loss or latency",
                          got="both")
    if isinstance(dataset, Dataset):
        roles = dataset.roles
        time, arrival, source = roles.time, roles.arrival, roles.source
        if arrival is None:
            raise DataError("the sample does not say when rows arrived", step="advise",
                            got=dataset.name, hint="name the column: arrival, or record one with "
                                                   "slackwater.spark.tap")
    events = dataset if isinstance(dataset, Events) else usable_events(dataset)
    if not len(events):
        raise DataError("there is no event with a usable time", step="advise", got=events.name)
    cuts = (by_count(events.arrival, batches) if batches is not None
            else by_trigger(events.arrival, micros(trigger, name="trigger", least=1)))
    marked = FixedWatermark(events, cuts)
    job = _Job(marked, time, arrival, source)
    now = None if delay is None else job.fixed(micros(delay, name="delay", least=0) // 1000)
    if latency is not None:
        wanted = micros(latency, name="latency") / 1000
        return Advice(events.name, len(events), cuts.words,
                      f"a mean latency of at most {_ms(wanted)}", now,
                      *_within(job, wanted))
    share = as_share("0.1%" if loss is None else loss, step="loss")
    fixed = job.fixed(_readable(marked.least_delay(share)))
    policy = job.policy(share)
    return Advice(events.name, len(events), cuts.words, f"a loss of at most {100 * share:g} %",
                  now, fixed, _judged(policy, policy.loss <= share))


def _within(job: _Job, latency_ms: float) -> tuple[Choice, Choice]:
    longest = job.marked.longest_delay(latency_ms)
    fixed = _judged(job.fixed(longest or 0), longest is not None)
    tried = [job.policy(share) for share in _LOSSES]
    fit = [c for c in tried if (c.latency_ms["mean"] or 0.0) <= latency_ms]
    best = (min(fit, key=lambda c: c.loss) if fit
            else min(tried, key=lambda c: c.latency_ms["mean"] or 0.0))
    return fixed, _judged(best, bool(fit))


@dataclass(frozen=True)
class _Job:
    """The job that is advised: its stream, and what its columns are called."""

    marked: FixedWatermark
    time: str
    arrival: str | None
    source: str | None

    def fixed(self, delay_ms: int) -> Choice:
        done: Fixed = self.marked.under(delay_ms)
        call = f'withWatermark("{self.time}", "{spark_duration(delay_ms)}")'
        return Choice(call, done.dropped, done.loss, done.latency_ms, (f"df.{call}",))

    def policy(self, share: float) -> Choice:
        events = self.marked.events
        chosen: Policy = (DropRatio(ratio=share) if events.source is None else Tide(loss=share))
        done = run(events, chosen)
        late = int(done.late.sum())
        name = (f"DropRatio(ratio={100 * share:g}%)" if events.source is None
                else f"Tide(loss={100 * share:g}%)")
        roles = [f'time="{self.time}"', *(f'{role}="{name}"' for role, name in (
            ("arrival", self.arrival), ("source", self.source)) if name is not None)]
        return Choice(name, late, late / len(events),
                      self.marked.released_ms(done.released), (
                          "from slackwater.spark import late, reorder, with_watermark",
                          f'ordered = reorder(df, "{name}", {", ".join(roles)})',
                          "with_watermark(ordered)   # late(ordered) has the rest, with reasons"))


def _judged(choice: Choice, met: bool) -> Choice:
    return Choice(choice.what, choice.late, choice.loss, choice.latency_ms, choice.lines, met)


def _readable(ms: int) -> int:
    """Rounded up to what a person would write: whole seconds from ten on."""
    return -(-ms // 1000) * 1000 if ms >= 10_000 else ms


def spark_duration(ms: int) -> str:
    """A delay as Spark reads it.

    Examples
    --------
    >>> spark_duration(60_000), spark_duration(1500)
    ('60 seconds', '1500 milliseconds')
    """
    return f"{ms // 1000} seconds" if ms % 1000 == 0 else f"{ms} milliseconds"


def _ms(value: float | None) -> str:
    if value is None:
        return "unknown"
    # three digits are enough for an estimate
    return re.sub(r"[\d.]+", lambda found: f"{float(found[0]):.3g}",
                  format_duration(round(1000 * value)))
