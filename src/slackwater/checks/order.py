"""Order: ready rows leave in time order per key, and only what came too late is late."""

from __future__ import annotations

from typing import Any

from slackwater.checks.subject import Subject, collect, cut, run

__all__ = ["check_lateness", "check_order"]


def check_order(subject: Subject) -> None:
    """No ready row is older than one of its key that left before it."""
    assert subject.row is not None
    last: dict[Any, int] = {}
    place = _places(subject)
    for row in collect(run(subject.kernel, cut(subject.events, 1)))["ready"]:
        key, time = place[row[subject.row]]
        assert time >= last.get(key, time), f"a row of key {key!r} left after a younger one"
        last[key] = time
    assert last, "no row is ready: nothing is checked"


def check_lateness(subject: Subject) -> None:
    """A row is late only behind a row of its key, as young or younger, that came before it."""
    assert subject.row is not None
    found = collect(run(subject.kernel, [subject.events]))
    kind = {row[subject.row]: name for name, rows in found.items() for row in rows}
    last: dict[Any, int] = {}
    for row, (key, time) in _places(subject).items():
        if kind.get(row) == "late":
            assert key in last, f"the first row of key {key!r} is late"
            assert time <= last[key], f"a row of key {key!r} is late though it came in order"
        elif kind.get(row) == "ready":
            last[key] = max(time, last.get(key, time))
    assert last, "no row is ready: nothing is checked"


def _places(subject: Subject) -> dict[Any, tuple[Any, int]]:
    """The key and the time of each row, in order of arrival."""
    assert subject.row is not None
    assert subject.time is not None
    events = subject.events
    keys = [None] * events.num_rows if subject.key is None else events[subject.key].to_pylist()
    return dict(zip(events[subject.row].to_pylist(),
                    zip(keys, subject.times(subject.time), strict=True), strict=True))
