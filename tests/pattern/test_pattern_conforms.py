"""The matcher keeps the promises of the kernel protocol, in every mode."""

from __future__ import annotations

import pytest

from slackwater.checks import sample_events, yield_checks
from slackwater.core.events import Roles
from slackwater.pattern import EMIT, SELECT
from slackwater.query.event.query import event_query
from tests.checks import as_param

ROLES = Roles("time", "arrival", type="type", key=("key",))
QUERIES = {
    "plain": "EVENT SEQ(A a, B b, C c) WHERE c.value > a.value WITHIN 300 ms RETURN a.key",
    "negation": "EVENT SEQ(!(B x), A a, !(B b), C c, !(A y)) WITHIN 300 ms RETURN a.key",
    "kleene": "EVENT SEQ(A a, B+ b[]) WHERE b[i].value > b[i-1].value WITHIN 300 ms RETURN a.key",
    "counted": "EVENT SEQ(A? a, B{1,2} b[], !(A x), C* c[]) WITHIN 300 ms "
               "RETURN last(b.key) AS key",
    "skip": "EVENT SEQ(A a, !(B b), C c) WITHIN 300 ms AFTER MATCH SKIP PAST LAST EVENT "
            "RETURN a.key",
}
CASES = [
    as_param.param(f"{query}, {emit}, {select}", name, check)
    for query, text in QUERIES.items() for emit in EMIT for select in SELECT
    if query in ("negation", "skip", "counted") or (query == "plain") == (select == "skip_till_any")
    for name, check in yield_checks(
        event_query(text, ROLES, slack="100ms", emit=emit, select=select), sample_events(),
        row=None)
]


@pytest.mark.parametrize("check", CASES)
def test_matcher(check):
    check()
