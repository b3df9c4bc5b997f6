"""A-B-C by key on Spark against PyFlink's MATCH_RECOGNIZE, on the same rows.

Both make the rows of the numbers 0, 1, 2… by the same arithmetic in SQL, from a source of numbers
that each of them has built in: what is compared is matching, not the parsing of files.  The matches
go to CSV files on both sides.

Ours are asked in both languages: as EVENT, and as MATCH_RECOGNIZE in PyFlink's own words.  All
agree in this: our ``skip_till_next`` takes, from every A, the next B and then the next C; so does
``PATTERN (A X*? B Y*? C)`` with X any row but a B, Y any row but a C, and AFTER MATCH SKIP TO NEXT
ROW.  Both have a clock that is the greatest time so far, and wait `SLACK` seconds.

Start-up is left out: of ours, the first micro-batch of a million rows; of PyFlink's, the time of a
job over so many.  The next millions count.  Matches are compared over the first million.  PyFlink
needs packages that contradict ours, so it has an environment of its own, made on first use in the
user's cache: ~/.cache/slackwater/flink.

And how the cost grows on Spark, for the shapes of streams that matchers fear: micro-batches of the
same size, the later ones against the earlier ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import venv
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.csv as pc
from pyspark.sql import DataFrame, SparkSession

from benchmarks.result import Result
from slackwater.core.events import Roles
from slackwater.query.event.query import event_query
from slackwater.reorder import KSlack
from slackwater.spark import local_session, match, query, ready

ROWS, MORE, KEYS = 1_000_000, 3, 1000
SLACK, WITHIN, GAP = 2, 60, 7  # seconds, seconds, milliseconds between two rows
START = 1_700_000_000_000
FLINK = "apache-flink==2.3.0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "slackwater" / "flink"
PATTERN = f"""EVENT SEQ(A a, B b, C c) WHERE [id] WITHIN {WITHIN} seconds
              RETURN a.id AS id, a.n AS a, b.n AS b, c.n AS c"""
RECOGNISE = f"""SELECT id, a, b, c FROM numbers MATCH_RECOGNIZE (
  PARTITION BY id ORDER BY ts MEASURES A.n AS a, B.n AS b, C.n AS c
  ONE ROW PER MATCH AFTER MATCH SKIP TO NEXT ROW
  PATTERN (A X*? B Y*? C) WITHIN INTERVAL '{WITHIN}' SECOND
  DEFINE A AS A.kind = 'A', B AS B.kind = 'B', C AS C.kind = 'C',
         X AS X.kind <> 'B', Y AS Y.kind <> 'C')"""

# three rounds of a congruential generator: a key, a kind, and how late the row is
H = "MOD((n + 1) * 2654435761, 4294967296)"
K = f"MOD({H} * 1103515245 + 12345, 2147483648)"
D = f"MOD({K} * 1103515245 + 12345, 2147483648)"
COLUMNS = {
    "id": f"MOD({H} /* 65536, {KEYS})",
    "kind": f"SUBSTRING('ABCD', CAST(MOD({K} /* 65536, 4) AS INT) + 1, 1)",
    "ts": f"{START} + n * {GAP} - CASE WHEN MOD({D} /* 65536, 10) < 3 "
          f"THEN MOD({D} /* 64, 1000 * {{delay}} + 1) ELSE 0 END",
    "arrival": f"{START} + n * {GAP}",
}

Found = Counter[tuple[int, int, int, int]]


def columns(division: str, delay: int) -> dict[str, str]:
    """The rows' columns in SQL: the number is the arrival; three in ten are up to `delay` s old."""
    return {name: text.format(delay=delay).replace("/*", division)
            for name, text in COLUMNS.items()}


