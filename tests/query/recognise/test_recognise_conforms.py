"""MATCH_RECOGNIZE keeps the promises of the kernel protocol."""

from __future__ import annotations

import pytest

from slackwater.checks import sample_events, yield_checks
from slackwater.core.events import Roles
from slackwater.query.recognise import RecogniseQuery
from tests.checks import as_param

EVENTS = sample_events()


def recognise(inner: str, key: str = "PARTITION BY key", order: str = "time",
              **options: str) -> RecogniseQuery:
    text = f"SELECT * FROM s MATCH_RECOGNIZE ({key} ORDER BY {order} {inner})"
    roles = Roles("time", "arrival", options.pop("source", None))
    return RecogniseQuery(text, EVENTS.schema, roles,
                          **(options or {"slack": "100ms"}))  # type: ignore[arg-type]


RISE = ("MEASURES FIRST(A.row) AS begun, COUNT(*) AS rows, LAST(B.value) AS top "
        "PATTERN (A B+) WITHIN 400 ms DEFINE B AS B.value > LAST(A.value)")
KERNELS = {
    "running conditions": (recognise(RISE), None, "key"),
    "types in a row": (recognise(
        "MEASURES FIRST(row) AS one, LAST(row) AS other, SUM(value) AS total "
        "AFTER MATCH SKIP TO NEXT ROW PATTERN (A (B | C){1,3}? A) WITHIN 1 s "
        "DEFINE A AS type = 'A', B AS type = 'B', C AS type = 'C'", order="time, sequence, row"),
        None, "key"),
    "all rows": (recognise("MEASURES CLASSIFIER() AS c, RUNNING COUNT(*) AS n ALL ROWS PER MATCH "
                           "WITH UNMATCHED ROWS PATTERN (A B*) WITHIN 300 ms "
                           "DEFINE A AS type = 'A', B AS value > 8", policy="bsttda"), None, "key"),
    "rows before and numbers": (recognise(
        "MEASURES MATCH_NUMBER() AS n, LAST(UP.value) AS top PATTERN (STRT UP+) WITHIN 2 s "
        "DEFINE UP AS UP.value > PREV(UP.value)", key="", policy="tide", source="source"),
        None, None),
}
CASES = [as_param.param(name, what, check)
         for name, (kernel, row, key) in KERNELS.items()
         for what, check in yield_checks(kernel, EVENTS, row=row, key=key)]


@pytest.mark.parametrize("check", CASES)
def test_recognise(check):
    check()
