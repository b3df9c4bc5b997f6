"""A-B-C by key on Spark against PyFlink's MATCH_RECOGNIZE, on the same rows, file to file.

The two agree in this: our ``skip_till_next`` takes, from every A, the next B and then the next C;
so does ``PATTERN (A X*? B Y*? C)`` with X any row but a B, Y any row but a C, and AFTER MATCH SKIP
TO NEXT ROW.  Times are such that no two rows of a stream share one and no match is exactly as long
as the window, since WITHIN includes its end here and excludes it there.  Both have a clock that is
the greatest time so far, and wait `SLACK` seconds.

Start-up is left out: of ours, a first micro-batch of `FIRST` rows; of PyFlink's, the time of a job
over so many.  The `ROWS` that count come as one micro-batch, as they do when they are there.
PyFlink needs packages that contradict ours, so it has an environment of its own in .cache/flink.

And how the cost grows on Spark, for the shapes of streams that matchers fear: micro-batches of the
same size, the later ones against the earlier ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from pyspark.sql import SparkSession

from benchmarks.result import Result
from slackwater.events import Roles
from slackwater.query.event_query import event_query
from slackwater.spark import local_session, match, ready

ROWS, FIRST, KEYS = 1_000_000, 250_000, 1000
SLACK, WITHIN, GAP = 2, 60, 7  # seconds, seconds, milliseconds between two rows
START = 1_700_000_000_000
FLINK = "apache-flink==2.3.0"
CACHE = Path(__file__).parents[2] / ".cache" / "flink"
PATTERN = f"""EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN {WITHIN} seconds
              RETURN a.id AS id, a.n AS a, b.n AS b, c.n AS c"""
SCHEMA = "id BIGINT, kind STRING, n BIGINT, ts TIMESTAMP, arrival TIMESTAMP"
STAMP = pa.timestamp("ms")

Found = Counter[tuple[int, int, int, int]]


def rows_of(rows: int, *, delay: int = 0) -> pa.Table:
    """Rows as they arrive; three in ten come up to `delay` seconds late."""
    chance = np.random.default_rng(5)
    n = np.arange(rows)
    late = np.where(chance.random(rows) < 0.3, chance.integers(0, 1000 * delay + 1, rows), 0)
    order = np.argsort(n * GAP + late, kind="stable")
    kinds = pa.array(list("ABCD")).take(pa.array(chance.integers(0, 4, rows)))
    time = (START + n * GAP)[order]
    return pa.table({
        "id": chance.integers(0, KEYS, rows)[order], "kind": kinds.take(pa.array(order)),
        "n": n[order], "ts": pa.array(time).cast(STAMP),
        "arrival": pa.array(np.maximum.accumulate(time)).cast(STAMP)})


def end_of(rows: int) -> pa.Table:
    """A row for each key an hour later: a stream does not end, its last matches wait for it."""
    time = pa.array(np.full(KEYS, START + rows * GAP + 3_600_000)).cast(STAMP)
    return pa.table({"id": np.arange(KEYS), "kind": ["D"] * KEYS, "n": np.full(KEYS, -1),
                     "ts": time, "arrival": time})


def write(table: pa.Table, file: Path) -> None:
    pc.write_csv(table, file, pc.WriteOptions(include_header=False, quoting_style="none"))


def truth(table: pa.Table) -> Found:
    """The matches of the rows in order, in-process."""
    kernel = event_query(PATTERN, Roles("ts", type="kind"), select="skip_till_next")
    logic = kernel.start()
    ordered = table.sort_by("n").combine_chunks()
    outs = [logic.push(batch).ready for batch in ordered.to_batches(max_chunksize=FIRST)]
    found = pa.Table.from_batches([*outs, logic.finish().ready])
    return counted(found.select(["id", "a", "b", "c"]))


def counted(table: pa.Table) -> Found:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def read(folder: Path) -> Found:
    """The matches in a folder of CSV files."""
    names = pc.ReadOptions(column_names=["id", "a", "b", "c"])
    parts = [pc.read_csv(file, names) for file in sorted(folder.glob("part-*"))
             if file.stat().st_size]
    return counted(pa.concat_tables(parts))


def micro_batches(pieces: list[pa.Table], folder: Path) -> Path:
    """A CSV file each, in their order."""
    folder.mkdir(parents=True)
    for i, piece in enumerate(pieces):
        write(piece, folder / f"{i:04}.csv")
        os.utime(folder / f"{i:04}.csv", (1_700_000_000 + i,) * 2)  # Spark takes the oldest first
    return folder


def matched(spark: SparkSession, files: Path, out: Path, text: str) -> list[float]:
    """Seconds of each micro-batch."""
    df = (spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).csv(str(files)))
    found = match(df, text, time="ts", type="kind", arrival="arrival", slack=f"{SLACK}s",
                  select="skip_till_next", quiet=None)
    query = (ready(found).select("id", "a", "b", "c").writeStream.format("csv")
             .option("path", str(out)).option("checkpointLocation", str(out) + ".checkpoint")
             .trigger(availableNow=True).start())
    query.awaitTermination()
    return [p["durationMs"]["triggerExecution"] / 1000 for p in query.recentProgress
            if p["numInputRows"]]


def on_spark(spark: SparkSession, table: pa.Table, folder: Path) -> tuple[float, Found]:
    """Seconds for the last `ROWS` rows, and all matches."""
    files = micro_batches([table.slice(0, FIRST), table.slice(FIRST), end_of(table.num_rows)],
                          folder / "in")
    seconds = matched(spark, files, folder / "out", PATTERN)
    return seconds[1], read(folder / "out")


def flink() -> Path:
    """The Python of PyFlink's environment, made on first use."""
    python = CACHE / "bin" / "python"
    if not python.exists():
        venv.create(CACHE, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", FLINK], check=True)
    return python


def on_flink(table: pa.Table, folder: Path) -> tuple[float, Found]:
    """Seconds from submission to end, and all matches."""
    folder.mkdir(parents=True)
    write(table, folder / "in.csv")
    script = Path(__file__).with_name("flink_match.py")
    done = subprocess.run([flink(), script, folder / "in.csv", folder / "out", str(SLACK),
                           str(WITHIN)], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr[-4000:])
        done.check_returncode()
    return float(done.stdout.split()[-1]), read(folder / "out")


def shaped(rows: int, *, keys: int = KEYS, hot: float = 0.0, gap_us: int = 1000 * GAP) -> pa.Table:
    """Rows of 20 kinds, three in ten up to the slack late; `hot`: the share of the first key."""
    chance = np.random.default_rng(6)
    time = START * 1000 + np.arange(rows) * gap_us
    late = np.where(chance.random(rows) < 0.3, chance.integers(0, 1_000_000 * SLACK, rows), 0)
    order = np.argsort(time + late, kind="stable")
    key = np.where(chance.random(rows) < hot, 0, chance.integers(0, keys, rows))
    kinds = pa.array([chr(ord("A") + i) for i in range(20)])
    return pa.table({
        "id": key, "kind": kinds.take(pa.array(chance.integers(0, 20, rows))),
        "n": np.arange(rows), "ts": pa.array(time[order]).cast(pa.timestamp("us")),
        "arrival": pa.array(np.maximum.accumulate(time[order])).cast(pa.timestamp("us"))})


def growth(spark: SparkSession, folder: Path, batches: int = 8, size: int = 100_000
           ) -> list[Result]:
    """The second half of the micro-batches against the first: state may grow, cost must not."""
    minute = 60_000_000 // (batches * size)
    shapes = {"1000 keys": ({}, "1 minute"),
              "a hot key (half of all rows)": ({"hot": 0.5}, "1 minute"),
              "100 000 keys": ({"keys": 100_000}, "1 hour"),
              "a window of a day, a minute of data": ({"gap_us": minute, "keys": 20_000}, "1 day")}
    results = []
    for number, (name, (shape, within)) in enumerate(shapes.items()):
        table = shaped(batches * size, **shape)  # type: ignore[arg-type]
        files = micro_batches([table.slice(i * size, size) for i in range(batches)],
                              folder / f"{number}" / "in")
        text = PATTERN.replace(f"{WITHIN} seconds", within)
        seconds = matched(spark, files, folder / f"{number}" / "out", text)[1:]
        half = len(seconds) // 2
        early, late = (float(np.median(part)) for part in (seconds[:half], seconds[half:]))
        results.append(Result(f"growth on Spark: {name}", late, "the earlier micro-batches", early,
                              detail="/".join(f"{s:.1f}" for s in seconds)))
    return results


def run() -> list[Result]:
    """Ordered rows, then rows that come up to twice the slack late; then growth."""
    folder = Path(tempfile.mkdtemp())
    try:
        begun, _ = on_flink(rows_of(FIRST), folder / "begun")
        spark = local_session("slackwater-bench")
        results = []
        for name, delay in (("ordered", 0), ("up to 2 × slack late", 2 * SLACK)):
            table = rows_of(FIRST + ROWS, delay=delay)
            theirs_s, theirs = on_flink(table, folder / f"late{delay}" / "flink")
            ours_s, ours = on_spark(spark, table, folder / f"late{delay}" / "ours")
            right = truth(table)
            if not delay and not ours == theirs == right:
                raise AssertionError(f"different matches: {len(ours)} here, {len(theirs)} there, "
                                     f"{len(right)} in truth")
            results.append(Result(
                f"A-B-C by key on Spark, 1 M rows, {name}", ours_s, "PyFlink MATCH_RECOGNIZE",
                theirs_s - begun, None if delay else 0.2,
                f"{right.total():,} matches; lost {(right - ours).total():,} here, "
                f"{(right - theirs).total():,} there; "
                f"false {(ours - right).total():,}, {(theirs - right).total():,}"))
        return [*results, *growth(spark, folder / "growth")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if (active := SparkSession.getActiveSession()) is not None:
            active.stop()
