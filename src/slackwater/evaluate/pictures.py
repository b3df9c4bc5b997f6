"""The look that all pictures share: sizes, colours, markers, and how they are saved."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.figure import Figure

from slackwater.core.errors import ConfigError

__all__ = ["COLOURS", "MARKERS", "WIDE", "figure", "save", "save_as", "style_of", "svg_bytes"]

WIDE = 7.2
"""Width of a page's text in inches."""

# Okabe and Ito's palette, which people with any colour vision can tell apart, and grey
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#555555", "#F0E442")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")

_STYLE: Mapping[str, Any] = {
    "font.family": "sans-serif", "font.size": 8, "axes.titlesize": 8.5, "axes.labelsize": 8,
    "axes.spines.top": False, "axes.spines.right": False, "axes.linewidth": 0.6,
    "axes.grid": True, "grid.color": "#dddddd", "grid.linewidth": 0.5, "axes.axisbelow": True,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "legend.frameon": False,
    "legend.fontsize": 7.5, "lines.linewidth": 1.2, "lines.markersize": 3.5,
    "pdf.fonttype": 42,  # text stays text in the PDF
}


@contextmanager
def figure(width: float = WIDE, height: float = 3.0) -> Iterator[Figure]:
    """A figure whose axes are made, and saved, in the shared style."""
    with mpl.rc_context(dict(_STYLE)):
        yield Figure(figsize=(width, height), layout="constrained")


def save(picture: Figure, path: Path) -> list[Path]:
    """Write a picture as PNG and, beside it, as PDF."""
    path.parent.mkdir(parents=True, exist_ok=True)
    files = [path.with_suffix(".png"), path.with_suffix(".pdf")]
    with mpl.rc_context(dict(_STYLE)):
        picture.savefig(files[0], dpi=200)
        # no date inside: the same data gives the same file
        picture.savefig(files[1], metadata={"CreationDate": None})
    return files


def save_as(picture: Figure, path: Path) -> None:
    """Write a picture in the one format that the suffix names."""
    if path.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise ConfigError("is not a kind of picture", step="picture", expected=".png, .pdf or .svg",
                          got=path.name)
    path.parent.mkdir(parents=True, exist_ok=True)
    with mpl.rc_context(dict(_STYLE)):
        picture.savefig(path, dpi=200)


def svg_bytes(picture: Figure) -> bytes:
    """A picture as SVG, for a page; the same data gives the same bytes."""
    out = io.BytesIO()
    with mpl.rc_context({**_STYLE, "svg.hashsalt": "slackwater"}):
        picture.savefig(out, format="svg", metadata={"Date": None})
    return out.getvalue()


def style_of(index: int) -> dict[str, Any]:
    """Colour and marker of the nth thing compared."""
    return {"color": COLOURS[index % len(COLOURS)], "marker": MARKERS[index % len(MARKERS)]}