def rows_of(rows: int, delay: int) -> pa.Table:
    """The same rows in-process, in the order of their times."""
    n = np.arange(rows)
    h = (n + 1) * 2654435761 % 4294967296
    k = (h * 1103515245 + 12345) % 2147483648
    d = (k * 1103515245 + 12345) % 2147483648
    late = np.where(d // 65536 % 10 < 3, d // 64 % (1000 * delay + 1), 0)
    table = pa.table({"id": h // 65536 % KEYS, "n": n, "ts": START + n * GAP - late,
                      "kind": pa.array(list("ABCD")).take(pa.array(k // 65536 % 4))})
    return table.sort_by([("ts", "ascending"), ("n", "ascending")]).combine_chunks()


def truth(table: pa.Table) -> Found:
    """The matches of rows in order, in-process."""
    kernel = event_query(PATTERN, Roles("ts", type="kind", unit="ms"), slack="0s",
                         select="skip_till_next")
    logic = kernel.start()
    outs = [logic.push(batch).ready for batch in table.to_batches(max_chunksize=250_000)]
    found = pa.Table.from_batches([*outs, logic.finish().ready])
    return counted(found.select(["id", "a", "b", "c"]))


def counted(table: pa.Table) -> Found:
    return Counter(zip(*(column.to_pylist() for column in table.columns), strict=True))


def read(folder: Path) -> Found:
    """The matches in a folder of CSV files, those of the first `ROWS` rows."""
    names = pc.ReadOptions(column_names=["id", "a", "b", "c"])
    table = pa.concat_tables(pc.read_csv(file, names) for file in sorted(folder.glob("part-*"))
                             if file.stat().st_size)
    last = compute.max_element_wise(table["a"], table["b"], table["c"])
    return counted(table.filter(compute.less(last, ROWS)))


def matched(df: DataFrame, out: Path, text: str, batches: int,
            slack: Any = f"{SLACK}s") -> list[float]:
    """Seconds of each of so many micro-batches."""
    roles = {"time": "ts", "arrival": "arrival", "unit": "ms", "quiet": None}
    wait = {"slack" if isinstance(slack, str) else "policy": slack}
    found = (match(df, text, type="kind", select="skip_till_next", slack=slack, **roles)
             if text.startswith("EVENT") else query(df, text, **wait, **roles))
    run = (ready(found).select("id", "a", "b", "c").writeStream.format("csv")
           .option("path", str(out)).option("checkpointLocation", str(out) + ".checkpoint")
           .start())
    while run.isActive and (run.lastProgress or {"batchId": -1})["batchId"] < batches - 1:
        time.sleep(0.05)
    run.stop()
    if run.exception() is not None:
        raise RuntimeError(str(run.exception()))
    return [p["durationMs"]["triggerExecution"] / 1000 for p in run.recentProgress[:batches]]


def made(spark: SparkSession, rows: int, made_of: dict[str, str]) -> DataFrame:
    """A stream of rows made of numbers, so many a micro-batch."""
    numbers = (spark.readStream.format("rate-micro-batch").option("rowsPerBatch", rows)
               .option("numPartitions", 2).load().selectExpr("value AS n"))
    return numbers.selectExpr("n", *(f"{text} AS {name}" for name, text in made_of.items()))


def on_spark(spark: SparkSession, delay: int, out: Path, slack: Any,
             text: str) -> tuple[float, Found]:
    """Seconds for a million rows, and the matches of the first."""
    df = made(spark, ROWS, columns("div", delay))
    seconds = matched(df, out, text, MORE + 2, slack)
    return sum(seconds[1:MORE + 1]) / MORE, read(out)


def flink() -> Path:
    """The Python of PyFlink's environment, made on first use."""
    python, whole = CACHE / "bin" / "python", CACHE / FLINK  # an installation may be cut short
    if not whole.exists():
        venv.create(CACHE, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", FLINK], check=True)
        whole.touch()
    return python


def on_flink(delay: int, folder: Path) -> tuple[float, Found]:
    """Seconds for a million rows, and the matches of the first."""
    folder.mkdir(parents=True)
    source = folder / "columns.sql"
    made_of = columns("/", delay)
    source.write_text(f"id AS {made_of['id']}, kind AS {made_of['kind']}, "
                      f"happened AS TO_TIMESTAMP_LTZ({made_of['ts']}, 3)")
    script = Path(__file__).with_name("flink_match.py")
    seconds = []
    for rows in (ROWS, (1 + MORE) * ROWS):
        done = subprocess.run([flink(), script, source, str(rows), folder / f"out{rows}",
                               str(SLACK), str(WITHIN)], capture_output=True, text=True,
                              check=False)
        if done.returncode:
            sys.stderr.write(done.stderr[-4000:])
            done.check_returncode()
        seconds.append(float(done.stdout.split()[-1]))
    return (seconds[1] - seconds[0]) / MORE, read(folder / f"out{ROWS}")


def growth(spark: SparkSession, folder: Path, batches: int = 8, size: int = 100_000
           ) -> list[Result]:
    """The second half of the micro-batches against the first: state may grow, cost must not."""
    plain = columns("div", SLACK)
    kinds = f"SUBSTRING('ABCDEFGHIJKLMNOPQRST', CAST(MOD({K} div 65536, 20) AS INT) + 1, 1)"
    hot = f"CASE WHEN MOD({D} div 65536, 2) = 0 THEN 0 ELSE {plain['id']} END"
    many = f"MOD({H} div 256, 100000)"
    dense = plain["ts"].replace(f"n * {GAP}", f"n * 60000 div {batches * size}")
    shapes = {"1000 keys": ({}, "1 minute"),
              "a hot key (half of all rows)": ({"id": hot}, "1 minute"),
              "100 000 keys": ({"id": many}, "1 hour"),
              "a window of a day, a minute of data": (
                  {"ts": dense, "id": f"MOD({H} div 256, 20000)",
                   "arrival": f"{START} + n * 60000 div {batches * size}"}, "1 day")}
    results = []
    for number, (name, (other, within)) in enumerate(shapes.items()):
        df = made(spark, size, {**plain, "kind": kinds, **other})
        text = PATTERN.replace(f"{WITHIN} seconds", within)
        seconds = matched(df, folder / str(number), text, batches)[1:]
        half = len(seconds) // 2
        early, late = (float(np.median(part)) for part in (seconds[:half], seconds[half:]))
        results.append(Result(f"growth on Spark: {name}", late, "the earlier micro-batches", early,
                              detail="/".join(f"{s:.1f}" for s in seconds)))
    return results


def run() -> list[Result]:
    """Ordered rows, then rows that come up to twice the slack late; then growth."""
    folder = Path(tempfile.mkdtemp())
    spark = None
    try:
        results = []
        late = 2 * SLACK
        peer = {delay: on_flink(delay, folder / f"flink{delay}") for delay in (0, late)}
        spark = local_session("slackwater-bench")
        ways = [(text, name, delay, slack)
                for text in (PATTERN, RECOGNISE) for name, delay, slack in (
                    ("ordered", 0, f"{SLACK}s"), ("up to 2 × slack late", late, f"{SLACK}s"),
                    ("as late, slack learned by KSlack", late, KSlack()))]
        for number, (text, name, delay, slack) in enumerate(ways):
            theirs_s, theirs = peer[delay]
            ours_s, ours = on_spark(spark, delay, folder / f"ours{number}", slack, text)
            right = truth(rows_of(ROWS, delay))
            if not delay and not ours == theirs == right:
                raise AssertionError(f"different matches: {len(ours)} here, {len(theirs)} there, "
                                     f"{len(right)} in truth")
            results.append(Result(
                f"{'EVENT' if text is PATTERN else 'MATCH_RECOGNIZE'} A-B-C by key on Spark, "
                f"a million rows, {name}", ours_s, "PyFlink MATCH_RECOGNIZE", theirs_s, 0.2,
                f"{right.total():,} matches; lost {(right - ours).total():,} here, "
                f"{(right - theirs).total():,} there; "
                f"false {(ours - right).total():,}, {(theirs - right).total():,}"))
        return [*results, *growth(spark, folder / "growth")]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if spark is not None:
            spark.stop()
