"""Repeatable: the same input gives the same output, here and on an executor, and stays as it is."""

from __future__ import annotations

import pickle

from slackwater.checks.subject import Subject, collect, run

__all__ = ["check_input", "check_repeatable"]


def check_input(subject: Subject) -> None:
    """The batch that was pushed is as it was."""
    before = subject.events.to_pylist()
    run(subject.kernel, [subject.events])
    assert subject.events.to_pylist() == before, "the input was changed"


def check_repeatable(subject: Subject) -> None:
    """Two runs give the same, and so does a copy of the configuration that has travelled."""
    first = collect(run(subject.kernel, [subject.events]))
    assert collect(run(subject.kernel, [subject.events])) == first, "a second run differs"
    travelled = pickle.loads(pickle.dumps(subject.kernel))
    assert collect(run(travelled, [subject.events])) == first, "a copy of the kernel differs"
