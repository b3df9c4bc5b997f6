"""What the gateway counts, as Prometheus text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from slackwater.gateway.log import Log
from slackwater.gateway.store import Store

if TYPE_CHECKING:
    from slackwater.gateway.http.crowd import Crowd

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


def prometheus(store: Store, tally: Tally, crowd: Crowd | None = None) -> str:
    """The text of GET /metrics."""
    return "".join(chain(_ways(store, tally), _log_lines(store) if isinstance(store, Log) else (),
                         () if crowd is None else _connections(crowd), _mqtt(tally)))


def _ways(store: Store, tally: Tally) -> Iterator[str]:
    yield from _family("accepted_events", "counter", "Events that were made durable.",
                       {f'way="{way}"': n for way, n in tally.accepted.items()})
    yield from _family("refused_events", "counter", "Events that were refused one by one.",
                       {f'way="{way}"': n for way, n in tally.refused.items()})
    yield from _family("requests", "counter", "HTTP requests by status.",
                       {f'status="{status}"': n for status, n in sorted(tally.requests.items())})
    yield from _family("refusing", "gauge", "Whether back-pressure holds.",
                       {"": int(store.refusing is not None)})
    yield from _family("warning", "gauge", "Whether somebody should look at /health.",
                       {"": int(store.warning is not None)})


def _log_lines(log: Log) -> Iterator[str]:
    counters = log.counters
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
    yield from _family("log_damaged_segments", "gauge",
                       "Segments found damaged when the log was checked.", {"": len(log.damaged)})
    yield from _family("log_first_record", "gauge", "Number of the oldest record kept.",
                       {"": log.first})
    yield from _family("log_end_record", "gauge", "Number that the next record gets.",
                       {"": log.end.record})
    yield from _family("log_bytes", "gauge", "Bytes on the disk.", {"": log.size})
    yield from _family("log_segments", "gauge", "Segments on the disk.", {"": len(log.segments)})
    yield from _family("clock_off_seconds", "gauge",
                       "By how much the system's clock jumped and is not followed.",
                       {"": log.clock_off})
    yield from _family("reader_behind_bytes", "gauge", "Bytes a reader has not committed.",
                       {f'reader="{name}"': n for name, n in log.behind.items()})


def _connections(crowd: Crowd) -> Iterator[str]:
    yield from _family("connections", "gauge", "Connections that are open.",
                       {"": len(crowd.members)})
    yield from _family("connections_ended", "counter", "Connections that the gateway ended.",
                       {'why="gave_way"': crowd.counts.gave_way,
                        'why="overdue"': crowd.counts.overdue,
                        'why="no_room"': crowd.counts.refused})


def _mqtt(tally: Tally) -> Iterator[str]:
    if tally.mqtt_connected is None:
        return
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
