"""Policies × datasets as pictures: the paper's scatter (Figs. 6–8), and the table as a map."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from matplotlib.figure import Figure

from slackwater.evaluate import pictures
from slackwater.evaluate.metrics import Metrics
from slackwater.evaluate.table import label

__all__ = ["heat_picture", "scatter_picture"]


def scatter_picture(rows: Sequence[Metrics]) -> Figure:
    """Overfitting against not compensated events, one panel a dataset; lower left is better."""
    names = list(dict.fromkeys(m.dataset for m in rows))
    policies = list(dict.fromkeys(m.policy for m in rows))
    columns = min(len(names), 3 if len(names) < 4 else 4)
    lines = -(-len(names) // columns)
    with pictures.figure(pictures.WIDE, 0.5 + 1.9 * lines) as picture:
        grid = picture.subplots(lines, columns, squeeze=False)
        for axes in grid.flat[len(names):]:
            axes.set_visible(False)
        for axes, name in zip(grid.flat, names, strict=False):
            for m in (m for m in rows if m.dataset == name and m.overfitting_pct is not None):
                axes.plot([m.overfitting_pct], [m.not_compensated_pct], linestyle="none",
                          markersize=5.5, markeredgecolor="white", markeredgewidth=0.5,
                          clip_on=False, zorder=3, **pictures.style_of(policies.index(m.policy)))
            axes.set_title(name.upper())
            shown = [m for m in rows if m.dataset == name]
            axes.set_xlim(0, 1.1 * max([1.0, *(m.overfitting_pct or 0.0 for m in shown)]))
            # below one percent, differences are not worth a full panel
            axes.set_ylim(0, 1.1 * max([1.0, *(m.not_compensated_pct for m in shown)]))
        for axes in grid[:, 0]:
            axes.set_ylabel("not compensated (%)")
        for number, axes in enumerate(grid.flat[:len(names)]):
            if number + columns >= len(names):
                axes.set_xlabel("overfitting (%)")
        handles = [grid.flat[0].plot([], [], linestyle="none", markersize=5.5,
                                     label=label(p), **pictures.style_of(n))[0]
                   for n, p in enumerate(policies)]
        picture.legend(handles=handles, loc="outside lower center", ncols=min(len(policies), 7),
                       handletextpad=0.2, columnspacing=1.2)
        return picture


def heat_picture(rows: Sequence[Metrics]) -> Figure:
    """The whole table as two maps: not compensated (%) and mean latency (ms)."""
    names = list(dict.fromkeys(m.dataset for m in rows))
    policies = list(dict.fromkeys(m.policy for m in rows))
    found = {(m.dataset, m.policy): m for m in rows}
    panels: list[tuple[str, Callable[[Metrics], float | None], str]] = [
        ("not compensated (% of out-of-order events)", lambda m: m.not_compensated_pct, ".2f"),
        ("mean latency (ms)", lambda m: m.latency_ms["mean"], ".0f"),
    ]
    with pictures.figure(pictures.WIDE, 1.0 + 0.26 * len(names)) as picture:
        for axes, (title, figure_of, form) in zip(picture.subplots(1, 2, sharey=True), panels,
                                                  strict=True):
            values = [[figure_of(found[n, p]) or 0.0 for p in policies] for n in names]
            top = max(max(line) for line in values) or 1.0
            shades = [[(v / top) ** 0.5 for v in line] for line in values]
            axes.imshow(shades, cmap="Blues", vmin=0, vmax=1.15, aspect="auto")
            for y, line in enumerate(values):
                for x, value in enumerate(line):
                    axes.text(x, y, format(value, form), ha="center", va="center", fontsize=6.5,
                              color="white" if shades[y][x] > 0.7 else "black")
            axes.set_title(title)
            axes.set_xticks(range(len(policies)), [label(p) for p in policies],
                            rotation=40, ha="right", rotation_mode="anchor", fontsize=7)
            axes.set_yticks(range(len(names)), [n.upper() for n in names])
            axes.grid(visible=False)
            axes.tick_params(length=0)
            axes.spines[:].set_visible(False)
        return picture
