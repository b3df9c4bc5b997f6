"""Spark's fixed watermark and Slackwater side by side, on one feed, in one picture.

A feed of twenty sensors with stalls and skewed clocks is generated and replayed as micro-batches on
an embedded local Spark.  Both queries count the readings of each second; one guesses a watermark
delay, the other puts the feed in order first.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from matplotlib.figure import Figure
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from rich.console import Console
from rich.table import Table

from slackwater.datasets import Feed, Lognormal, Regular, Stalls, generate
from slackwater.spark import local_session, ready, reorder

OUT = Path("demo-output")
GUESS = "3 seconds"
POLICY = "Tide(loss=0.1%)"
BATCH = 1_000_000  # microseconds of arrivals a micro-batch


@dataclass
class Outcome:
    """What one query made of the feed: counts per second, and how long each count took."""

    name: str
    counts: dict[int, int]
    latency: dict[int, float]
    handed_over: int = 0

    def lost(self, truth: dict[int, int]) -> int:
        """Rows missing from the counts that were given out."""
        return sum(truth[s] - n for s, n in self.counts.items())


def make_feed(folder: Path) -> dict[int, int]:
    """Write the feed as one file a micro-batch; returns the true count of each second."""
    feed = generate(Feed(sources=20, duration="120s", rate=Regular("50ms"), skew="30ms",
                         delay=Lognormal("80ms"), stalls=Stalls("2 minutes", "4s"), in_order=True,
                         seed=2))
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    arrival = feed.table["arrival"].cast(pa.int64()).to_numpy()
    batch = (arrival - arrival[0]) // BATCH
    for b in range(int(batch[-1]) + 1):
        file = folder / f"{b:04}.parquet"
        pq.write_table(feed.table.filter(pa.array(batch == b)), file)
        os.utime(file, (1_700_000_000 + b,) * 2)  # Spark takes the oldest file first
    second = feed.table["time"].cast(pa.int64()).to_numpy() // 1_000_000
    return dict(zip(*(a.tolist() for a in np.unique(second, return_counts=True)), strict=True))


def count_seconds(df: DataFrame, delay: str) -> DataFrame:
    """Readings per second, by Spark's own window."""
    return (df.withWatermark("time", delay).groupBy(F.window("time", "1 second")).count()
            .select(F.unix_seconds("window.start").alias("second"), "count"))


def replay(name: str, counts: DataFrame, ends: list[int]) -> Outcome:
    """Run a query over the whole feed; a count's latency ends with the micro-batch that gave it."""
    outcome = Outcome(name, {}, {})

    def take(rows: DataFrame, batch: int) -> None:
        now = ends[min(batch, len(ends) - 1)]
        for row in rows.collect():
            outcome.counts[row.second] = row["count"]
            outcome.latency[row.second] = now / 1e6 - row.second - 1

    query = counts.writeStream.foreachBatch(take).trigger(availableNow=True).option(
        "checkpointLocation", str(OUT / f"checkpoint-{name}")).start()
    query.awaitTermination()
    for progress in query.recentProgress:
        fates = progress["observedMetrics"].get("fates")
        outcome.handed_over += fates["late"] if fates else 0
    return outcome


def both(spark: SparkSession, folder: Path) -> tuple[Outcome, Outcome]:
    """Spark alone, then Spark behind Slackwater."""
    files = sorted(folder.glob("*.parquet"))
    ends = [pq.read_table(f)["arrival"].cast(pa.int64()).to_numpy().max() for f in files]
    feed = (spark.readStream.schema(spark.read.parquet(str(folder)).schema)
            .option("maxFilesPerTrigger", 1).parquet(str(folder)))
    plain = replay("spark", count_seconds(feed, GUESS), ends)
    ordered = reorder(feed, POLICY, time="time", arrival="arrival", source="source",
                      sequence="sequence")
    watched = ordered.observe("fates", F.count(F.when(F.col("_status") == "late", 1)).alias("late"))
    ours = replay("slackwater", count_seconds(ready(watched), "1 millisecond"), ends)
    return plain, ours


def picture(plain: Outcome, ours: Outcome, truth: dict[int, int], path: Path) -> None:
    """Missing rows and latency of each second's count."""
    matplotlib.rcParams["font.size"] = 9
    figure = Figure(figsize=(8, 4.6), layout="constrained")
    top, bottom = figure.subplots(2, 1, sharex=True)
    start = min(truth)
    for outcome, colour, shift in ((plain, "#c0392b", -0.2), (ours, "#1f6f8b", 0.2)):
        seconds = sorted(outcome.counts)
        x = [s - start + shift for s in seconds]
        top.bar(x, [truth[s] - outcome.counts[s] for s in seconds], 0.4, color=colour,
                label=label(outcome))
        bottom.plot(x, [outcome.latency[s] for s in seconds], ".-", color=colour, lw=1)
    top.set_ylabel("readings missing\nfrom the count")
    bottom.set_ylabel("count given after (s)")
    bottom.set_xlabel("second of the feed")
    bottom.set_ylim(bottom=0)
    top.legend(frameon=False, loc="upper left")
    for axes in (top, bottom):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=150)


def label(outcome: Outcome) -> str:
    return (f"Spark, watermark {GUESS}" if outcome.name == "spark"
            else f"Slackwater, {POLICY}")


def main() -> None:
    console = Console()
    OUT.mkdir(exist_ok=True)
    shutil.rmtree(OUT / "checkpoint-spark", ignore_errors=True)
    shutil.rmtree(OUT / "checkpoint-slackwater", ignore_errors=True)
    console.print("Generating a feed: 20 sensors, 2 minutes, stalls, skewed clocks …")
    truth = make_feed(OUT / "feed")
    console.print("Starting an embedded Spark and replaying the feed twice …")
    spark = local_session("slackwater-demo", log=OUT / "spark.log")
    plain, ours = both(spark, OUT / "feed")
    spark.stop()
    table = Table(title="readings per second, counted by Spark's own window;\n"
                        "the wait is from the end of a second to its count")
    for column in ("", "lost", "share", "kept, late", "wait, mean", "wait, worst"):
        table.add_column(column, justify="left" if not column else "right")
    for outcome in (plain, ours):
        total = sum(truth[s] for s in outcome.counts)
        lost = outcome.lost(truth)
        kept = min(outcome.handed_over, lost)
        delays = list(outcome.latency.values())
        table.add_row(label(outcome), f"{lost - kept:,}", f"{(lost - kept) / total:.2%}",
                      f"{kept:,}", f"{np.mean(delays):.2f} s", f"{max(delays):.2f} s")
    console.print(table)
    picture(plain, ours, truth, OUT / "demo.png")
    console.print(f"Picture: {OUT / 'demo.png'}")


if __name__ == "__main__":
    main()
