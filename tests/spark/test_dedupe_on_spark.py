"""Dedupe gives the same rows in-process, on Spark batch and streaming, and in a pipeline."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from slackwater import Roles
from slackwater.dedupe import Dedupe
from slackwater.pipeline import load
from slackwater.spark import dedupe
from slackwater.spark.run import run_pipeline
from spark_feed import expected, fates, feed, write_files
from test_reorder_on_spark import drain, stream, utc


def sent_twice(rows: int) -> pa.Table:
    """A feed in which a tenth of the rows comes again, a little or much later."""
    table = feed(rows, keys=3)
    rng = np.random.default_rng(5)
    again = np.sort(rng.choice(rows, rows // 10, replace=False))
    late = rng.choice([200, 90_000, 20_000_000], len(again))
    copies = table.take(pa.array(again))
    at = table.schema.get_field_index("arrival")
    stamps = pa.array(np.asarray(copies["arrival"].cast(pa.int64())) + late)
    copies = copies.set_column(at, "arrival", stamps.cast(pa.timestamp("us", "UTC")))
    whole = pa.concat_tables([table, copies])
    whole = whole.append_column("id", whole["row"].cast(pa.string()))
    whole = whole.set_column(0, "row", pa.array(range(whole.num_rows)))
    return whole.sort_by([("arrival", "ascending"), ("row", "ascending")])


def test_batch_and_streaming_equal_the_kernel(spark, tmp_path):
    table = sent_twice(2000)
    write_files(table, tmp_path / "in", files=4)
    kernel = Dedupe(Roles("time", "arrival", key=("key", "id")), within="1 s")
    options = {"arrival": "arrival", "within": "1 s"}
    found = expected(kernel, table, finish=True)
    assert sum(len(rows) for (_, status), rows in found.items() if status == "late") > 100

    batch = dedupe(spark.read.parquet(str(tmp_path / "in")), ["key", "id"], **options)
    assert in_order(utc(batch.collect())) == in_order_of(found)

    df = stream(spark, tmp_path / "in", maxFilesPerTrigger=1)
    out = drain(df.transform(dedupe, ["key", "id"], **options), "once", spark, tmp_path)
    assert in_order(utc(out.collect())) == in_order_of(found)


def in_order(rows) -> dict:
    """What became of rows; ids of one key are in several shards."""
    return in_order_of(fates(rows))


def in_order_of(found: dict) -> dict:
    return {name: sorted(rows) for name, rows in found.items()}


TEXT = """
name: once
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1,
        columns: {row: long, time: timestamp, arrival: timestamp, key: string, value: double,
                  id: string}}
steps:
  once: {dedupe: raw, by: [key, id], within: 30 s, arrival: arrival}
  clean: {reorder: once, policy: "static(buffer=2 s)", by: [key]}
  again: {dedupe: clean, by: [id]}
  counts: {query: "SELECT key, COUNT(*) AS n, window_end FROM again [RANGE 5 s, SLIDE 5 s]
                   GROUP BY key"}
sinks:
  clean: {from: clean, kind: json, path: out/clean}
  twice: {from: once.late, kind: json, path: out/twice}
  bad: {from: once.quarantined, kind: json, path: out/bad}
  late: {from: clean.late, kind: json, path: out/late}
  more: {from: again.late, kind: json, path: out/more}
  counts: {from: counts, kind: json, path: out/counts}
  lost: {from: counts.late, kind: json, path: out/lost}
"""


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("batch_id=*/part-*"))
            for line in file.read_text().splitlines()]


def test_a_pipeline_counts_each_event_once(spark, tmp_path):
    table = sent_twice(2000)
    write_files(table, tmp_path / "in", files=4)
    file = tmp_path / "pipeline.yaml"
    file.write_text(TEXT)
    run_pipeline(load(file), spark, until_done=True)
    out = {name: rows_of(tmp_path / "out" / name)
           for name in ("clean", "twice", "bad", "late", "more", "counts", "lost")}
    seen = [row["row"] for name in ("clean", "twice", "bad", "late") for row in out[name]]
    assert sorted(seen) == list(range(table.num_rows)), "each row has one fate"
    ids = [row["id"] for row in out["clean"]]
    assert len(ids) == len(set(ids)) > 1500
    assert len(out["twice"]) > 100
    assert "duplicate" in out["twice"][0]["_reason"]
    assert out["more"] == [], "what is left has no duplicates"
    assert out["lost"] == [], "what is in order in one step is never late in the next"
    assert sum(row["n"] for row in out["counts"]) == len(ids)
