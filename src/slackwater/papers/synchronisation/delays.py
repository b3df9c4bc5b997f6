"""Figure 6 of paper 1: delays on the first two streams; and the delay that method 2 was made for.

The *system delay* of an event is the time from the arrival at which it is ready (every live source
has shown an event at or after it) to the arrival at which it leaves.  `FrontierSync`, `method 2`
and its balanced variant let an event go at that very arrival.  Method 1 tests the root alone: what
is ready to the left of a root that is not waits for it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.evaluate import pictures
from slackwater.papers.outcome import Outcome, claim, write_table
from slackwater.papers.synchronisation.streams import (
    METHODS,
    ROLES,
    Streams,
    draw_methods,
    measure,
)
from slackwater.synchronise import Synchroniser

__all__ = ["EXPERIMENTS", "system_delay"]

_DELAYS = ((0, 0), (100_000, 50_000), (300_000, 100_000))


def figure6(out: Path, quick: bool) -> Outcome:
    """Processing time when the first two streams are delayed."""
    events = 1_000 if quick else 10_000
    counts = [4, 16] if quick else [2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 256]
    rows = []
    for label, method in METHODS.items():
        measure(method, Streams(2, 10), 1)
        for delay in _DELAYS:
            for n in counts:
                seconds, visited = measure(method, Streams(n, events, delay=delay),
                                           1 if quick else 2)
                rows.append((label, delay[0] // 1000, delay[1] // 1000, n, seconds, visited))
    path = write_table(out / "sync-fig6.csv", ["method", "delay1_ms", "delay2_ms", "streams",
                                               "seconds", "visited"], rows)
    with pictures.figure(pictures.WIDE, 3.0) as picture:
        axes = picture.subplots(1, len(_DELAYS), sharey=True)
        for axis, (one, two) in zip(axes, _DELAYS, strict=True):
            draw_methods(axis, [(m, n, 1e3 * s) for m, a, b, n, s, _ in rows
                                if (a, b) == (one // 1000, two // 1000)])
            axis.set(title=f"delays {one // 1000} ms, {two // 1000} ms", xlabel="data streams",
                     yscale="log")
        axes[0].set_ylabel("processor time (ms)")
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    files = [path, *pictures.save(picture, out / "sync-fig6")]
    if quick:
        return Outcome(files)
    took = {(m, a, n): s for m, a, _, n, s, _ in rows}
    seen = {(m, a, n): v for m, a, _, n, _, v in rows}
    top = counts[-1]
    more = [took["method 2", a, n] / took["method 1", a, n] for a in (100, 300)
            for n in counts if n >= 64]
    ratio = sum(more) / len(more)
    nodes = seen["method 2", 300, top] / seen["method 1", 300, top]
    growth, visits = (of["method 1", 300, top] / of["method 1", 300, 64] / (top / 64)
                      for of in (took, seen))
    return Outcome(files, [
        claim("time of method 2 ÷ method 1 with delays, 64 streams and more",
              "above 1: “the second method requires more cycles”", f"{ratio:.2f}", ratio > 1.0,
              f"method 2 visits {nodes:.2f} times the nodes of method 1, and the mask that costs "
              "it more in the paper is a few words here, touched only where its walk turns left"),
        claim(f"growth of the time ÷ growth of the streams, 64 to {top}, delays 300 and 100 ms",
              "“not linear”", f"{growth:.2f}", not 0.85 < growth < 1.15,
              f"the nodes that an event visits grow as the streams do ({visits:.2f} times): those "
              "that wait, streams × delay ÷ interval; and a table of several words costs no more "
              "than one of a single word (see Fig. 4), which it did in the paper"),
    ], note="The tree's depth, and with it the time, follows the greatest delay.")


def system_delay(method: type[Synchroniser], streams: Streams) -> NDArray[np.float64]:
    """For each event, milliseconds from being ready to leaving, on the arrival clock."""
    left = {}
    for each in (METHODS["FrontierSync"], method):
        logic = each(ROLES, sources=streams.names, max_delay=None).start()
        batch = streams.batch()
        numbered = batch.append_column("n", pa.array(np.arange(batch.num_rows)))
        out = logic.push(numbered).ready
        at = np.full(batch.num_rows, -1, np.int64)
        at[out["n"].to_numpy()] = out["_released"].cast(pa.int64()).to_numpy()
        left[each] = at
    ready, leaves = left[METHODS["FrontierSync"]], left[method]
    both = (ready >= 0) & (leaves >= 0)  # what is still held at the end has no end of its wait
    return np.asarray((leaves[both] - ready[both]) / 1000, np.float64)


def latency(out: Path, quick: bool) -> Outcome:
    """System delay of the methods by number of streams, with delays on two of them."""
    events = 1_000 if quick else 10_000
    counts = [4, 16] if quick else [2, 4, 8, 16, 32, 64, 128, 256]
    rows = []
    for label, method in METHODS.items():
        for n in counts:
            waits = system_delay(method, Streams(n, events, delay=(300_000, 100_000)))
            rows.append((label, n, float(waits.mean()), float(waits.max())))
    path = write_table(out / "sync-latency.csv", ["method", "streams", "mean_ms", "max_ms"], rows)
    with pictures.figure(pictures.WIDE, 3.0) as picture:
        axes = picture.subplots(1, 2)
        for axis, column, what in zip(axes, (2, 3), ("mean", "greatest"), strict=True):
            draw_methods(axis, [(r[0], r[1], float(r[column])) for r in rows])
            axis.set(xlabel="data streams", ylabel=f"{what} system delay (ms)", xscale="log")
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4)
    mean = {(r[0], r[1]): r[2] for r in rows}
    first = [mean["method 1", n] for n in counts]
    none = all(mean[m, n] == 0 for m in METHODS if m != "method 1" for n in counts)
    return Outcome([path, *pictures.save(picture, out / "sync-latency")], [
        claim("mean system delay of method 1, by streams (ms)", "“reduce the system delay of the "
              "first method”", ", ".join(f"{v:.1f}" for v in first), max(first) > 0),
        claim("mean system delay of method 2 (ms)", "lower", "0" if none else "above 0", none),
    ])


EXPERIMENTS = {"sync-fig6": figure6, "sync-latency": latency}
"""By the names of the catalogue."""
