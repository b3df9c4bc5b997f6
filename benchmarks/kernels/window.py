"""Windows, reordering included, against engines that get the rows already sorted; their state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from slackwater.core.events import Roles
from slackwater.reorder import Reorder, Static
from slackwater.window import Aggregate, Window, Windowed

ROWS, RATE = 4_000_000, 10_000
BATCH = 400_000
START = 1_700_000_000_000_000


def stream(rows: int = ROWS, seed: int = 1) -> pa.RecordBatch:
    """Poisson events of 10 000/s, normal delays of mean 0.2 s, in arrival order."""
    rng = np.random.default_rng(seed)
    time = START + np.cumsum(rng.exponential(1e6 / RATE, rows)).astype(np.int64)
    arrival = time + np.abs(rng.normal(200_000, 50_000, rows)).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    stamp = pa.timestamp("us", "UTC")
    return pa.record_batch({
        "time": pa.array(time[order]).cast(stamp), "arrival": pa.array(arrival[order]).cast(stamp),
        "value": rng.normal(20, 5, rows)[order]})


def kernel(seconds: int, function: str = "max", slide: str | None = None) -> Windowed:
    roles = Roles("time", "arrival")
    return Windowed(Reorder(Static("600ms"), roles),
                    Window([Aggregate(function, "value")], f"{seconds}s", slide, roles=roles))


def ours(batch: pa.RecordBatch, seconds: int, size: int = BATCH, function: str = "max",
         slide: str | None = None) -> int:
    logic = kernel(seconds, function, slide).start()
    done = 0
    for at in range(0, batch.num_rows, size):
        done += logic.push(batch.slice(at, size)).ready.num_rows
    return done + logic.finish().ready.num_rows


def by_day(rows: int = 10_000_000, size: int = 500_000) -> int:
    """The greatest snapshot, in bytes, of a SUM by day over rows that span three days."""
    logic = Window([Aggregate("sum", "value")], "1 day", "1 day", roles=Roles("time")).start()
    step = 3 * 86_400_000_000 // rows
    value, greatest = np.ones(size), 0
    for at in range(0, rows, size):
        time = pa.array(START + np.arange(at, at + size) * step).cast(pa.timestamp("us", "UTC"))
        logic.push(pa.record_batch({"time": time, "value": value}))
        greatest = max(greatest, len(logic.snapshot()))
    return greatest


def ties(rows: int = 100_000, pushes: int = 100) -> tuple[float, float]:
    """Seconds for rows of one time, and of as many times, with a result each."""
    def seconds(time: Any) -> float:
        batch = pa.record_batch({"time": time, "value": np.ones(rows)})
        window = Window([Aggregate("sum", "value")], "1s", roles=Roles("time", unit="us"))

        def go() -> None:
            logic = window.start()
            for at in range(0, rows, rows // pushes):
                logic.push(batch.slice(at, rows // pushes))
            logic.finish()

        go()
        return best_of(3, go)

    return seconds(np.full(rows, START)), seconds(START + np.arange(rows))


def run() -> list[Result]:
    import duckdb
    import polars as pl

    batch = stream()
    ours(batch.slice(0, 100_000), 30)  # compile
    in_order: Any = pa.Table.from_batches([batch]).sort_by("time")
    frame = pl.from_arrow(in_order)
    assert isinstance(frame, pl.DataFrame)

    def polars() -> object:
        return frame.select(pl.col("value").rolling_max_by("time", window_size="30s"))

    con = duckdb.connect()
    con.register("rows", in_order)
    con.execute("SET threads TO 1")

    def duck() -> object:
        return con.execute(
            "SELECT max(value) OVER (ORDER BY time RANGE BETWEEN INTERVAL 30 SECOND PRECEDING "
            "AND CURRENT ROW) AS m FROM rows").to_arrow_table()

    arrived: Any = pl.from_arrow(pa.Table.from_batches([batch]))

    def polars_sliding() -> object:
        return arrived.sort("time").group_by_dynamic("time", every="5s", period="30s").agg(
            pl.col("value").sum())

    # in turn, so that what else the machine does meets all of them
    ways: dict[str, Callable[[], object]] = {
        "polars": polars, "whole": lambda: ours(batch, 30, ROWS), "30s": lambda: ours(batch, 30),
        "300s": lambda: ours(batch, 300), "polars sliding": polars_sliding,
        "sliding": lambda: ours(batch, 30, function="sum", slide="5s")}
    ours(batch.slice(0, 100_000), 30, function="sum", slide="5s")  # compile
    laps = [{name: best_of(1, way) for name, way in ways.items()} for _ in range(5)]
    polars_s, whole, thirty, long, polars_sliding_s, sliding = (
        min(lap[name] for lap in laps) for name in ways)
    duck_s = best_of(1, duck)
    equal, distinct = ties()
    detail = f"{ROWS} rows, {ROWS / thirty / 1e6:.1f} M rows/s, reordering included"
    return [
        Result("window max 30s, one batch", whole, "polars rolling_max_by", polars_s, 2.5, detail),
        Result("window max 30s, batches", thirty, "polars rolling_max_by", polars_s, 2.5, detail),
        Result("window max 30s", thirty, "duckdb RANGE window", duck_s, 0.1, detail),
        Result("window max 300s", long, "window max 30s", thirty, 1.3, "ten times the range"),
        Result("window sum 30s, slide 5s", sliding, "polars sort, group_by_dynamic",
               polars_sliding_s, 2.5, f"{ROWS / sliding / 1e6:.1f} M rows/s, reordering included"),
        Result("window, 100 k equal times", equal, "distinct times", distinct, 3.0,
               "a hundred pushes"),
        Result("SUM by day, 10 M rows: bytes", by_day(), "1 MB", 1e6, 1.0,
               "not seconds: the greatest snapshot"),
    ]


if __name__ == "__main__":
    for result in run():
        print(f"{result.name:30} {result.ours_s:8.3f} s  {result.reference:24} "
              f"{result.reference_s:8.3f} s  ratio {result.ratio:6.3f}  limit {result.limit}")
