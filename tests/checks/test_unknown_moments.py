"""Rows without a readable arrival: handed out, and nobody makes up when they came."""

import datetime as dt

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query.event.query import event_query
from slackwater.reorder import Reorder
from slackwater.synchronise import FrontierSync

STAMP = pa.timestamp("us", "UTC")
NOON = dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC)
ROLES = Roles("time", "arrival", source="source", type="source")


@pytest.mark.parametrize("kernel", [
    Reorder("Static(buffer=1s)", ROLES), FrontierSync(ROLES),
    event_query("EVENT SEQ(a x, b y) WITHIN 5 seconds RETURN x.time", ROLES)],
    ids=["reorder", "synchronise", "match"])
def test_a_row_that_nobody_knows_the_arrival_of(kernel):
    rows = pa.record_batch({
        "time": pa.array([NOON, None, NOON, None], STAMP),
        "arrival": pa.array([NOON, NOON, None, None], STAMP), "source": ["a", "b", "a", "b"]})
    out = kernel.start().push(rows).quarantined
    assert out.column("_released").to_pylist() == [NOON, None, None]
    assert [bool(reason) for reason in out.column("_reason").to_pylist()] == [True] * 3
