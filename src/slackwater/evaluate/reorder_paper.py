"""The experiments of paper 3: Weiss, Expósito Jiménez, Zeiner, ACM Trans. Sensor Netw. 2020.

The recordings are not ours to ship: where ``SLACKWATER_RECORDINGS`` names a folder that has them,
they are used; an experiment that is about them alone says so if they are not there.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

from slackwater.core.errors import DataError
from slackwater.datasets import SIMULATED, Dataset, find_recordings, read_dataset, simulated
from slackwater.datasets.recordings import FOLDER
from slackwater.evaluate import pictures
from slackwater.evaluate.metrics import Metrics
from slackwater.evaluate.run import run, usable_events
from slackwater.evaluate.scatter import heat_picture, scatter_picture
from slackwater.evaluate.sweep import sweep
from slackwater.evaluate.table import compare, write_csv
from slackwater.evaluate.traces import trace_picture

__all__ = ["EXPERIMENTS"]

_SWEEPS = (("sba", "buffer"), ("bsttwa", "offset"), ("bsttda", "offset"))


def fig5(out: Path, quick: bool) -> list[Path]:
    """What one parameter does to the events compensated and to the buffer time.

    On the S recordings as in the paper, else on the D ones, else on simulated sets that differ.
    """
    datasets = _recorded("s") or _recorded("d") or [simulated(n) for n in ("g-1", "g-5", "g-7")]
    values = range(0, 2001, 500 if quick else 50)
    events = [usable_events(d) for d in datasets[: 1 if quick else None]]
    found = [(name, parameter, sweep(e, name, parameter, [f"{v}ms" for v in values]))
             for name, parameter in _SWEEPS for e in events]
    files = [_write_sweeps(found, values, out / "reorder-fig5.csv")]
    with pictures.figure(pictures.WIDE, 4.0) as picture:
        grid = picture.subplots(2, len(_SWEEPS), sharex=True, sharey="row")
        for column, (name, parameter) in enumerate(_SWEEPS):
            upper, lower = grid[0, column], grid[1, column]
            for n, points in enumerate(p for f, _, p in found if f == name):
                look = {"color": pictures.COLOURS[n % len(pictures.COLOURS)]}
                upper.plot(values, [m.not_compensated_pct for m in points],
                           label=points[0].dataset.upper(), **look)
                lower.plot(values, [m.mean_buffer_ms for m in points], **look)
            upper.set_title(f"({'abc'[column]}) {name.upper()}", loc="left")
            lower.set_title(f"({'def'[column]})", loc="left")
            kind = "buffer time" if parameter == "buffer" else parameter
            lower.set_xlabel(f"parameter: {kind} (ms)")
        # what matters happens below one percent, and nothing left is the aim: log with a zero
        grid[0, 0].set_yscale("symlog", linthresh=0.1, linscale=0.4)
        grid[0, 0].set_yticks([0, 0.1, 1, 10, 100], ["0", "0.1", "1", "10", "100"])
        grid[0, 0].set_ylim(bottom=-0.01)
        grid[0, 0].set_ylabel("not compensated (% of\nout-of-order events)")
        grid[1, 0].set_ylabel("mean buffer time (ms)")
        handles, labels = grid[0, 0].get_legend_handles_labels()
        picture.legend(handles, labels, loc="outside lower center", ncols=len(labels))
    return files + pictures.save(picture, out / "reorder-fig5")


def fig6(out: Path, quick: bool) -> list[Path]:
    """Overfitting against not compensated events on the D recordings."""
    return _scatter("reorder-fig6", _needed("d", "Fig. 6"), out, quick)


def fig7(out: Path, quick: bool) -> list[Path]:
    """Overfitting against not compensated events on the S recordings."""
    return _scatter("reorder-fig7", _needed("s", "Fig. 7"), out, quick)


def fig8(out: Path, quick: bool) -> list[Path]:
    """Overfitting against not compensated events on the simulated sets."""
    return _scatter("reorder-fig8", [simulated(n) for n in _simulated(quick)], out, quick)


def fig9(out: Path, quick: bool) -> list[Path]:
    """Buffer time over the delays.

    Panels (a) and (b) need a recording: S-9 as in the paper, else D-3; without one, the sudden
    changes of G-7 take its place.
    """
    recorded = {p.stem: p for series in "sd" for p in find_recordings(series)}
    sudden = next((n for n in ("s-9", "d-3") if n in recorded), "g-7")
    panels = [("bsttwa", sudden), ("bsttda", sudden), ("bsttd", "g-8"), ("bsttda", "g-8"),
              ("bstt", "g-6"), ("kslack", "g-6")][: 2 if quick else None]
    sets = {n: usable_events(read_dataset(recorded[n]) if n in recorded else simulated(n))
            for n in dict.fromkeys(name for _, name in panels)}
    runs = [(f"({'abcdef'[i]}) {policy.upper()} on {name.upper()}", run(sets[name], policy))
            for i, (policy, name) in enumerate(panels)]
    table = out / "reorder-fig9.csv"
    with table.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["panel", "arrival_us", "delay_ms", "buffer_ms", "late"])
        for title, done in runs:
            events = done.events
            columns = (events.arrival, (events.arrival - events.time) / 1000, done.buffer / 1000,
                       done.late.astype(int))
            for arrival, delay, buffer, late in zip(*(c.tolist() for c in columns), strict=True):
                writer.writerow([title, arrival, delay, round(buffer, 4), late])
    return [table, *pictures.save(trace_picture(runs), out / "reorder-fig9")]


def table(out: Path, quick: bool) -> list[Path]:
    """All seven algorithms on every recording that is there and on the simulated sets."""
    datasets = [*_recorded("d"), *_recorded("s"), *(simulated(n) for n in _simulated(quick))]
    rows = compare(datasets)
    return [write_csv(rows, out / "reorder-table.csv"),
            *pictures.save(heat_picture(rows), out / "reorder-table")]


def _simulated(quick: bool) -> list[str]:
    return list(SIMULATED)[: 3 if quick else None]


def _recorded(series: str) -> list[Dataset]:
    return [read_dataset(path) for path in find_recordings(series)]


def _needed(series: str, what: str) -> list[Dataset]:
    found = _recorded(series)
    if not found:
        raise DataError(
            f"{what} is about the recordings {series.upper()}-…, which are not here",
            step="reproduce",
            expected=f"files {series}-1.csv … in the folder that {FOLDER} names",
            hint="they are at github.com/JR-DIGITAL/ooo-dataset (CC-BY-SA 4.0)")
    return found


def _scatter(name: str, datasets: Sequence[Dataset], out: Path, quick: bool) -> list[Path]:
    rows = compare(datasets[: 2 if quick else None])
    return [write_csv(rows, out / f"{name}.csv"),
            *pictures.save(scatter_picture(rows), out / name)]


def _write_sweeps(found: Sequence[tuple[str, str, list[Metrics]]], values: Sequence[int],
                  path: Path) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["policy", "parameter", "value_ms", "dataset", "not_compensated_pct",
                         "mean_buffer_ms", "latency_mean_ms"])
        for name, parameter, points in found:
            for value, m in zip(values, points, strict=True):
                row = m.to_dict()
                writer.writerow([name, parameter, value, m.dataset, row["not_compensated_pct"],
                                 row["mean_buffer_ms"], row["latency_ms"]["mean"]])
    return path


EXPERIMENTS: dict[str, Callable[[Path, bool], list[Path]]] = {
    "reorder-fig5": fig5,
    "reorder-fig6": fig6,
    "reorder-fig7": fig7,
    "reorder-fig8": fig8,
    "reorder-fig9": fig9,
    "reorder-table": table,
}
