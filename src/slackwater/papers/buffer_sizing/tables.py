"""Tables 1 and 2 of paper 3: what the sets are, as printed and as they are here.

The recordings are read where they are at hand; the simulated sets are generated.  A row of a set
that is not here has the printed values alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from slackwater.datasets import SIMULATED, Dataset, find_recordings, read_dataset, simulated
from slackwater.datasets.recordings import is_recording
from slackwater.evaluate import pictures
from slackwater.evaluate.disorder import out_of_order
from slackwater.evaluate.run import usable_events
from slackwater.papers.outcome import Fact, Outcome, close, write_table

__all__ = ["EXPERIMENTS", "PRINTED_1", "PRINTED_2", "Overview", "Times", "overview", "times"]

_SECONDS = 600
_LENGTH = "S.Http.Content.Length"


@dataclass(frozen=True)
class Overview:
    """A row of Table 1; the interval in ms, the gross payload in bytes, rates in KiB/s."""

    clients: int
    interval: str
    gross: float
    events: int
    server: float | None
    client: float | None


@dataclass(frozen=True)
class Times:
    """A row of Table 2: out-of-order events, and the full processing time in ms."""

    out_of_order: int
    percent: float
    least: float
    q1: float
    median: float
    mean: float
    q3: float
    most: float
    std: float


PRINTED_1: dict[str, Overview] = {
    "d-1": Overview(8, "500", 265, 9600, 4.14, 0.52),
    "d-2": Overview(9, "500", 1409, 10800, 24.77, 2.75),
    "d-3": Overview(8, "500", 1365, 9600, 21.33, 2.67),
    "d-4": Overview(7, "500", 2426, 8400, 33.17, 4.74),
    "d-5": Overview(7, "500", 10929, 8400, 149.42, 21.35),
    "s-7": Overview(10, "200", 1409, 30000, 68.80, 6.88),
    "s-8": Overview(10, "200", 1365, 30000, 66.65, 6.67),
    "s-9": Overview(10, "200", 2426, 29915, 118.13, 11.85),
    "s-10": Overview(10, "200", 10929, 29999, 533.64, 53.36),
    **{f"g-{n}": Overview(10, "200", 265, 30000, 12.94, 1.29) for n in range(1, 9)},
    "g-9": Overview(10, "10000 - 100", 265, 30057, None, None),
    "g-10": Overview(10, "10000 - 100", 265, 30058, None, None),
    "g-11": Overview(10, "100 - 10000", 265, 29502, None, None),
    "g-12": Overview(10, "100 - 10000", 265, 29503, None, None),
}
"""Table 1 as printed; the rates of G-9 … G-12 are ranges and stand in the interval."""

PRINTED_2: dict[str, Times] = {
    "d-1": Times(1544, 16.08, 59, 139, 162, 181.1, 190, 4738, 103.9),
    "d-2": Times(3666, 33.94, 81, 137, 167, 185.8, 205, 3680, 115.6),
    "d-3": Times(3277, 34.14, 74, 132, 157, 182.7, 187, 5616, 183.8),
    "d-4": Times(2302, 27.40, 77, 145, 165, 193.4, 203, 3300, 116.5),
    "d-5": Times(1584, 18.86, 154, 250, 271, 288.9, 304, 1911, 83.7),
    "s-7": Times(7535, 25.12, 11, 24, 32, 46.5, 50, 1522, 49.9),
    "s-8": Times(5908, 19.69, 15, 27, 37, 48.4, 50, 872, 47.1),
    "s-9": Times(7880, 26.34, 15, 29, 39, 52.6, 54, 3385, 94.1),
    "s-10": Times(8495, 28.32, 46, 75, 92, 103.7, 114, 1379, 51.3),
    "g-1": Times(23968, 79.89, 101, 302, 503, 500.9, 699, 901, 229.7),
    "g-2": Times(5449, 18.16, 476, 488, 500, 500.5, 513, 527, 14.4),
    "g-3": Times(6328, 21.09, 29, 300, 526, 525.7, 751, 1018, 260.4),
    "g-4": Times(9034, 30.11, 24, 301, 526, 525.4, 750, 999, 260.2),
    "g-5": Times(20305, 67.68, 22, 128, 243, 300.6, 427, 995, 208.5),
    "g-6": Times(21099, 70.33, 22, 129, 244, 300.8, 429, 991, 209.0),
    "g-7": Times(8498, 28.33, 251, 275, 691, 500.6, 726, 752, 225.6),
    "g-8": Times(6652, 22.17, 251, 342, 500, 500.6, 659, 750, 159.8),
    "g-9": Times(24347, 81.00, 101, 302, 500, 500.9, 701, 902, 230.9),
    "g-10": Times(8096, 26.93, 448, 488, 501, 500.7, 513, 554, 14.4),
    "g-11": Times(23764, 80.55, 81, 301, 501, 501.1, 702, 901, 230.7),
    "g-12": Times(10406, 35.27, 447, 488, 501, 500.6, 513, 554, 14.5),
}
"""Table 2 as printed."""


def overview(dataset: Dataset) -> Overview:
    """Table 1's row of a set that is at hand; simulated messages have no length of their own."""
    events = usable_events(dataset)
    assert events.source is not None
    gaps = []
    for s in range(len(events.sources)):
        own = np.sort(events.time[events.source == s])
        gaps.append(np.median(np.diff(own)) / 1000)
    columns = dataset.table.column_names
    gross = (float(pc.mean(dataset.table[_LENGTH]).as_py()) if is_recording(columns)
             else PRINTED_1[dataset.name].gross)
    server = gross * len(events) / _SECONDS / 1024
    return Overview(len(events.sources), f"{np.median(gaps):.0f}", round(gross, 1), len(events),
                    round(server, 2), round(server / len(events.sources), 2))


