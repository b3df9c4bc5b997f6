"""Restarts: where the run was stopped and resumed changes nothing."""

from __future__ import annotations

from slackwater.checks.subject import Subject, collect, cut, run
from slackwater.core.kernel import MemoryStore

__all__ = ["check_restarts", "check_store"]


def check_restarts(subject: Subject) -> None:
    """Snapshot and restore before the first batch, after every batch, and twice in a row."""
    kernel, pieces = subject.kernel, _pieces(subject)
    expected = collect(run(kernel, pieces))
    logic, outs = kernel.restore(kernel.start().snapshot()), []
    for batch in pieces:
        outs.append(logic.push(batch))
        logic = kernel.restore(logic.snapshot())
        logic = kernel.restore(logic.snapshot())
    outs.append(logic.finish())
    assert collect(outs) == expected, "a restored kernel goes on differently"


def check_store(subject: Subject) -> None:
    """The same with a store that outlives the logic.

    A snapshot and the store of that moment are enough, whatever the store becomes afterwards; and
    where nothing has changed nothing is written.
    """
    kernel, pieces = subject.kernel, _pieces(subject)
    expected = collect(run(kernel, pieces))
    store = MemoryStore()
    logic, outs = kernel.start(store), []
    for batch in pieces:
        outs.append(logic.push(batch))
        snapshot, kept = logic.snapshot(), MemoryStore(store)
        logic.push(batch)  # a try that fails before its snapshot: the next one knows nothing of it
        store = kept
        logic = kernel.restore(snapshot, store)
        before = dict(store)
        assert logic.snapshot() == snapshot, "a restored logic writes another index"
        assert dict(store) == before, "a restored logic writes although nothing changed"
    outs.append(logic.finish())
    assert collect(outs) == expected, "a kernel restored from a store goes on differently"


def _pieces(subject: Subject) -> list[object]:
    return [subject.events.slice(0, 0), *cut(subject.events, 11)]
