"""Spark's Python processes start from the installed PySpark, and not from a zip."""

from __future__ import annotations

import os
from pathlib import Path

import pyspark

from slackwater.spark.session.home import light_home


def test_a_home_of_links_without_the_zip(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("SPARK_HOME", raising=False)
    light_home()
    home = Path(os.environ["SPARK_HOME"])
    assert home.is_relative_to(tmp_path)
    assert (home / "jars").resolve() == (Path(pyspark.__file__).parent / "jars").resolve()
    assert not (home / "python").exists()
    light_home()
    assert os.environ["SPARK_HOME"] == str(home)


def test_a_home_that_somebody_chose_stays(monkeypatch):
    monkeypatch.setenv("SPARK_HOME", "/opt/spark")
    light_home()
    assert os.environ["SPARK_HOME"] == "/opt/spark"


def test_workers_load_no_zip(spark):
    def paths(batches):
        import pyarrow as pa
        import pyspark

        for _ in batches:
            yield pa.record_batch({"path": [pyspark.__file__]})

    rows = spark.range(1).mapInArrow(paths, "path string").collect()
    assert ".zip" not in rows[0].path