def times(dataset: Dataset) -> Times:
    """Table 2's row of a set that is at hand."""
    events = usable_events(dataset)
    late = int(out_of_order(events.time, events.key).sum())
    processing = dataset.processing_times()
    took = (dataset.delays() if processing is None else processing) / 1000
    least, q1, median, q3, most = np.percentile(took, [0, 25, 50, 75, 100])
    return Times(late, round(100 * late / len(events), 2), float(least), float(q1), float(median),
                 round(float(took.mean()), 1), float(q3), float(most),
                 round(float(took.std(ddof=1)), 1))


def _at_hand(quick: bool) -> list[Dataset]:
    recorded = [read_dataset(p) for series in "ds" for p in find_recordings(series)]
    return recorded + [simulated(n) for n in list(SIMULATED)[: 3 if quick else None]]


def _missing(found: Sequence[str]) -> str:
    gone = [n.upper() for n in PRINTED_1 if n not in found and not n.startswith("g")]
    return ", ".join(gone)


def _table(out: Path, name: str, head: Sequence[str], printed: dict[str, Any],
           ours: dict[str, Any], note: str, facts: list[Fact], missing: str) -> Outcome:
    rows = []
    for dataset, row in printed.items():
        for who, values in (("paper", row), ("here", ours.get(dataset))):
            if values is not None:
                rows.append([dataset.upper(), who,
                             *("" if v is None else v for v in vars(values).values())])
    files = [write_table(out / f"{name}.csv", ["set", "who", *head], rows)]
    with pictures.figure(pictures.WIDE, 0.5 + 0.145 * len(rows)) as picture:
        axes = picture.subplots()
        axes.axis("off")
        table = axes.table([[f"{v:g}" if isinstance(v, float) else str(v) for v in row]
                            for row in rows],
                           colLabels=["set", "", *head], loc="center", cellLoc="right")
        table.auto_set_font_size(False)
        table.set_fontsize(6.5)
        for (line, _), cell in table.get_celld().items():
            cell.set_linewidth(0.0)
            cell.set_height(1 / (len(rows) + 2))
            if line and rows[line - 1][1] == "here":
                cell.set_facecolor("#e8f1f8")
        files += pictures.save(picture, out / name)
    return Outcome(files, facts, note=note, partly=f"{missing} (missing)" if missing else "")


def table1(out: Path, quick: bool) -> Outcome:
    """The sets: clients, interval, payload, events, data rates."""
    sets = _at_hand(quick)
    ours = {d.name: overview(d) for d in sets}
    facts = []
    for name, row in ours.items():
        printed = PRINTED_1[name]
        facts.append(close(f"events of {name.upper()}", printed.events, row.events, within=0.001,
                           why="the law of the rate is read off the summary"))
        if printed.server is not None and row.server is not None:
            facts.append(close(f"server rate of {name.upper()} (KiB/s)", printed.server,
                               row.server, within=0.02,
                               why=f"the recorded messages are {row.gross:.0f} bytes long on "
                                   f"average; the printed {printed.gross:.0f} bytes for a payload "
                                   "of 512 are more than those for 1024 (1365)"))
    return _table(out, "reorder-table1", ["clients", "interval (ms)", "gross (bytes)", "events",
                                          "server KiB/s", "client KiB/s"], PRINTED_1, ours,
                  "The payload of simulated sets is the printed one.", facts,
                  _missing(list(ours)))


def table2(out: Path, quick: bool) -> Outcome:
    """The sets: out-of-order events and full processing times."""
    sets = _at_hand(quick)
    ours = {d.name: times(d) for d in sets}
    facts = []
    for name, row in ours.items():
        printed = PRINTED_2[name]
        exact = not name.startswith("g")
        facts.append(close(f"out-of-order events of {name.upper()} (%)", printed.percent,
                           row.percent, within=0.001 if exact else 0.05,
                           why="how the sources' phases stood to each other is not published"))
        for part in ("q1", "median", "mean", "q3", "std"):
            facts.append(close(
                f"{part} of {name.upper()} (ms)", getattr(printed, part), getattr(row, part),
                within=0.005 if exact else 0.03,
                why="the law of the delays is read off the summary"))
    return _table(out, "reorder-table2", ["out of order", "%", "min", "q1", "median", "mean", "q3",
                                          "max", "std"], PRINTED_2, ours,
                  "Simulated sets have no answer from the server, so their delay stands for the "
                  "full processing time.", facts, _missing(list(ours)))


EXPERIMENTS = {"reorder-table1": table1, "reorder-table2": table2}
"""By the names of the catalogue."""
