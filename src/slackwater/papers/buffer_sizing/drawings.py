"""Figures 1 to 4 of paper 3, drawn from small runs of the kernels and from a recording."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa

from slackwater.core.errors import DataError
from slackwater.core.events import Roles
from slackwater.datasets import Feed, find_recordings, generate, read_dataset
from slackwater.evaluate import pictures
from slackwater.evaluate.run import reorder_table
from slackwater.papers.drawing import arrow, bare, box, events_on_a_line, finish
from slackwater.papers.outcome import Fact, Outcome, claim
from slackwater.papers.sequences.ais import MATCHES, new_ais, push_ordered
from slackwater.reorder import Reorder, Static

__all__ = ["ARRIVED", "EXPERIMENTS", "matches"]

ARRIVED = (("A", 11), ("B", 12), ("B", 17), ("C", 13), ("A", 16), ("C", 18))
"""The example's order of arrival: C-13 and A-16 come too late.  Type and timestamp."""

_WINDOW = 3


def _batch() -> pa.RecordBatch:
    return pa.record_batch({"time": [t for _, t in ARRIVED], "type": [k for k, _ in ARRIVED],
                            "arrival": [20 + i for i in range(len(ARRIVED))]})


def matches(kinds: list[str], times: list[int]) -> int:
    """Matches of “A followed by B followed by C within 3” that an engine finds which trusts order.
    """
    ais = new_ais(3, len(times) + 1)
    push_ordered(ais, np.array(["ABC".index(k) for k in kinds]), np.array(times), _WINDOW)
    return int(ais.tally[MATCHES])


def _line(out: Path, name: str, rows: pa.Table, printed: str, expected: bool) -> Outcome:
    kinds, times = rows["type"].to_pylist(), rows["time"].to_pylist()
    late = times < np.maximum.accumulate(times)
    with pictures.figure(pictures.WIDE, 1.2) as picture:
        axes = picture.subplots()
        bare(axes, len(times) + 1, 2)
        events_on_a_line(axes, 1, [(i + 1, f"{k}-{t}", "#fbe3d6" if b else "#e8f1f8")
                                   for i, (k, t, b) in enumerate(zip(kinds, times, late,
                                                                     strict=True))])
    found = matches(kinds, times)
    return finish(picture, out, name, ["type", "time"],
                  [list(r) for r in zip(kinds, times, strict=True)],
                  [claim("matches of “A followed by B followed by C within 3 time units”", printed,
                        str(found), (found > 0) == expected)],
                  "The figure's stream is lost but for C-13 and A-16; orange: out of order.")


def figure1(out: Path, quick: bool) -> Outcome:
    """Sources, network and buffer, with what a small feed does in them."""
    feed = generate(Feed(sources=4, duration="20s", seed=3))
    kernel = Reorder(Static("300ms"), feed.roles)
    ready, late, _ = reorder_table(feed.table, kernel)
    names = sorted(set(feed.table["source"].to_pylist()))
    delay = feed.delays() / 1000
    with pictures.figure(pictures.WIDE, 2.4) as picture:
        axes = picture.subplots()
        bare(axes, 12, 4)
        for i, name in enumerate(names):
            count = feed.table["source"].to_pylist().count(name)
            box(axes, 1.4, 3.5 - i, f"sensor node {name}\n{count} events", width=2.3, height=0.8)
            arrow(axes, (2.6, 3.5 - i), (4.0, 2))
        box(axes, 5.2, 2, f"network\n{np.percentile(delay, 5):.0f} … "
                          f"{np.percentile(delay, 95):.0f} ms", width=2.2, height=1.0,
            colour="#eeeeee")
        arrow(axes, (6.4, 2), (7.2, 2))
        box(axes, 8.3, 2, f"Reorder\n{kernel.policy}", width=2.1, height=1.0, colour="#fdf3dd",
            size=6.5)
        arrow(axes, (9.4, 2.3), (10.0, 3))
        arrow(axes, (9.4, 1.7), (10.0, 1))
        box(axes, 11, 3, f"event processing\n{ready.num_rows} in order", width=1.9)
        box(axes, 11, 1, f"late stream\n{late.num_rows} late", width=1.9)
    return finish(picture, out, "reorder-fig1", ["what", "events"],
                  [["received", len(feed)], ["in order", ready.num_rows], ["late", late.num_rows]])


def figure2(out: Path, quick: bool) -> Outcome:
    """The stream as it arrives."""
    return _line(out, "reorder-fig2", pa.Table.from_batches([_batch()]), "not able to match", False)


def figure3(out: Path, quick: bool) -> Outcome:
    """The stream as `Reorder` hands it on."""
    kernel = Reorder(Static("20s"), Roles("time", "arrival", unit="s"))
    ready, _, _ = reorder_table(pa.Table.from_batches([_batch()]), kernel)
    return _line(out, "reorder-fig3", ready, "able to match", True)


def figure4(out: Path, quick: bool) -> Outcome:
    """From detection to the answer: the mean durations of a recording."""
    found = find_recordings("d")
    if not found:
        raise DataError("Fig. 4 is drawn from a recording, D-1 … D-5, which are not here",
                        step="reproduce")
    table = read_dataset(found[0]).table
    stamps = [table[c].cast(pa.float64()).to_numpy() for c in
              ("S.Client.Detection.Time", "C.Send.Time", "C.Server.Message.received.Time",
               "C.Server.Message.Processed.Time", "C.Arrival.Time")]
    names = ("detection\ndt", "client sends\ncst", "server receives\nsrect",
             "server answers\nsrest", "client receives\ncrt")
    steps = [float(np.mean(b - a)) for a, b in pairwise(stamps)]
    at = np.concatenate([[0.0], np.cumsum(steps)])
    with pictures.figure(pictures.WIDE, 1.9) as picture:
        axes = picture.subplots()
        bare(axes, 1, 3)
        axes.set(xlim=(-0.06 * at[-1], 1.08 * at[-1]), ylim=(-0.1, 2.8))
        axes.axhline(1, color="#999999", linewidth=0.8)
        for i, (x, name) in enumerate(zip(at, names, strict=True)):
            axes.plot([x], [1], marker="o", color=pictures.COLOURS[0 if i in (0, 1, 4) else 1])
            axes.text(x, 1.25 + 0.75 * (i % 2), name, ha="center", fontsize=7, va="bottom")
        spans = (("transmission time", 0, 2, 0.55), ("full processing time", 0, 4, 0.05))
        for name, a, b, y in spans:
            axes.annotate("", (at[b], y), (at[a], y), arrowprops={"arrowstyle": "<->", "lw": 0.7})
            axes.text((at[a] + at[b]) / 2, y + 0.08, f"{name}: {at[b] - at[a]:.1f} ms",
                      ha="center", fontsize=7)
    full = float(at[4])
    return finish(picture, out, "reorder-fig4", ["moment", "mean_ms_after_detection"],
                  [[n.replace("\n", " "), float(x)] for n, x in zip(names, at, strict=True)], [
        Fact("mean full processing time of D-1 (ms)", 181.1, round(full, 1),
             abs(full - 181.1) < 0.1, "" if abs(full - 181.1) < 0.1 else "another recording")],
        f"Mean durations of {found[0].stem.upper()}.")


EXPERIMENTS = {"reorder-fig1": figure1, "reorder-fig2": figure2, "reorder-fig3": figure3,
               "reorder-fig4": figure4}
"""By the names of the catalogue."""
