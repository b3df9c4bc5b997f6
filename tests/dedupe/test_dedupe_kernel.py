"""Dedupe against an oracle: any arrival order, any cut, any restart."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater import Roles
from slackwater.core.errors import ConfigError, SnapshotError, UnknownColumn
from slackwater.core.kernel import MemoryStore
from slackwater.dedupe import Dedupe

START = 1_700_000_000_000_000
STAMP = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("row", pa.int64()), ("time", STAMP), ("arrival", STAMP),
                    ("id", pa.string()), ("host", pa.string())])
ROLES = Roles("time", "arrival", key=("host", "id"))


def oracle(rows, within):
    """The rows that are duplicates: one with an equal id came before, no longer than `within`."""
    found = set()
    for at, row in enumerate(rows):
        if row["id"] is None or row["host"] is None:
            continue
        found |= {row["row"] for other in rows[:at]
                  if (other["id"], other["host"]) == (row["id"], row["host"])
                  and row["arrival"] - other["arrival"] <= within}
    return found


def rows_of(gaps):
    """Rows in arrival order, so many microseconds after each other."""
    arrival, rows = START, []
    for at, (gap, delay, one, host) in enumerate(gaps):
        arrival += gap
        rows.append({"row": at, "time": arrival - delay, "arrival": arrival, "id": one,
                     "host": host})
    return rows


def batch_of(rows):
    return pa.RecordBatch.from_pylist(rows, SCHEMA)


GAPS = st.lists(st.tuples(st.sampled_from([0, 1, 500, 1_000, 1_001, 40_000]),
                          st.integers(0, 90_000), st.sampled_from(["a", "b", "c", "d", None]),
                          st.sampled_from(["x", "y", None])), max_size=40)


@given(GAPS, st.lists(st.integers(0, 40), max_size=5), st.lists(st.booleans(), max_size=6))
def test_any_order_cut_and_restart_equal_the_oracle(gaps, cuts, restarts):
    rows = rows_of(gaps)
    kernel, store = Dedupe(ROLES, within="1ms"), MemoryStore()
    logic, kept, gone = kernel.start(store), [], []
    edges = [0, *sorted(min(c, len(rows)) for c in cuts), len(rows)]
    for i, (first, last) in enumerate(pairwise(edges)):
        if i < len(restarts) and restarts[i]:
            logic = kernel.restore(logic.snapshot(), store)
        if 0 < first < len(rows) and i % 2:
            logic.tick(rows[first]["arrival"])
        out = logic.push(batch_of(rows[first:last]))
        assert out.quarantined.num_rows == 0
        kept += out.ready["row"].to_pylist()
        gone += out.late["row"].to_pylist()
    assert len(logic.finish()) == 0, "nothing is held back"
    assert set(gone) == oracle(rows, 1000)
    assert kept == [row["row"] for row in rows if row["row"] not in set(gone)], "in their order"


def test_a_duplicate_says_so_and_passes_nothing_on():
    rows = rows_of([(0, 0, "a", "x"), (10, 0, "a", "x"), (10, 0, "a", "y")])
    out = Dedupe(ROLES, within="10 minutes").start().push(batch_of(rows))
    assert out.ready["row"].to_pylist() == [0, 2]
    assert out.late.to_pylist()[0]["_reason"] == \
        "duplicate: a row with this id arrived before, within 10m"
    assert out.notes["held"] == 0
    assert out.notes["keys"] == 2


def test_ids_are_forgotten_with_time():
    kernel, store = Dedupe(ROLES, within="1 s"), MemoryStore()
    logic, sizes = kernel.start(store), []
    for lap in range(12):
        rows = [{"row": i, "time": START + lap * 10_000_000, "host": "x",
                 "arrival": START + lap * 10_000_000, "id": f"{lap} {i}"} for i in range(5000)]
        assert logic.push(batch_of(rows)).ready.num_rows == 5000
        sizes.append(len(logic.snapshot()) + sum(map(len, store.values())))
    assert sizes[-1] <= 1.5 * max(sizes[1:3]), sizes


def test_within_may_change_over_a_restart_the_id_may_not():
    logic = Dedupe(ROLES, within="1 s").start()
    logic.push(batch_of(rows_of([(0, 0, "a", "x")])))
    again = Dedupe(ROLES, within="1 minute").restore(logic.snapshot())
    later = rows_of([(0, 0, "b", "x"), (30_000_000, 0, "a", "x")])
    assert again.push(batch_of(later)).late["row"].to_pylist() == [1]
    with pytest.raises(SnapshotError, match="the key columns have changed"):
        Dedupe(Roles("time", "arrival", key=("id",)), within="1 s").restore(logic.snapshot())


def test_mistakes_are_told():
    with pytest.raises(ConfigError, match="needs the columns of the id"):
        Dedupe(Roles("time", "arrival"))
    with pytest.raises(ConfigError, match="within"):
        Dedupe(ROLES, within="0 s")
    with pytest.raises(UnknownColumn, match="host"):
        Dedupe(ROLES).start().push(batch_of([]).drop_columns(["host"]))
