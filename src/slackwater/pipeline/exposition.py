"""A run's numbers as Prometheus reads them (text format 0.0.4)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator

from slackwater.pipeline.metrics import QUANTILES, Numbers

__all__ = ["METRICS", "prometheus_text"]

METRICS: dict[str, tuple[str, str]] = {
    "slackwater_rows_in_total": ("counter", "Rows that a stream's node took in."),
    "slackwater_rows_total": ("counter", "Rows by what became of them: ready, late, quarantined."),
    "slackwater_unreadable_total": ("counter", "Values of a source that could not be read."),
    "slackwater_late_share": ("gauge", "Late rows ÷ rows with a usable time, since the start."),
    "slackwater_late_share_bound": ("gauge", "The share that the policy promises to stay under."),
    "slackwater_latency_seconds": ("gauge", "Release − time of ready rows, last micro-batch."),
    "slackwater_buffer_seconds": ("gauge", "Mean wait (release − arrival), last micro-batch."),
    "slackwater_watermark_lag_seconds": ("gauge", "Arrival clock − greatest time released."),
    "slackwater_batches_total": ("counter", "Micro-batches of a query."),
    "slackwater_query_rows_total": ("counter", "Rows that a query read; its clock's ticks too."),
    "slackwater_batch_seconds": ("gauge", "Duration of a query's last micro-batch."),
    "slackwater_batch_seconds_total": ("counter", "Duration of all of them."),
    "slackwater_state_rows": ("gauge", "Entries in a query's state stores."),
    "slackwater_state_bytes": ("gauge", "Memory that they use."),
    "slackwater_source_rows_total": ("counter", "Rows of one producer."),
    "slackwater_source_late_total": ("counter", "Late rows of one producer."),
    "slackwater_source_last_seen_timestamp_seconds": ("gauge", "When its last row was seen."),
    "slackwater_source_silence_seconds": ("gauge", "How long ago that is."),
    "slackwater_up_seconds": ("gauge", "How long the run lasts."),
}
"""Every metric with its type and meaning."""

_MOST_SOURCES = 1000  # producers told of, the longest silent first: more would flood the scraper

Sample = tuple[str, dict[str, str], float]


def prometheus_text(numbers: Numbers, now: float | None = None) -> str:
    """The whole text.

    Parameters
    ----------
    numbers
        Of the run.
    now
        Epoch seconds; default: the clock.
    """
    with numbers.lock:
        samples = list(_samples(numbers, time.time() if now is None else now))
    by_name: dict[str, list[str]] = {}
    for name, labels, value in samples:
        labels = {"pipeline": numbers.pipeline.name, **labels}
        inside = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
        by_name.setdefault(name, []).append(f"{name}{{{inside}}} {value:.10g}")
    lines: list[str] = []
    for name, (kind, meaning) in METRICS.items():
        if name in by_name:
            lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}", *by_name[name]]
    return "\n".join(lines) + "\n"


def _samples(numbers: Numbers, now: float) -> Iterator[Sample]:
    yield "slackwater_up_seconds", {}, now - numbers.began
    for name, one in numbers.streams.items():
        stream = {"stream": name}
        yield "slackwater_rows_in_total", stream, numbers.rows_in(name)
        for outcome in ("ready", "late", "quarantined"):
            yield "slackwater_rows_total", {**stream, "outcome": outcome}, getattr(one, outcome)
        if name in numbers.pipeline.sources:
            yield "slackwater_unreadable_total", stream, one.unreadable
        gauges = {"late_share": one.late_share, "late_share_bound": one.bound,
                  "buffer_seconds": one.buffer, "watermark_lag_seconds": one.lag}
        for gauge, value in gauges.items():
            if value is not None:
                yield f"slackwater_{gauge}", stream, value
        for quantile, value in zip(QUANTILES, one.latency, strict=False):
            yield "slackwater_latency_seconds", {**stream, "quantile": f"{quantile:g}"}, value
    for name, query in numbers.queries.items():
        label = {"query": name}
        yield "slackwater_batches_total", label, query.batches
        yield "slackwater_query_rows_total", label, query.rows
        yield "slackwater_batch_seconds", label, query.last
        yield "slackwater_batch_seconds_total", label, query.seconds
        yield "slackwater_state_rows", label, query.state_rows
        yield "slackwater_state_bytes", label, query.state_bytes
    yield from _health(numbers, now)


def _health(numbers: Numbers, now: float) -> Iterator[Sample]:
    silent_first: Iterable[tuple[str, str]] = sorted(
        numbers.sources, key=lambda key: (numbers.sources[key].seen, key))
    for stream, source in list(silent_first)[:_MOST_SOURCES]:
        health, label = numbers.sources[stream, source], {"stream": stream, "source": source}
        yield "slackwater_source_rows_total", label, health.rows
        yield "slackwater_source_late_total", label, health.late
        yield "slackwater_source_last_seen_timestamp_seconds", label, health.seen
        yield "slackwater_source_silence_seconds", label, max(now - health.seen, 0.0)


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
