"""State: it follows what can still matter, not what has passed."""

from __future__ import annotations

import pyarrow as pa

from slackwater.checks.subject import Subject, shifted
from slackwater.core.kernel import Logic, MemoryStore

__all__ = ["check_forgotten", "check_state"]

_LAPS = 24


def check_state(subject: Subject) -> None:
    """The same stream again and again does not make the state grow."""
    store = MemoryStore()
    logic, sizes = subject.kernel.start(store), []
    for lap in range(_LAPS):
        logic.push(shifted(subject.events, lap * subject.span()))
        sizes.append(_size(logic, store))
    assert sizes[-1] <= subject.state_limit * sizes[1], f"the state grew: {sizes}"


def check_forgotten(subject: Subject) -> None:
    """Keys of one row each, which are then silent for long, leave nothing behind."""
    assert subject.key is not None
    assert subject.arrival is not None
    store = MemoryStore()
    logic, sizes = subject.kernel.start(store), []
    lap_length = subject.span() + subject.forgets
    for lap in range(_LAPS):
        names = pa.array([f"{row:04} of lap {lap:02}" for row in range(subject.events.num_rows)])
        events = shifted(subject.events, lap * lap_length, **{subject.key: names})
        logic.push(events)
        logic.tick(subject.far() + lap * lap_length)
        sizes.append(_size(logic, store))
    assert sizes[-1] <= 1.5 * sizes[1], f"the state grew with keys that are gone: {sizes}"


def _size(logic: Logic, store: MemoryStore) -> int:
    index = logic.snapshot()
    return len(index) + sum(map(len, store.values()))
