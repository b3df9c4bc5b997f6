"""A run as a picture: every event's delay, the buffer time over it, late events marked (Fig. 9)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from slackwater.evaluate import pictures
from slackwater.evaluate.run import Run

__all__ = ["trace_picture"]


def trace_picture(runs: Sequence[tuple[str, Run]], columns: int = 2) -> Figure:
    """One panel a run, under its title."""
    columns = min(columns, len(runs))
    lines = -(-len(runs) // columns)
    with pictures.figure(pictures.WIDE, 0.5 + 1.75 * lines) as picture:
        grid = picture.subplots(lines, columns, squeeze=False)
        for axes in grid.flat[len(runs):]:
            axes.set_visible(False)
        for axes, (title, done) in zip(grid.flat, runs, strict=False):
            _draw(axes, done)
            axes.set_title(title, loc="left")
        for axes in grid[:, 0]:
            axes.set_ylabel("delay, buffer time (ms)")
        for axes in grid[-1, :]:
            axes.set_xlabel("arrival (s after the first)")
        handles, labels = grid.flat[0].get_legend_handles_labels()
        legend = picture.legend(handles, labels, loc="outside lower center", ncols=3)
        for handle in filter(None, legend.legend_handles):
            handle.set_alpha(1.0)
        return picture


def _draw(axes: Any, done: Run) -> None:
    events = done.events
    if not len(events):
        return
    x = (events.arrival - events.arrival[0]) / 1e6
    delay = (events.arrival - events.time) / 1000
    on_time = ~done.late
    # tens of thousands of points stay small in a PDF only as an image
    axes.plot(x[on_time], delay[on_time], linestyle="none", marker=".", markersize=1.2, alpha=0.35,
              color="#8899aa", rasterized=True, label="delay of an event")
    axes.plot(x, done.buffer / 1000, color="#009E73", drawstyle="steps-post", linewidth=1.1,
              label="buffer time", rasterized=len(x) > 50_000)
    axes.plot(x[done.late], delay[done.late], linestyle="none", marker="o", markersize=3,
              color="#D6007F", label="not compensated", zorder=4)
    axes.set_xlim(0, float(x[-1]) if len(x) > 1 and x[-1] > 0 else 1.0)
    lowest = float(np.min(delay))
    axes.set_ylim(bottom=min(0.0, lowest * 1.05))
