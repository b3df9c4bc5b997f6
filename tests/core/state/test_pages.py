"""Pages against plain lists: any save and load, rows that become fresh again, lazy loading."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from watched import Watched

from slackwater.core.errors import SnapshotError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Pages

POINT = np.dtype([("time", "i8"), ("open", "?"), ("pair", "f4", (2,))], align=True)


def columns():
    fresh = np.zeros((), POINT)
    fresh["time"], fresh["pair"] = -1, (np.nan, 0.5)
    return {"last": np.int64(-1), "vector": np.full(3, np.nan), "point": fresh}


def resumed(table, store, **options):
    meta = json.loads(json.dumps(table.save()))
    again = Pages(table.name, columns(), store, **options)
    again.load(meta)
    return again


def test_new_rows_are_fresh():
    table = Pages("t", columns(), MemoryStore())
    table.grow(5)
    assert table["last"].tolist() == [-1] * 5
    assert table["vector"].shape == (5, 3)
    assert np.isnan(table["vector"]).all()
    assert table["point"]["time"].tolist() == [-1] * 5
    assert table["point"]["pair"][:, 1].tolist() == [0.5] * 5
    table.grow(3)
    assert table.rows == 5


def test_records_survive_a_snapshot():
    store = MemoryStore()
    table = Pages("t", columns(), store)
    table.grow(4)
    table.touch(np.array([2]))
    table["point"][2] = (9, True, (1, 2))
    again = resumed(table, store)
    again.need_all()
    assert again["point"].dtype == POINT
    assert again["point"]["open"].tolist() == [False, False, True, False]
    assert again["point"]["pair"][2].tolist() == [1.0, 2.0]
    assert again["point"]["time"].tolist() == [-1, -1, 9, -1]


ACTION = st.one_of(
    st.tuples(st.just("grow"), st.integers(0, 40)),
    st.tuples(st.just("write"), st.lists(st.integers(0, 1000), max_size=6)),
    st.tuples(st.just("reset"), st.lists(st.integers(0, 1000), max_size=6)),
    st.tuples(st.just("resume"), st.none()),
    st.tuples(st.just("save"), st.none()),
)


@given(st.lists(ACTION, max_size=30), st.sampled_from([1, 100, 1000]))
def test_against_lists(actions, page_bytes):
    store = MemoryStore()
    table = Pages("t", columns(), store, page_bytes=page_bytes)
    last: list = []
    for step, (what, given_) in enumerate(actions):
        if what == "resume":
            table = resumed(table, store, page_bytes=page_bytes)
        elif what == "save":
            table.save()
        elif what == "grow":
            table.grow(len(last) + given_)
            last += [-1] * given_
        elif last:
            rows = np.unique(np.array(given_, np.int64) % len(last))
            if what == "reset":
                table.reset(rows)
            else:
                table.touch(rows)
                table["last"][rows] = step
                table["point"]["time"][rows] = step
            for row in rows.tolist():
                last[row] = -1 if what == "reset" else step
        assert table.rows == len(last)
    some = np.arange(0, len(last), 3)
    table.need(some)
    assert table["last"][some].tolist() == last[::3]
    table.need_all()
    assert table["last"].tolist() == last
    assert table["point"]["time"].tolist() == last
    assert np.isnan(table["vector"]).all()
    table.save()
    assert bool(store) == any(v != -1 for v in last)


def test_pages_are_sized_by_bytes():
    for width in (1, 1000, 100_000):
        store = MemoryStore()
        table = Pages("t", {"wide": np.zeros(width)}, store)
        rows = max(200_000 // width, 3)
        table.grow(rows)
        table.touch(np.arange(rows))
        table["wide"][:] = 1
        table.save()
        sizes = [len(blob) for blob in store.values()]
        assert sum(sizes) > rows * width * 8
        assert max(sizes) <= max(64 * 1024, width * 8) + 500


def test_only_touched_pages_are_written_and_only_needed_ones_read():
    store = Watched()
    table = Pages("t", {"n": np.int64(0)}, store)
    table.grow(100_000)
    table.save()
    assert store.written == []
    table.touch(np.arange(100_000))
    table["n"][:] = np.arange(100_000)
    meta = table.save()
    assert len(store.written) > 10
    store.written.clear()
    table = Pages("t", {"n": np.int64(0)}, store)
    table.load(meta)
    assert store.read == []
    table.need(np.array([50_000, 50_001]))
    assert len(store.read) == 1
    assert table["n"][50_000] == 50_000
    table.touch(np.array([0]))
    table["n"][0] = 7
    table.grow(100_001)
    table.touch(np.array([100_000]))
    assert len(store.read) == 3
    table["n"][100_000] = 8
    table.save()
    assert len(store.written) == 2
    table.need_all()
    assert table["n"][1:100_000].tolist() == list(range(1, 100_000))
    assert table["n"][100_000] == 8


def test_a_page_of_fresh_rows_leaves_the_store():
    store = MemoryStore()
    table = Pages("t", {"n": np.int64(0), "x": np.float64(np.nan)}, store)
    table.grow(10_000)
    rows = np.arange(10_000)
    table.touch(rows)
    table["n"][:] = 1
    table.save()
    before = len(store)
    table.reset(rows[:5_000])
    table.save()
    assert 0 < len(store) < before
    table.reset(rows)
    table.save()
    assert len(store) == 0


def test_another_layout_is_refused():
    store = MemoryStore()
    table = Pages("t", {"n": np.int64(0)}, store)
    table.grow(1)
    table.touch(np.array([0]))
    table["n"][0] = 1
    meta = table.save()
    for other in ({"n": np.float64(0)}, {"m": np.int64(0)}, {"n": np.zeros(1, np.int64)}):
        table = Pages("t", other, store)
        table.load(meta)
        with pytest.raises(SnapshotError, match="another layout"):
            table.need_all()
