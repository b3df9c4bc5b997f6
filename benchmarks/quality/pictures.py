"""Each feed as a picture: `python -m benchmarks.quality.pictures --out docs/feeds FILE|KIND …`.

Three panels over the events in arrival order: how far events were delayed, how long each policy
made them wait, and how many rows each policy had let go too soon, against the loss asked for.
"""

from __future__ import annotations

import argparse
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.quality.kinds import KINDS, events_of
from slackwater.datasets import read_dataset
from slackwater.evaluate import pictures
from slackwater.evaluate.live import best_constant
from slackwater.evaluate.metrics import BEST, constant_run
from slackwater.evaluate.run import Events, Run, run, usable_events
from slackwater.reorder import DropRatio, MeanPlusRange, Percentile, Tide

_BINS = 240


def runs_of(events: Events, loss: float) -> dict[str, Run]:
    """What each policy did."""
    buffer = best_constant(events.time, events.arrival, events.key, loss)
    policies = {"Tide": Tide(loss=loss), "Percentile": Percentile(loss=loss),
                "DropRatio": DropRatio(ratio=loss), "MeanPlusRange": MeanPlusRange()}
    return {BEST: constant_run(events, buffer),
            **{name: run(events, policy) for name, policy in policies.items()}}


def picture_of(events: Events, loss: float) -> Figure:
    """The three panels."""
    runs = runs_of(events, loss)
    edges = np.linspace(0, len(events), _BINS + 1).astype(np.int64)
    middle = (edges[:-1] + edges[1:]) / 2 / 1000
    delay = (events.arrival - events.time) / 1e6
    with pictures.figure(pictures.WIDE, 5.2) as picture:
        above, waits, late = picture.subplots(3, 1, sharex=True)
        low, mid, top = (_binned(delay, edges, lambda x, q=q: np.quantile(x, q))
                         for q in (0.01, 0.5, 1.0))
        above.fill_between(middle, low, top, color=pictures.COLOURS[5], alpha=0.4, linewidth=0,
                           label="1 % to greatest")
        above.plot(middle, mid, color=pictures.COLOURS[0], label="median")
        _scale(above, delay)
        above.set_ylabel("delay (s)")
        above.set_title(f"{events.name}: {len(events):,} events of {len(events.sources)} sources, "
                        f"at most {100 * loss:g} % late")
        above.legend(loc="upper left", ncols=2)
        for number, (name, done) in enumerate(runs.items()):
            style: dict[str, Any] = {"color": pictures.COLOURS[number]} if number else {
                "color": "#555555", "linestyle": "--"}
            wait = np.where(done.late, 0, done.released - events.arrival) / 1e6
            waits.plot(middle, _binned(wait, edges, np.mean), **style)
            share = 100 * np.cumsum(done.late)[edges[1:] - 1] / edges[1:]
            late.plot(middle, share, label=f"{name}: {done.late.sum():,} late", **style)
        _scale(waits, np.concatenate([done.released - events.arrival
                                      for done in runs.values()]) / 1e6)
        waits.set_ylabel("mean wait (s)")
        late.axhline(100 * loss, color="black", linewidth=0.6)
        late.set_yscale("symlog", linthresh=100 * loss)
        late.set_ylim(0, None)
        late.set_ylabel("late so far (%)")
        late.set_xlabel("events in arrival order (thousands)")
        picture.legend(*late.get_legend_handles_labels(), loc="outside lower center", ncols=3,
                       columnspacing=1.2)
        return picture


def _binned(values: NDArray[Any], edges: NDArray[np.int64], figure: Any) -> NDArray[np.float64]:
    return np.array([figure(values[a:b]) if b > a else np.nan
                     for a, b in pairwise(edges)])


def _scale(axes: Any, values: NDArray[Any]) -> None:
    """Logarithmic where the values span several orders of magnitude."""
    size = np.abs(values - np.median(values))
    usual = float(np.quantile(size, 0.5))
    if usual > 0 and size.max() > 100 * usual:
        axes.set_yscale("symlog", linthresh=max(float(np.quantile(np.abs(values), 0.5)), usual))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("feeds", nargs="+", help="files, or names of generated kinds")
    parser.add_argument("--loss", type=float, default=0.001)
    parser.add_argument("--max-delay", default=None, help="leave out rows older than this")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    for feed in asked.feeds:
        events = events_of(feed, 1, 100_000) if feed in KINDS else usable_events(
            read_dataset(feed), max_future_skew="10000 days", max_delay=asked.max_delay)
        file = asked.out / f"{events.name.replace('.csv', '')}.png"
        pictures.save_as(picture_of(events, asked.loss), file)
        print(file, flush=True)


if __name__ == "__main__":
    main()
