"""End: after the end of input nothing is held."""

from __future__ import annotations

from slackwater.checks.subject import Subject

__all__ = ["check_end"]


def check_end(subject: Subject) -> None:
    """After finish nothing is held, and finishing again gives nothing."""
    logic = subject.kernel.start()
    logic.push(subject.events)
    held = logic.finish().notes.get("held", 0)
    assert held == 0, f"{held} rows are held after the end"
    assert len(logic.finish()) == 0, "the end comes twice"
