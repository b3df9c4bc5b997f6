"""Which events of two devices belong together, when neither clock can be trusted?

Each device measured by NTP how far its clock is off, so the true time of an event lies in an
interval: between its stamp and the stamp corrected by that offset.  The events of the second device
that happened within a deadline after one of the first are found with a given confidence, and beside
that stands what the bare stamps would have told.

    python examples/clock_offsets.py                a generated feed
    python examples/clock_offsets.py d-1.csv        a recording, with its C.NTP.offset in ms
"""

from __future__ import annotations

import sys

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

from slackwater import Roles
from slackwater.correlate import from_ntp
from slackwater.datasets import read_dataset
from slackwater.query import run_correlate_query

QUERY = """
    SELECT a.number, b.number AS other, a.stamp, b.stamp - a.stamp AS apart, PROBABILITY
    FROM First a, Second b
    WHERE @a + 250 milliseconds >= @b CONFIDENCE {confidence}% AND b.stamp >= a.stamp - 2 seconds
    WITHIN 2 seconds
"""
STAMP = pa.timestamp("us", "UTC")


def generated(rows: int = 400) -> pa.Table:
    """Two devices, an event about every second, clocks that are off by up to 400 ms."""
    rng = np.random.default_rng(5)
    tables = []
    for device in ("door", "lamp"):
        true = 1_700_000_000_000_000 + np.cumsum(rng.exponential(1e6, rows)).astype(np.int64)
        offset = rng.normal(150, 100, rows).round()
        tables.append(pa.table({
            "device": pa.array([device] * rows), "number": np.arange(rows),
            "stamp": pa.array(true + (offset * 1000).astype(np.int64)).cast(STAMP),
            "offset": offset}))
    return pa.concat_tables(tables)


def recorded(path: str) -> pa.Table:
    """The two devices of a recording that sent most."""
    found = read_dataset(path)
    table = pa.table({
        "device": found.table[found.roles.source], "number": found.table[found.roles.sequence],
        "stamp": found.table[found.roles.time].cast(pa.timestamp("ms", "UTC")).cast(STAMP),
        "offset": found.table["C.NTP.offset"].cast(pa.float64())})
    counts = pc.value_counts(table["device"]).to_pylist()
    most = sorted(counts, key=lambda c: (-c["counts"], c["values"]))[:2]
    return table.filter(pc.is_in(table["device"], pa.array([c["values"] for c in most])))


def main(path: str | None = None) -> None:
    rows = generated() if path is None else recorded(path)
    devices = rows["device"].unique().to_pylist()
    # the interval runs from the stamp to the corrected stamp: no round trip was recorded
    intervals = from_ntp(rows, "offset", time="stamp")
    sides = {name: intervals.filter(pc.equal(intervals["device"], device))
             for name, device in zip(("First", "Second"), devices, strict=True)}
    pairs = {confidence: run_correlate_query(QUERY.format(confidence=confidence), sides)
             for confidence in (50, 80, 99)}
    stamps = run_correlate_query(QUERY.format(confidence=100), sides, Roles("stamp"))

    console = Console()
    console.print(f"{devices[0]}: {sides['First'].num_rows} events, "
                  f"{devices[1]}: {sides['Second'].num_rows}; by the bare stamps "
                  f"{stamps.num_rows} pairs within the deadline, and by what the clocks allow "
                  + ", ".join(f"{p.num_rows} at {c} %" for c, p in pairs.items()))
    table = Table(title="the first pairs at 80 %")
    for column in (devices[0], devices[1], "stamp", "stamps apart", "probability"):
        table.add_column(column, justify="right")
    for pair in pairs[80].slice(0, 8).to_pylist():
        table.add_row(str(pair["number"]), str(pair["other"]),
                      f"{pair['stamp']:%H:%M:%S.%f}"[:-3],
                      f"{pair['apart'].total_seconds() * 1000:+.0f} ms",
                      f"{pair['probability']:.3f}")
    console.print(table)


if __name__ == "__main__":
    main(*sys.argv[1:2])
