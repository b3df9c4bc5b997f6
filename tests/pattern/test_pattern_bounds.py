"""No pattern stops a stream: the work for an event is bounded, and too much is handed out."""

from __future__ import annotations

from typing import Any

import pytest

from slackwater.core.events import Roles
from slackwater.pattern import EMIT, SELECT
from slackwater.query.event.query import event_query
from tests.pattern import harness

START = 1_700_000_000
ROLES = Roles("time", type="type", unit="s")
HOSTILE = {
    "a run": "SEQ(S s, B+ b[], C c)",
    "a run in a loop": "SEQ(S s, (B+ b[])+, C c)",
    "a run that may be empty in a loop": "SEQ(S s, (B* b[])*, C c)",
    "twice the same in a loop": "SEQ(S s, (OR(B b, B d))+, C c)",
    "runs one behind the other": "SEQ(S s, B* b[], B* d[], B* e[], B* f[], C c)",
    "a loop in a loop in a loop": "SEQ(S s, (((B b)+)+)+, C c)",
    "any order": "SEQ(S s, AND(B+ b[], B+ d[]), C c)",
    "a run that must not be": "SEQ(S s, !(B+ b[]), C c) WHERE sum(b.v) > 1000",
    "until": "SEQ(S s, (B+ b[])+ UNTIL X x, C c)",
}


def events(first: int, bs: int) -> list[dict[str, Any]]:
    rows = [("S", first), *(("B", first + 1 + i) for i in range(bs)), ("C", first + 1 + bs)]
    return [{"type": kind, "time": START + time, "v": 1} for kind, time in rows]


@pytest.mark.parametrize("select", SELECT)
@pytest.mark.parametrize("emit", EMIT)
@pytest.mark.parametrize("name", HOSTILE)
def test_the_stream_goes_on(name: str, emit: str, select: str) -> None:
    """Sixteen events would take 2¹⁶ ways and more; two, later on, are matched as ever."""
    kernel = event_query(f"EVENT {HOSTILE[name]} WITHIN 30 s", ROLES, slack="1 s", emit=emit,
                         select=select, max_matches=30, timed_out=True)
    few = harness.run(kernel, events(200, 2)).counts()
    logic = kernel.start()
    outs = []
    for row in [*events(0, 16), *events(200, 2)]:  # one by one: what is too much comes again
        outs.append(logic.push(harness.batch([row])))
        logic = kernel.restore(logic.snapshot()) if row["type"] == "C" else logic
    outs.append(logic.finish())
    tally = harness.Tally()
    for out in outs:
        tally.add(out)
        for refused in out.quarantined.to_pylist():
            assert "max_matches" in refused["_reason"]
    assert few or (select == "strict" and "must not" in name), "there is something to be found"
    assert few <= tally.counts(), "the stream goes on"


@pytest.mark.parametrize("emit", EMIT)
def test_many_starts_share_what_an_event_may_cost(emit: str) -> None:
    """Each start is far below the limit, all of them together are not."""
    kernel = event_query("EVENT SEQ(B a, B+ b[], C c) WITHIN 60 s", ROLES, slack="1 h", emit=emit,
                         select="branching", max_matches=40)
    rows = [{"type": "B", "time": START + i} for i in range(60)]
    rows.append({"type": "C", "time": START + 61})
    tally = harness.run(kernel, rows)
    # with final output each start is looked at alone, with eager output an arrival asks for all
    assert (len(tally.standing) > 0) == (emit == "final")
