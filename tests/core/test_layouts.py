"""Columns of any Arrow layout: the same rows come out as of the plain one."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events
from slackwater.checks.subject import KINDS, collect, cut
from slackwater.core.errors import DataError
from slackwater.core.layouts import laid_out
from slackwater.dedupe import Dedupe
from slackwater.query.event.query import event_query
from slackwater.query.recognise import RecogniseQuery
from slackwater.query.select.query import SelectQuery
from slackwater.synchronise import FrontierSync, TreeSync
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", "arrival", "source", key=("key",))
STATIC = Reorder("Static(buffer=50ms)", ROLES)
TEXT = ("SELECT key, time, SUM(value) AS total FROM s [RANGE 1 second] "
        "WHERE source <> 's9' GROUP BY key")
RISES = ("SELECT * FROM s MATCH_RECOGNIZE (PARTITION BY key ORDER BY time MEASURES "
         "FIRST(A.row) AS begun, LAST(B.type) AS type PATTERN (A B+) WITHIN 400 ms "
         "DEFINE B AS B.value > LAST(A.value))")
KERNELS = {
    "Reorder": lambda rows: STATIC,
    "FrontierSync": lambda rows: FrontierSync(ROLES, max_delay="200ms"),
    "TreeSync": lambda rows: TreeSync(ROLES, max_delay="200ms"),
    "Dedupe": lambda rows: Dedupe(ROLES, within="100ms"),
    "Windowed": lambda rows: Windowed(STATIC, Window(
        [Aggregate("sum", "value")], range="1s", group=("key",), roles=ROLES)),
    "SelectQuery": lambda rows: SelectQuery(TEXT, rows.schema, ROLES, slack="50ms"),
    "Match": lambda rows: event_query(
        "EVENT SEQ(A x, B y) WHERE x.key = y.key WITHIN 100 milliseconds RETURN x.row, y.key",
        Roles("time", "arrival", type="type"), slack="50ms"),
    "Recognise": lambda rows: RecogniseQuery(RISES, rows.schema, Roles("time", "arrival"),
                                             slack="100ms"),
}


def runs(column: pa.Array) -> pa.Array:
    ends = pa.array(range(1, len(column) + 1), pa.int32())
    return pa.RunEndEncodedArray.from_arrays(ends, column)


LAYOUTS = {
    "string_view": lambda column: column.cast(pa.string_view()),
    "large_string": lambda column: column.cast(pa.large_string()),
    "dictionary": lambda column: column.dictionary_encode(),
    "runs": runs,
}


def laid(rows: pa.RecordBatch, layout) -> pa.RecordBatch:
    """The texts in this layout, a list of texts, and a dictionary of times beside them."""
    for name in ("key", "source", "type"):
        at = rows.schema.names.index(name)
        rows = rows.set_column(at, name, layout(rows[name]))
    return rows


def wide(rows: pa.RecordBatch) -> pa.RecordBatch:
    more = pa.array([["x", str(i)] for i in range(rows.num_rows)], pa.list_(pa.string_view()))
    return rows.append_column("more", more).append_column(
        "received", rows["arrival"].dictionary_encode())


def outcome(kernel, rows: pa.RecordBatch) -> dict:
    logic, outs = kernel.start(), []
    for piece in cut(rows, 37):
        outs.append(logic.push(piece))
        logic = kernel.restore(logic.snapshot())
    return collect([*outs, logic.finish()])


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", KERNELS)
def test_a_layout_changes_no_row(name, layout):
    rows = sample_events(150)
    other = laid(rows, LAYOUTS[layout])
    if name != "Match":  # its results have all columns of its events in one
        other = wide(other)
    found, expected = (outcome(KERNELS[name](r), r) for r in (other, rows))
    assert sum(map(len, expected.values())) > 20
    for kind in KINDS:
        assert [{k: v for k, v in r.items() if k not in ("more", "received")}
                for r in found[kind]] == expected[kind]


def test_a_layout_that_cannot_be_changed_is_refused():
    column = pa.array([["x"]], pa.list_view(pa.string_view()))
    with pytest.raises(DataError, match="'more' is in a layout"):
        laid_out(pa.record_batch({"more": column}))
