"""Operators on DataFrames: restarts that name what changed, ties, zones, workers without a package.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from parts.drain import drain as drain_from
from pyspark import cloudpickle
from pyspark.errors import StreamingQueryException

from slackwater.spark import reorder
from slackwater.spark.runner.packing import Target, pack
from slackwater.spark.runner.shipped import shipped
from spark_feed import fates, feed, write_files, write_parts
from test_reorder_on_spark import drain, stream, utc


def rows_of(df, folder):
    """What a run gives that goes on from the folder's checkpoint."""
    return [row for batch in drain_from(df, folder / "checkpoint") for row in batch]


def test_a_restart_without_by_names_the_keys(spark, tmp_path):
    write_files(feed(300), tmp_path / "in", files=2)
    source = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    rows_of(reorder(source, "Static", arrival="arrival", by="key"), tmp_path)
    write_files(feed(300), tmp_path / "in2", files=1)
    (tmp_path / "in2" / "0000.parquet").rename(tmp_path / "in" / "0009.parquet")
    with pytest.raises(StreamingQueryException, match="the key columns have changed") as told:
        rows_of(reorder(source, "Static", arrival="arrival"), tmp_path)
    assert "['key']" in str(told.value)


def test_quiet_may_come_and_go(spark, tmp_path):
    write_files(feed(300, poison=False), tmp_path / "in", files=3)
    source = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    seen = 0
    for turn, quiet in enumerate((None, "5 s", None)):
        if turn:
            write_files(feed(100, poison=False), tmp_path / "more", files=1)
            (tmp_path / "more" / "0000.parquet").rename(tmp_path / "in" / f"9{turn}.parquet")
        seen += len(rows_of(reorder(source, "Static(buffer=0s)", arrival="arrival", by="key",
                                    quiet=quiet), tmp_path))
    assert seen >= 400, "rows of each run came out"


def test_ties_of_one_arrival_go_by_file_however_the_input_is_cut(spark, tmp_path):
    table = feed(3000, keys=2, poison=False)
    coarse = pc.multiply(pc.divide(table["arrival"].cast(pa.int64()), 700_000), 700_000)
    table = table.set_column(2, "arrival", coarse.cast(pa.timestamp("us", "UTC")))
    sizes = np.random.default_rng(3).integers(20, 400, 60).cumsum()
    edges = [0, *sizes[sizes < 3000].tolist(), 3000]
    write_parts([table.slice(a, b - a) for a, b in pairwise(edges)], tmp_path / "in")
    found = []
    for files in (1, 5, 20):
        source = stream(spark, tmp_path / "in", maxFilesPerTrigger=files).select("*")
        out = drain(reorder(source, "Static(buffer=0s)", arrival="arrival", by="key", quiet=None),
                    f"cut{files}", spark, tmp_path)
        assert "_position" not in out.columns
        found.append(fates(utc(out.collect())))
    assert sum(len(rows) for rows in found[0].values()) > 2000
    assert found[0] == found[1] == found[2]


def test_a_column_may_be_added_while_rows_are_held(spark, tmp_path):
    table = feed(400, poison=False)
    write_files(table.slice(0, 200), tmp_path / "in", files=2)
    options = {"arrival": "arrival", "by": "key", "quiet": None}
    old = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    first = len(rows_of(reorder(old, "Static(buffer=1s)", **options), tmp_path))
    assert first < 200, "rows are held"
    more = table.slice(200).append_column("site", pa.array(["north"] * 200))
    write_files(more, tmp_path / "more", files=1)
    (tmp_path / "more" / "0000.parquet").rename(tmp_path / "in" / "0009.parquet")
    schema = old.schema.add("site", "string")
    new = spark.readStream.schema(schema).parquet(str(tmp_path / "in"))
    out = rows_of(reorder(new, "Static(buffer=1s)", **options), tmp_path)
    assert {r.site for r in out if r.row < 200} == {None}
    assert {r.site for r in out if r.row >= 200} == {"north"}
    assert len(out) > 200 - first, "what was held has left, and more"


def test_a_zone_that_times_do_not_have(spark, tmp_path):
    schema = "time timestamp_ntz, arrival timestamp, key string"
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "Europe/Vienna")
    try:
        with pytest.warns(UserWarning, match=r"'time' \(timestamp_ntz\) has no zone of its own"):
            reorder(spark.createDataFrame([], schema), arrival="arrival")
        with pytest.warns(UserWarning, match=r"'time' \(text\) .* zone is Europe/Vienna"):
            reorder(spark.createDataFrame([], schema.replace("timestamp_ntz", "string")),
                    arrival="arrival")
        reorder(spark.createDataFrame([], schema.replace("_ntz", "")), arrival="arrival")
    finally:
        spark.conf.set("spark.sql.session.timeZone", zone)
    reorder(spark.createDataFrame([], schema), arrival="arrival")


def test_a_worker_without_the_package_says_what_to_do(tmp_path):
    schema = pa.schema([("time", pa.int64())])
    function = shipped(pack(schema, (Target("step", 0, (0,)),)))
    batch = pa.record_batch({"time": [1, 2]})
    (packed,) = function(iter([batch]))
    assert packed.num_rows == 1, "where the package is, it does its work"
    (tmp_path / "function").write_bytes(cloudpickle.dumps(function))
    code = ("import pickle, sys; sys.modules['slackwater'] = None; "
            f"run = pickle.load(open({str(tmp_path / 'function')!r}, 'rb')); list(run([]))")
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60,
                          check=False).stderr
    assert "No module named 'slackwater' where this worker runs" in said
    assert sys.executable in said
    assert "docs/deployment.md" in said
    assert pickle.loads(cloudpickle.dumps(function)) is not None
