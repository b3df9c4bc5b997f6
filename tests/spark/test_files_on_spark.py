"""What --engine spark runs: a whole table, whatever its columns are called."""

from __future__ import annotations

import pyarrow as pa

from slackwater import Reorder, Roles
from slackwater.evaluate.run import reorder_table
from slackwater.spark.files import run_table
from spark_feed import feed


def test_names_with_dots_and_nanoseconds(spark):
    table = feed(300)
    table = table.set_column(1, "S.time", table["time"].cast(pa.timestamp("ns", "UTC")))
    table = table.rename_columns(["row", "S.time", "S.arrival", "S.key", "value"])
    kernel = Reorder("KSlack(initial=100ms)", Roles("S.time", "S.arrival", key=("S.key",)))
    for there, here in zip(run_table(table, kernel, spark), reorder_table(table, kernel),
                           strict=True):
        assert sorted(there["row"].to_pylist()) == sorted(here["row"].to_pylist())
