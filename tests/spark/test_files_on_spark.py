"""What --engine spark runs: a whole table, whatever its columns are called."""

from __future__ import annotations

import pyarrow as pa

from slackwater import Reorder, Roles
from slackwater.cli.engines import engine_named
from slackwater.cli.options import EngineName
from slackwater.evaluate.run import reorder_table
from slackwater.query import make_query
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


def test_a_select_gives_what_it_gives_in_process(spark):
    table = feed(2_000)
    text = ("SELECT key, COUNT(*) AS n, MAX(value) AS top "
            "FROM feed [RANGE 400 milliseconds, SLIDE 200 milliseconds] "
            "WHERE value > -2 GROUP BY key")
    kernel = make_query(text, table.schema, Roles("time", "arrival"), slack="150ms")
    logic = kernel.start()
    outs = [*(logic.push(batch) for batch in table.combine_chunks().to_batches()), logic.finish()]
    ready, late, quarantined = engine_named(EngineName.spark)(table, kernel, spark)
    here = [row for out in outs for row in out.ready.to_pylist()]
    assert here
    assert sorted(map(str, ready.to_pylist())) == sorted(map(str, here))
    for there, part in ((late, "late"), (quarantined, "quarantined")):
        rows = [row for out in outs for row in getattr(out, part)["row"].to_pylist()]
        assert rows
        assert sorted(there["row"].to_pylist()) == sorted(rows)
