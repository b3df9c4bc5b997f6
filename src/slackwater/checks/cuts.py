"""Cuts: how the input is cut into batches changes nothing."""

from __future__ import annotations

import pyarrow as pa

from slackwater.checks.subject import Subject, collect, cut, paused, run
from slackwater.core.kernel import Kernel

__all__ = ["check_cuts"]

_DAY = 86_400_000_000


def check_cuts(subject: Subject) -> None:
    """Batches of one, of several, empty ones between, or all at once: the same rows in order.

    The same after a pause that is long enough for every key to be forgotten.
    """
    _check(subject.kernel, subject.events)
    if subject.arrival is not None:
        _check(subject.kernel, paused(subject.events, 2 * max(subject.forgets, _DAY)))


def _check(kernel: Kernel, events: pa.RecordBatch) -> None:
    whole = collect(run(kernel, [events]))
    assert sum(map(len, whole.values())) > 0, "the sample gives no output: nothing is checked"
    for size in (1, 7, 20, 64):
        assert collect(run(kernel, cut(events, size))) == whole, f"batches of {size} differ"
    empty = events.slice(0, 0)
    spaced = [batch for piece in cut(events, 40) for batch in (empty, piece, empty)]
    assert collect(run(kernel, spaced)) == whole, "empty batches make a difference"
