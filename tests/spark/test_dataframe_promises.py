"""Operators on DataFrames: zones that times do not have, workers without the package."""

from __future__ import annotations

import pickle
import subprocess
import sys

import pyarrow as pa
import pytest
from pyspark import cloudpickle

from slackwater.spark import reorder
from slackwater.spark.packing import Target, pack
from slackwater.spark.shipped import shipped


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
