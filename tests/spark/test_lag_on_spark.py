"""On Spark too: the same rows are late live, an hour late at full speed, and in slow batches."""

from __future__ import annotations

import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from slackwater.spark import reorder
from spark_feed import write_parts

FILES = 8


def live_feed() -> list[pa.Table]:
    """Half a second of arrivals per file, from now on; keys fall silent in between."""
    rng = np.random.default_rng(8)
    begin = time.time_ns() // 1000
    parts = []
    for i in range(FILES):
        rows = 150
        arrival = begin + i * 500_000 + np.sort(rng.integers(0, 500_000, rows))
        delay = rng.exponential(40_000, rows) + np.where(rng.random(rows) < 0.1, 700_000, 0)
        keys = rng.integers(0, 4, rows) if i % 3 else np.zeros(rows, int)
        parts.append(pa.table({
            "row": np.arange(rows) + i * rows,
            "time": pa.array(arrival - delay.astype(np.int64)).cast(pa.timestamp("us", "UTC")),
            "arrival": pa.array(arrival).cast(pa.timestamp("us", "UTC")),
            "key": [f"k{k}" for k in keys]}))
    return parts


def late_rows(spark, folder, tmp_path, name, *, slow=0.0, writer=None, available=True):
    """Run the query until all files have been read, and give the rows that were late."""
    schema = "row bigint, time timestamp, arrival timestamp, key string"
    source = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(folder))
    df = reorder(source, "MeanPlusRange(n=40, offset=5ms)", arrival="arrival", by="key",
                 quiet="3s")
    found, ready = [], []

    def take(batch, _):
        rows = batch.select("row", "_status").collect()
        found.extend(r["row"] for r in rows if r["_status"] == "late")
        ready.extend(r["row"] for r in rows if r["_status"] != "late")
        time.sleep(slow)

    write = df.writeStream.foreachBatch(take).option("checkpointLocation", str(tmp_path / name))
    if available:
        write.trigger(availableNow=True).start().awaitTermination()
        return sorted(found)
    query = write.trigger(processingTime="0 seconds").start()
    if writer is not None:
        writer()
    for _ in range(240):  # the ticks let everything leave once the input has caught up
        if len(found) + len(ready) >= FILES * 150 or query.exception():
            break
        time.sleep(0.25)
    query.stop()
    assert len(found) + len(ready) == FILES * 150
    return sorted(found)


def test_late_rows_do_not_depend_on_the_readers_pace(spark, tmp_path):
    parts = live_feed()
    begin = time.monotonic()
    live = tmp_path / "live"
    live.mkdir()

    def write():
        for i, part in enumerate(parts):
            time.sleep(max(0.0, begin + 0.5 * (i + 1) - time.monotonic()))
            pq.write_table(part, tmp_path / "part")
            (tmp_path / "part").rename(live / f"{i:04}.parquet")

    thread = threading.Thread(target=write)
    kept_pace = late_rows(spark, live, tmp_path, "keeps-pace", writer=thread.start,
                          available=False)
    thread.join()
    write_parts(parts, tmp_path / "in")
    at_once = late_rows(spark, tmp_path / "in", tmp_path, "at-once")
    slow = late_rows(spark, tmp_path / "in", tmp_path, "slow", slow=1.5, available=False)
    assert 0 < len(at_once) < FILES * 75
    assert kept_pace == at_once
    assert slow == at_once
