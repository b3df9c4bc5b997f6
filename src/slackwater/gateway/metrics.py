"""What the gateway counts, as Prometheus text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

from slackwater.gateway.log import Log

__all__ = ["Tally", "prometheus"]


@dataclass
class Tally:
    """Counts of the ways in; the log counts for itself."""

    accepted: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    requests: Counter[int] = field(default_factory=Counter)
    dead_letters: int = 0
    dropped: int = 0
    redelivered: int = 0
    mqtt_connected: bool | None = None


def prometheus(log: Log, tally: Tally) -> str:
    """The text of GET /metrics."""
    return "".join(_lines(log, tally))


def _lines(log: Log, tally: Tally) -> Iterator[str]:
    counters, end = log.counters, log.end
    yield from _family("accepted_events", "counter", "Events that were made durable.",
                       {f'way="{way}"': n for way, n in tally.accepted.items()})
    yield from _family("refused_events", "counter", "Events that were refused one by one.",
                       {f'way="{way}"': n for way, n in tally.refused.items()})
    yield from _family("requests", "counter", "HTTP requests by status.",
                       {f'status="{status}"': n for status, n in sorted(tally.requests.items())})
    yield from _family("log_commits", "counter", "Frames made durable.", {"": counters.commits})
    yield from _family("log_written_bytes", "counter", "Bytes appended.", {"": counters.bytes})
    yield from _family("log_sync_seconds", "counter", "Time spent in fsync.",
                       {"": round(counters.sync_seconds, 6)})
    yield from _family("log_deleted_segments", "counter", "Segments that retention let go of.",
                       {"": counters.deleted_segments})
    yield from _family("log_cut_bytes", "counter", "Torn bytes cut off when the log was opened.",
                       {"": counters.cut_bytes})
    yield from _family("log_lost_records", "counter",
                       "Acknowledged records found missing when the log was opened.",
                       {"": counters.lost_records})
    yield from _family("log_first_record", "gauge", "Number of the oldest record kept.",
                       {"": log.first})
    yield from _family("log_end_record", "gauge", "Number that the next record gets.",
                       {"": end.record})
    yield from _family("log_bytes", "gauge", "Bytes on the disk.", {"": log.size})
    yield from _family("log_segments", "gauge", "Segments on the disk.", {"": len(log.segments)})
    yield from _family("reader_behind_bytes", "gauge", "Bytes a reader has not committed.",
                       {f'reader="{name}"': n for name, n in log.behind.items()})
    yield from _family("refusing", "gauge", "Whether back-pressure holds.",
                       {"": int(log.refusing is not None)})
    if tally.mqtt_connected is not None:
        yield from _family("mqtt_connected", "gauge", "Whether it is subscribed at the broker.",
                           {"": int(tally.mqtt_connected)})
        yield from _family("mqtt_dead_letters", "counter", "Messages put into the dead-letter log.",
                           {"": tally.dead_letters})
        yield from _family("mqtt_redelivered", "counter",
                           "Messages delivered again that the log already had.",
                           {"": tally.redelivered})
        yield from _family("mqtt_dropped", "counter",
                           "QoS 0 messages dropped under back-pressure.", {"": tally.dropped})


def _family(name: str, kind: str, text: str, values: dict[str, float]) -> Iterator[str]:
    full = f"slackwater_gateway_{name}" + ("_total" if kind == "counter" else "")
    yield f"# HELP {full} {text}\n# TYPE {full} {kind}\n"
    for labels, value in values.items():
        yield f"{full}{{{labels}}} {value}\n" if labels else f"{full} {value}\n"
