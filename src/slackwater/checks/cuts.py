"""Cuts: how the input is cut into batches changes nothing."""

from __future__ import annotations

from slackwater.checks.subject import Subject, collect, cut, run

__all__ = ["check_cuts"]


def check_cuts(subject: Subject) -> None:
    """Batches of one, of seven, empty ones between, or all at once: the same rows in order."""
    kernel, events = subject.kernel, subject.events
    whole = collect(run(kernel, [events]))
    assert sum(map(len, whole.values())) > 0, "the sample gives no output: nothing is checked"
    for size in (1, 7, 64):
        assert collect(run(kernel, cut(events, size))) == whole, f"batches of {size} differ"
    empty = events.slice(0, 0)
    spaced = [batch for piece in cut(events, 40) for batch in (empty, piece, empty)]
    assert collect(run(kernel, spaced)) == whole, "empty batches make a difference"
