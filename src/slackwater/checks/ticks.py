"""Time: it may pass without an event, for every key, and decides nothing that arrivals do not.

The contract of ``tick(now)``: every row that arrived before `now` has been pushed.
"""

from __future__ import annotations

from collections.abc import Iterator

from slackwater.checks.subject import WHEN, Row, Rows, Subject, collect, cut, run, without
from slackwater.core.kernel import Kernel, Out

__all__ = ["check_silence", "check_ticks"]


def check_ticks(subject: Subject) -> None:
    """Ticks between arrivals change when rows leave, not which are ready, late or quarantined."""
    pieces = cut(subject.events, 5)
    plain = _settled(subject, collect(run(subject.kernel, pieces)))
    for restarts in (False, True):
        outs = list(_with_ticks(subject, restarts))
        assert _settled(subject, collect(outs)) == plain, "ticks change what becomes of rows"


def check_silence(subject: Subject) -> None:
    """When enough time has passed nothing is held, though no row came."""
    logic = subject.kernel.start()
    for batch in cut(subject.events, 50):
        logic.push(batch)
    held = logic.tick(subject.far()).notes["held"]
    assert held == 0, f"{held} rows are held however long nothing comes"
    assert len(logic.finish()) == 0, "rows waited for the end of input"


def _with_ticks(subject: Subject, restarts: bool) -> Iterator[Out]:
    """Before each batch, ticks up to the moment of its first arrival."""
    assert subject.arrival is not None
    kernel: Kernel = subject.kernel
    logic, clock = kernel.start(), 0
    for batch in cut(subject.events, 5):
        # rows without a readable arrival say nothing about when they came
        known = [a for a in subject.times(subject.arrival, batch) if a]
        soonest = min(known, default=clock)
        if clock and soonest > clock:
            for now in (clock + 1, (clock + soonest) // 2, soonest):
                yield logic.tick(now)
        yield logic.push(batch)
        clock = max(clock, *known, 0)
        if restarts:
            logic = kernel.restore(logic.snapshot())
    yield logic.finish()


def _settled(subject: Subject, rows: Rows) -> dict[str, list[str]]:
    """What became of rows, without when and why; ready rows in order per key, if it can be told."""

    def key(row: Row) -> str:
        return "" if subject.key is None else repr(row.get(subject.key))

    found = {}
    for kind, some in rows.items():
        plain = list(without(some, *WHEN))
        if kind == "ready" and subject.row is not None:
            found[kind] = [repr(r) for r in sorted(plain, key=key)]  # stable: in order per key
        else:
            found[kind] = sorted(map(repr, plain))
    return found
