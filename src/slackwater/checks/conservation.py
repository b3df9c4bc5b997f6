"""Conservation: every row that was pushed leaves exactly once, and until then it is held."""

from __future__ import annotations

from slackwater.checks.subject import Subject, collect, cut

__all__ = ["check_conservation"]


def check_conservation(subject: Subject) -> None:
    """What was pushed is what came out plus what is held, at every point."""
    assert subject.row is not None
    logic = subject.kernel.start()
    pushed, left = 0, []
    for batch in cut(subject.events, 9):
        out = logic.push(batch)
        pushed += batch.num_rows
        left += [r[subject.row] for rows in collect([out]).values() for r in rows]
        held = out.notes["held"]
        assert len(left) + held == pushed, f"{pushed} pushed, {len(left)} left, {held} held"
    left += [r[subject.row] for rows in collect([logic.finish()]).values() for r in rows]
    assert sorted(left) == sorted(subject.events[subject.row].to_pylist()), "not each exactly once"
