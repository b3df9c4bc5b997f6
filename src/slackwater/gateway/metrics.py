"""What the gateway counts, and how Prometheus reads it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING

from slackwater.gateway.log import Log
from slackwater.gateway.store import Store

if TYPE_CHECKING:
    from slackwater.gateway.http.crowd import Crowd

__all__ = ["PREFIX", "Family", "Tally", "families", "prometheus"]

PREFIX = "slackwater_gateway_"


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


@dataclass(frozen=True)
class Family:
    """One thing that is counted or measured, for each value of a label.

    Parameters
    ----------
    name, text
        What it is called, and what it means.
    counts
        It only grows.
    values
        By the label's value; one without a label has ``""``.
    label
        The label's name.
    """

    name: str
    text: str
    counts: bool
    values: dict[str, float]
    label: str = ""


def families(store: Store, tally: Tally, crowd: Crowd | None = None) -> Iterator[Family]:
    """Everything that the gateway counts, as it is now; any thread may ask."""
    yield from _ways(store, tally)
    if isinstance(store, Log):
        yield from _log_families(store)
    if crowd is not None:
        yield from _connections(crowd)
    if tally.mqtt_connected is not None:
        yield from _mqtt(tally)


def prometheus(found: Iterable[Family]) -> str:
    """The text of GET /metrics."""
    return "".join(chain.from_iterable(map(_lines, found)))


def _lines(family: Family) -> Iterator[str]:
    full = f"{PREFIX}{family.name}" + ("_total" if family.counts else "")
    kind = "counter" if family.counts else "gauge"
    yield f"# HELP {full} {family.text}\n# TYPE {full} {kind}\n"
    for value, number in family.values.items():
        yield f'{full}{{{family.label}="{value}"}} {number}\n' if family.label \
            else f"{full} {number}\n"


def _count(name: str, text: str, values: float | Mapping[str, float], label: str = "") -> Family:
    return Family(name, text, True, dict(values) if isinstance(values, Mapping) else {"": values},
                  label)


def _state(name: str, text: str, values: float | Mapping[str, float], label: str = "") -> Family:
    return Family(name, text, False, dict(values) if isinstance(values, Mapping) else {"": values},
                  label)


def _ways(store: Store, tally: Tally) -> Iterator[Family]:
    yield _count("accepted_events", "Events that were made durable.", tally.accepted, "way")
    yield _count("refused_events", "Events that were refused one by one.", tally.refused, "way")
    requests = dict(tally.requests)  # at once: another thread may count meanwhile
    yield _count("requests", "HTTP requests by status.",
                 {str(status): n for status, n in sorted(requests.items())}, "status")
    yield _state("refusing", "Whether back-pressure holds.", int(store.refusing is not None))
    yield _state("warning", "Whether somebody should look at /health.",
                 int(store.warning is not None))


def _log_families(log: Log) -> Iterator[Family]:
    counters = log.counters
    yield _count("log_commits", "Frames made durable.", counters.commits)
    yield _count("log_written_bytes", "Bytes appended.", counters.bytes)
    yield _count("log_sync_seconds", "Time spent in fsync.", round(counters.sync_seconds, 6))
    yield _count("log_deleted_segments", "Segments that retention let go of.",
                 counters.deleted_segments)
    yield _count("log_cut_bytes", "Torn bytes cut off when the log was opened.",
                 counters.cut_bytes)
    yield _count("log_lost_records",
                 "Acknowledged records found missing when the log was opened.",
                 counters.lost_records)
    yield _state("log_damaged_segments", "Segments found damaged when the log was checked.",
                 len(log.damaged))
    yield _state("log_first_record", "Number of the oldest record kept.", log.first)
    yield _state("log_end_record", "Number that the next record gets.", log.end.record)
    yield _state("log_bytes", "Bytes on the disk.", log.size)
    yield _state("log_segments", "Segments on the disk.", len(log.segments))
    yield _state("clock_off_seconds",
                 "By how much the system's clock jumped and is not followed.", log.clock_off)
    yield _state("reader_behind_bytes", "Bytes a reader has not committed.", log.behind, "reader")


def _connections(crowd: Crowd) -> Iterator[Family]:
    counts = crowd.counts
    yield _state("connections", "Connections that are open.", len(crowd.members))
    yield _count("connections_ended", "Connections that the gateway ended.",
                 {"gave_way": counts.gave_way, "overdue": counts.overdue,
                  "no_room": counts.refused}, "why")


def _mqtt(tally: Tally) -> Iterator[Family]:
    yield _state("mqtt_connected", "Whether it is subscribed at the broker.",
                 int(tally.mqtt_connected or 0))
    yield _count("mqtt_dead_letters", "Messages put into the dead-letter log.",
                 tally.dead_letters)
    yield _count("mqtt_redelivered", "Messages delivered again that the log already had.",
                 tally.redelivered)
    yield _count("mqtt_dropped", "QoS 0 messages dropped under back-pressure.", tally.dropped)
