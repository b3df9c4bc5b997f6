"""A Delta table as a stream: what it has, then what is added, each row once."""

from __future__ import annotations

import datetime as dt
from functools import partial

import pyarrow as pa
import pytest
from parts.drain import drain

from slackwater.core.errors import ConfigError
from slackwater.pipeline.connectors import DeltaSource
from slackwater.spark.sources import read_source

deltalake = pytest.importorskip("deltalake")


def add(path, first, rows, **more):
    """Rows with running numbers, in folders by their last digit."""
    numbers = list(range(first, first + rows))
    table = pa.table({
        "n": numbers, "kind": [f"k {n % 2}" for n in numbers],
        "time": pa.array([1_700_000_000_000_000 + n for n in numbers]).cast(
            pa.timestamp("us", "UTC")),
        "tags": [[str(n)] for n in numbers], **{name: [value] * rows for name, value in
                                               more.items()}})
    deltalake.write_deltalake(path, table, mode="append", partition_by=["kind"],
                              schema_mode="merge" if more else None)


def rows_of(batches):
    return [[r.n for r in sorted(batch, key=lambda r: r.n)] for batch in batches]


def test_rows_are_read_once_over_restarts_and_again_on_replay(spark, tmp_path):
    table, checkpoint = str(tmp_path / "table"), tmp_path / "checkpoint"
    begun = dt.datetime.now(dt.UTC).replace(tzinfo=None) - dt.timedelta(seconds=1)
    add(table, 0, 4)
    add(table, 4, 4)
    source = DeltaSource(table, max_rows=4)
    batches = drain(partial(read_source, spark, source, placed=True), checkpoint)
    assert sorted(n for batch in rows_of(batches) for n in batch) == list(range(8))
    assert len(batches) == 2, "whole files, as many as have four rows"
    found = [r for batch in batches for r in batch]
    assert all(r.kind == f"k {r.n % 2}" and r.tags == [str(r.n)] and r._raw is None for r in found)
    assert all(begun <= r._arrival <= begun + dt.timedelta(minutes=5) for r in found)
    assert len({r._position for r in found}) == 4, "each file has a place"
    # what was put together anew has been read already; what is added is new
    add(table, 8, 2)
    deltalake.DeltaTable(table).optimize.compact()
    add(table, 10, 2)
    later = drain(partial(read_source, spark, source), checkpoint)
    assert sorted(n for batch in rows_of(later) for n in batch) == [8, 9, 10, 11]
    # as after a crash before the commit
    last = max(int(f.name) for f in (checkpoint / "commits").glob("[0-9]*"))
    for file in (checkpoint / "commits").glob(f"*{last}*"):
        file.unlink()
    assert rows_of(drain(partial(read_source, spark, source), checkpoint)) == rows_of(later[-1:])
    # one that starts late has only what comes after its first look
    late = DeltaSource(table, starting="latest")
    assert drain(partial(read_source, spark, late), tmp_path / "late") == []
    add(table, 12, 1)
    assert rows_of(drain(partial(read_source, spark, late), tmp_path / "late")) == [[12]]


def test_columns_that_come_later_are_null_before(spark, tmp_path):
    table = str(tmp_path / "table")
    add(table, 0, 2)
    add(table, 2, 2, site="north")
    (rows,) = drain(partial(read_source, spark, DeltaSource(table)), tmp_path / "checkpoint")
    assert sorted((r.n, r.site) for r in rows) == [(0, None), (1, None), (2, "north"),
                                                   (3, "north")]


def test_rows_that_go_end_the_query(spark, tmp_path):
    table = str(tmp_path / "table")
    add(table, 0, 4)
    source = DeltaSource(table)
    drain(partial(read_source, spark, source), tmp_path / "checkpoint")
    deltalake.DeltaTable(table).delete("n = 2")
    with pytest.raises(Exception, match="version 1 of the table deletes or rewrites rows"):
        drain(partial(read_source, spark, source), tmp_path / "checkpoint")
    assert sorted(r.n for batch in drain(partial(read_source, spark, source), tmp_path / "anew")
                  for r in batch) == [0, 1, 3]


def test_a_table_that_is_not_there_is_told_before_anything_runs(spark, tmp_path):
    with pytest.raises(ConfigError, match="there is no Delta table"):
        read_source(spark, DeltaSource(str(tmp_path / "none")))
