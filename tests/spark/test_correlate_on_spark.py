"""Correlate finds on Spark exactly the pairs that it finds in-process, each once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.errors import UnknownColumn
from slackwater.correlate import correlate_tables
from slackwater.spark import correlate, ready
from spark_feed import START, write_files
from test_reorder_on_spark import drain, stream

STAMP = pa.timestamp("us", "UTC")


def side(rows: int, seed: int) -> pa.Table:
    """Intervals of 20 to 200 ms over 40 s, in order of arrival, up to 3 s after their end."""
    rng = np.random.default_rng(seed)
    first = START + rng.integers(0, 40_000_000, rows)
    last = first + rng.integers(20_000, 200_000, rows)
    arrival = last + rng.integers(0, 3_000_000, rows)
    order = np.argsort(arrival, kind="stable")
    columns = {"time_min": first, "time_max": last, "arrival": arrival}
    return pa.table({"row": np.arange(rows), "room": [f"r{i}" for i in rng.integers(0, 3, rows)],
                     **{n: pa.array(c[order]).cast(STAMP) for n, c in columns.items()}})


@pytest.fixture(scope="module")
def sides(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sides")
    tables = side(900, 1), side(800, 2)
    for table, name in zip(tables, ("left", "right"), strict=True):
        write_files(table, folder / name, files=3)
    return tables, folder


@pytest.mark.parametrize("by", [(), ("room",)], ids=["buckets", "keys"])
def test_batch_and_streaming_find_the_same_pairs(spark, tmp_path, sides, by):
    (left, right), folder = sides
    options = {"within": "300ms", "confidence": 0.7, "by": by}
    truth = correlate_tables(left, right, **options)
    expected = sorted(zip(truth["row_left"].to_pylist(), truth["row_right"].to_pylist(),
                          strict=True))
    assert len(expected) > 500

    def pairs(df):
        return sorted((r["row_left"], r["row_right"]) for r in ready(df).collect())

    more = {**options, "arrival": "arrival", "longest": "200ms", "max_delay": "4s"}
    batch = correlate(*(spark.read.parquet(str(folder / s)) for s in ("left", "right")), **more)
    assert pairs(batch) == expected
    df = correlate(*(stream(spark, folder / s, maxFilesPerTrigger=1) for s in ("left", "right")),
                   **more)
    out = drain(df, f"pairs_{len(by)}", spark, tmp_path)
    assert pairs(out) == expected
    assert out.where("_status <> 'ready'").count() == 0


def test_late_rows_come_whole_and_once(spark, tmp_path, sides):
    _, folder = sides
    df = correlate(*(stream(spark, folder / s, maxFilesPerTrigger=1) for s in ("left", "right")),
                   within="300ms", arrival="arrival", longest="200ms", max_delay="1s")
    out = drain(df, "late_pairs", spark, tmp_path).where("_status = 'late'")
    rows = [r["_right_row"]["row"] for r in out.collect() if r["_right_row"] is not None]
    assert len(rows) > 100
    assert len(rows) == len(set(rows))


def test_mistakes_are_told_before_anything_runs(spark):
    df = spark.createDataFrame([], "time_min timestamp, time_maxi timestamp")
    with pytest.raises(UnknownColumn, match="did you mean 'time_maxi'"):
        correlate(df, df, within="1s")
