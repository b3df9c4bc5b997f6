"""A run's numbers for Prometheus, by its own client library."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from slackwater.pipeline.metrics import QUANTILES, Numbers

__all__ = ["METRICS", "Collector", "registry_of"]

METRICS: dict[str, tuple[str, str]] = {
    "slackwater_rows_in_total": ("counter", "Rows that a stream's node took in."),
    "slackwater_rows_total": ("counter", "Rows by what became of them: ready, late, quarantined."),
    "slackwater_unreadable_total": ("counter", "Values of a source that could not be read."),
    "slackwater_dead_letters_total": ("counter", "Rows that a sink has refused."),
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


class Collector:
    """For a registry of `prometheus_client`: the numbers of a run, as they are when it is asked.

    Parameters
    ----------
    numbers
        Of the run.
    clock
        Gives epoch seconds.
    """

    def __init__(self, numbers: Numbers, clock: Callable[[], float] = time.time) -> None:
        self._numbers, self._clock = numbers, clock

    def collect(self) -> Iterator[Metric]:
        """All metrics that have a value."""
        with self._numbers.lock:
            samples = list(_samples(self._numbers, self._clock()))
        by_name: dict[str, list[tuple[dict[str, str], float]]] = {}
        for name, labels, value in samples:
            by_name.setdefault(name, []).append((labels, value))
        for name, (kind, meaning) in METRICS.items():
            found = by_name.get(name)
            if found is None:
                continue
            family = (CounterMetricFamily if kind == "counter" else GaugeMetricFamily)(
                name, meaning, labels=["pipeline", *found[0][0]])
            for given, value in found:
                family.add_metric([self._numbers.pipeline.name, *map(_utf8, given.values())], value)
            yield family


def registry_of(numbers: Numbers, clock: Callable[[], float] = time.time) -> CollectorRegistry:
    """A registry with the numbers of a run, and nothing else."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(Collector(numbers, clock))
    return registry


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
    for sink in numbers.pipeline.sinks:
        yield "slackwater_dead_letters_total", {"sink": sink}, numbers.dead_letters.get(sink, 0)
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


def _utf8(text: str) -> str:
    """The text, where half a character of an odd name cannot be written."""
    return text.encode("utf-8", "replace").decode()
