"""Matches on Spark through restarts: each is there once, and taken back at most once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa

from spark_feed import START, write_parts

QUERY = ("EVENT SEQ(A a, !(N n), B b) WHERE [key] WITHIN 5 seconds "
         "RETURN a.row AS first, b.row AS last")
PARTS = 6


def events(rows: int = 1800) -> pa.Table:
    rng = np.random.default_rng(8)
    time = START + np.arange(rows) * 20_000
    arrival = time + rng.integers(0, 800_000, rows)
    order = np.argsort(arrival, kind="stable")
    return pa.table({
        "row": np.arange(rows)[order],
        "time": pa.array(time[order], pa.timestamp("us", "UTC")),
        "arrival": pa.array(np.sort(arrival) + np.arange(rows), pa.timestamp("us", "UTC")),
        "type": rng.choice(["A", "B", "N"], rows, p=[0.45, 0.45, 0.1]),
        "key": [f"k{k}" for k in rng.integers(0, 12, rows)],
    })


def test_restarts_and_a_batch_that_runs_twice(spark, tmp_path):
    from slackwater.spark import match

    table = events()
    size = table.num_rows // PARTS
    parts = [table.slice(i * size, size) for i in range(PARTS)]
    source, out, checkpoint = (tmp_path / n for n in ("in", "out", "checkpoint"))
    write_parts(parts[:1], source)
    schema = spark.read.parquet(str(source)).schema

    def run() -> None:
        df = (spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
              .parquet(str(source)))
        found = match(df, QUERY, arrival="arrival", slack="1s", emit="eager", quiet=None)
        query = (found.writeStream.format("parquet").option("path", str(out))
                 .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
        query.awaitTermination(120)
        assert query.exception() is None

    for upto in (1, 3, 5, 6):
        write_parts(parts[:upto], source)
        run()
        if upto == 5:
            # a crash after the sink's commit and before the query's: the batch runs again
            commits = checkpoint / "commits"
            last = max(int(f.name) for f in commits.iterdir() if f.name.isdigit())
            for file in (commits / str(last), commits / f".{last}.crc"):
                file.unlink(missing_ok=True)
    rows = [r for r in spark.read.parquet(str(out)).collect() if r["_status"] == "ready"]
    ops = Counter((r["match_id"], r["op"]) for r in rows)
    assert max(ops.values()) == 1, "nothing twice"
    assert any(op == "-" for _, op in ops), "some matches were taken back"
    net = {m for m, op in ops if op == "+"} - {m for m, op in ops if op == "-"}
    at_once = match(spark.createDataFrame(table.to_pandas()), QUERY, arrival="arrival",
                    slack="1s").collect()
    final = {r["match_id"] for r in at_once if r["_status"] == "ready"}
    assert net == final
    assert len(final) > 50
