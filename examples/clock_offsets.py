"""Which events of two devices belong together, when neither clock can be trusted?

Each device measured by NTP how far its clock is off.  That measurement is itself only good to half
of its round trip, so the true time of an event is an interval.  Events of the two devices that
happened within 250 ms of each other are found with a given confidence; beside that stands what the
devices' own clocks would have told.

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
    SELECT a.number, b.number AS other, b.clock - a.clock AS apart, PROBABILITY
    FROM First a, Second b
    WHERE |@a − @b| <= 250 milliseconds CONFIDENCE {confidence}%
"""
STAMP = pa.timestamp("us", "UTC")


def generated(rows: int = 400) -> pa.Table:
    """A door opens, a lamp follows; clocks that are 1.4 s apart, offsets measured to 60 ms."""
    rng = np.random.default_rng(5)
    opened = 1_700_000_000_000 + np.cumsum(rng.exponential(3_000, rows))
    tables = []
    for device, true, off in (("door", opened, 900.0),
                              ("lamp", opened + rng.exponential(150, rows), -500.0)):
        tables.append(pa.table({
            "device": [device] * rows, "number": np.arange(rows),
            "clock": pa.array(((true + off) * 1000).astype(np.int64)).cast(STAMP),
            "offset": off + rng.uniform(-60, 60, rows), "round_trip": np.full(rows, 120.0)}))
    return pa.concat_tables(tables)


def recorded(path: str) -> pa.Table:
    """The two devices of a recording that sent most.

    Its times are corrected already: adding the offset restores what the device's clock showed.  The
    exchanges' round trips were not recorded; a device's shortest message round trip stands in.
    """
    found = read_dataset(path)
    rows = found.table
    offset = rows["C.NTP.offset"].cast(pa.int64())
    clock = pc.add(rows[found.roles.time].cast(pa.int64()), offset)
    table = pa.table({
        "device": rows[found.roles.source], "number": rows[found.roles.sequence],
        "clock": clock.cast(pa.timestamp("ms", "UTC")).cast(STAMP),
        "offset": offset, "trip": rows["A.Duration.round.trip"].cast(pa.float64())})
    groups = table.group_by("device").aggregate([("number", "count"), ("trip", "min")])
    most = groups.sort_by([("number_count", "descending"), ("device", "ascending")]).slice(0, 2)
    return table.join(most, "device", join_type="inner").rename_columns(
        {"trip_min": "round_trip"})


def main(path: str | None = None) -> None:
    rows = generated() if path is None else recorded(path)
    devices = sorted(rows["device"].unique().to_pylist())
    intervals = from_ntp(rows, "offset", delay="round_trip", time="clock")
    sides = {name: intervals.filter(pc.equal(intervals["device"], device))
             for name, device in zip(("First", "Second"), devices, strict=True)}
    own = run_correlate_query(QUERY.format(confidence=100), sides, Roles("clock"))
    pairs = {confidence: run_correlate_query(QUERY.format(confidence=confidence), sides)
             for confidence in (50, 80, 99)}

    console = Console()
    for device, side in zip(devices, sides.values(), strict=True):
        console.print(f"{device}: {side.num_rows} events, clock off by about "
                      f"{pc.mean(side['offset']).as_py():+,.0f} ms")
    console.print(f"Pairs within 250 ms: {own.num_rows} by the devices' own clocks; corrected "
                  + ", ".join(f"{p.num_rows} at {c} %" for c, p in pairs.items()))
    table = Table(title="the first pairs at 80 %")
    for column in (devices[0], devices[1], "clocks apart", "probability"):
        table.add_column(column, justify="right")
    for pair in pairs[80].slice(0, 8).to_pylist():
        table.add_row(str(pair["number"]), str(pair["other"]),
                      f"{pair['apart'].total_seconds() * 1000:+,.0f} ms",
                      f"{pair['probability']:.3f}")
    console.print(table)


if __name__ == "__main__":
    main(*sys.argv[1:2])
