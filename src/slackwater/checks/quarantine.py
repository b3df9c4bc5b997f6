"""Quarantine: a row without a usable time is handed out, and moves nothing."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa

from slackwater.checks.subject import WHEN, Subject, collect, run, without

__all__ = ["check_quarantine"]


def check_quarantine(subject: Subject) -> None:
    """Without the rows that were quarantined the others come out the same."""
    mixed = collect(run(subject.kernel, [subject.events]))
    bad = Counter(repr(row) for row in without(mixed["quarantined"], *WHEN))
    assert bad, "the sample has no row to quarantine: nothing is checked"
    keep = []
    for row in subject.events.to_pylist():
        bad[repr(row)] -= 1
        keep.append(bad[repr(row)] < 0)
    clean = collect(run(subject.kernel, [subject.events.filter(pa.array(keep))]))
    for kind in ("ready", "late"):
        assert clean[kind] == mixed[kind], f"quarantined rows change which rows are {kind}, or how"
    assert not clean["quarantined"], "rows are quarantined because of others"
