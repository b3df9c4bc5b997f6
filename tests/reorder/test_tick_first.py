"""Time may pass before the first row comes: a step that follows another is told so."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater import Reorder, Roles

STAMP = pa.timestamp("us", "UTC")
AT = 1_700_000_000_000_000


@pytest.mark.parametrize("key", [(), ("k",)])
@pytest.mark.parametrize("leads", [False, True])
@pytest.mark.parametrize("policy", ["Static(buffer=1s)", "KSlack()", "bsttda(n=20)"])
def test_a_tick_before_the_first_row_changes_nothing(policy, key, leads):
    kernel = Reorder(policy, Roles("time", "arrival", key=key))
    row = pa.RecordBatch.from_pydict({"time": pa.array([AT]).cast(STAMP),
                                      "arrival": pa.array([AT]).cast(STAMP), "k": ["a"]})
    found = []
    for ticked in (False, True):
        logic = kernel.start()
        if leads:
            logic.lead(0, shared=False)
        if ticked:
            assert logic.tick(AT - 1).ready.num_rows == 0
        outs = [logic.push(row), logic.tick(AT + 10_000_000), logic.finish()]
        found.append([out.ready.to_pylist() for out in outs])
    assert found[0] == found[1]
