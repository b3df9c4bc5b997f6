"""What the drawings share: boxes with arrows, events on a line, text in fixed width."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from slackwater.evaluate import pictures
from slackwater.papers.outcome import Fact, Outcome, write_table

__all__ = ["arrow", "bare", "box", "events_on_a_line", "finish", "lines_of_text"]


def bare(axes: Axes, width: float, height: float) -> None:
    """A sheet of that size, without ticks and frame."""
    axes.set(xlim=(0, width), ylim=(0, height))
    axes.axis("off")


def box(axes: Axes, x: float, y: float, text: str, *, width: float = 2.0, height: float = 0.8,
        colour: str = "#e8f1f8", size: float = 7.5) -> None:
    """A box around its middle."""
    axes.text(x, y, text, ha="center", va="center", fontsize=size, zorder=3)
    axes.add_patch(_rectangle(x - width / 2, y - height / 2, width, height, colour))


def _rectangle(x: float, y: float, width: float, height: float, colour: str) -> Any:
    from matplotlib.patches import FancyBboxPatch

    return FancyBboxPatch((x, y), width, height, boxstyle="round,pad=0.02,rounding_size=0.08",
                          facecolor=colour, edgecolor="#556677", linewidth=0.7, zorder=2)


def arrow(axes: Axes, start: tuple[float, float], end: tuple[float, float], text: str = "") -> None:
    """From one place to another, with a word on it."""
    axes.annotate("", end, start, arrowprops={"arrowstyle": "->", "color": "#556677", "lw": 0.8})
    if text:
        axes.text((start[0] + end[0]) / 2, (start[1] + end[1]) / 2, text, ha="center",
                  va="center", fontsize=6.5, zorder=3,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})


def events_on_a_line(axes: Axes, y: float, events: Sequence[tuple[float, str, str]]) -> None:
    """Circles with a name on a line: place, name, colour."""
    axes.axhline(y, color="#999999", linewidth=0.6, zorder=0)
    for x, name, colour in events:
        axes.plot([x], [y], marker="o", markersize=19, color=colour, markeredgecolor="#556677",
                  markeredgewidth=0.6)
        axes.text(x, y, name, ha="center", va="center", fontsize=6.5)


def lines_of_text(axes: Axes, text: str, *, size: float = 7.0) -> None:
    """Text in fixed width, from the upper left."""
    axes.axis("off")
    axes.text(0.0, 1.0, text, family="monospace", fontsize=size, va="top", ha="left",
              transform=axes.transAxes)


def finish(picture: Figure, out: Path, name: str, head: Sequence[str],
           rows: Sequence[Sequence[Any]], facts: Sequence[Fact] = (), note: str = "") -> Outcome:
    """Write the data and the picture."""
    return Outcome([write_table(out / f"{name}.csv", head, rows),
                    *pictures.save(picture, out / name)], facts,
                   note=note or "Drawn from the state of the running code.")
