"""Watermark: what a kernel says about how far it has come never goes back, and is true."""

from __future__ import annotations

import pyarrow as pa

from slackwater.checks.subject import Subject, collect, cut

__all__ = ["check_watermark"]


def check_watermark(subject: Subject) -> None:
    """``notes["watermark"]``, if there is one, for each key alone: else it is the least of all."""
    streams = [subject.of_key(key) for key in subject.key_values()] or [subject.events]
    for events in streams:
        _check(subject, events)


def _check(subject: Subject, events: pa.RecordBatch) -> None:
    place = {}
    if subject.row is not None and subject.time is not None:
        place = dict(zip(events[subject.row].to_pylist(), subject.times(subject.time, events),
                         strict=True))
    logic, last, row = subject.kernel.start(), None, subject.row or ""
    for out in [*map(logic.push, cut(events, 5)), logic.finish()]:
        mark = out.notes.get("watermark")
        if mark is None:
            continue
        assert last is None or mark >= last, f"from {last} back to {mark}"
        for left in collect([out])["ready"] if place else ():
            assert place[left[row]] <= mark, "a row beyond the watermark has left"
        last = mark
