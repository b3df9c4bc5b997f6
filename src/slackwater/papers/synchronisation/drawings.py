"""Figures 1 to 3 of paper 1, drawn from the running methods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slackwater.evaluate import pictures
from slackwater.papers.drawing import arrow, bare, box, finish
from slackwater.papers.outcome import Fact, Outcome, claim
from slackwater.papers.synchronisation.counts import ARRIVALS, SOURCES, example
from slackwater.papers.synchronisation.streams import ROLES, START
from slackwater.synchronise import FrontierSync, SyncModule, TreeSync
from slackwater.synchronise.pool import ROOT
from slackwater.synchronise.structure import ClassicLogic

__all__ = ["EXPERIMENTS", "tree_of_the_example"]

_STREAMS = ("1", "2", "3", "4")


def figure1(out: Path, quick: bool) -> Outcome:
    """The module between adapters and engine, with what is in it after the example."""
    fed: list[int] = []
    module = SyncModule(FrontierSync(ROLES, sources=_STREAMS, max_delay=None),
                        lambda rows: fed.extend(rows["time"].to_pylist()), capacity=4)
    module.push(example())
    held = len(ARRIVALS) - len(fed) - module.waiting
    rows = [["received", len(ARRIVALS)], ["held by the synchroniser", held],
            ["waiting in the queue", module.waiting], ["fed to the engine", len(fed)]]
    with pictures.figure(pictures.WIDE, 2.4) as picture:
        axes = picture.subplots()
        bare(axes, 12, 4)
        for i, s in enumerate(_STREAMS):
            count = sum(SOURCES[t] == s for t in ARRIVALS)
            box(axes, 1.2, 3.5 - i, f"DS{s}: {count} events", width=1.9, height=0.7)
            arrow(axes, (2.2, 3.5 - i), (3.5, 2))
        box(axes, 4.6, 2, f"FrontierSync\n{held} held", width=2.0, height=1.2, colour="#fdf3dd")
        arrow(axes, (5.7, 2), (6.6, 2))
        box(axes, 7.6, 2, f"output queue\n{module.waiting} of {module.capacity}", width=1.9,
            height=1.2, colour="#fdf3dd")
        arrow(axes, (8.6, 2), (9.5, 2), "feeder")
        box(axes, 10.6, 2, f"engine\n{len(fed)} events in order", width=2.2, height=1.2)
    order = fed == sorted(fed)
    return finish(picture, out, "sync-fig1", ["where", "events"], rows, [
        claim("what leaves is in order", "“processing is done in proper order”",
             "yes" if order else "no", order)])


def figure2(out: Path, quick: bool) -> Outcome:
    """Arrivals of the four streams, and when processing begins."""
    logic = TreeSync(ROLES, sources=_STREAMS, max_delay=None).start()
    began = None
    for i in range(len(ARRIVALS)):
        if logic.push(example().slice(i, 1)).ready.num_rows and began is None:
            began = i
    with pictures.figure(pictures.WIDE, 2.2) as picture:
        axes = picture.subplots()
        newest = -1
        for i, t in enumerate(ARRIVALS):
            y = 4 - int(SOURCES[t])
            late = t < newest
            newest = max(newest, t)
            axes.plot([i], [y], marker="o", markersize=13,
                      color="#fbe3d6" if late else "#e8f1f8", markeredgecolor="#556677",
                      markeredgewidth=0.6)
            axes.text(i, y, str(t), ha="center", va="center", fontsize=7)
        if began is not None:
            axes.axvline(began, color=pictures.COLOURS[1], linestyle="--")
            axes.text(began - 0.1, 3.45, f"processing begins: event {ARRIVALS[began]} arrives",
                      ha="right", fontsize=7)
        axes.set_yticks([3, 2, 1, 0], ["DS1", "DS2", "DS3", "DS4"])
        axes.set(xlabel="order of arrival (orange: an event with a later timestamp came before)",
                 ylim=(-0.6, 3.8))
    first = ARRIVALS[began] if began is not None else -1
    fourth = ARRIVALS.index(4) + 1
    return finish(picture, out, "sync-fig2", ["arrival", "timestamp", "stream"],
                  [[i, t, SOURCES[t]] for i, t in enumerate(ARRIVALS)], [
        claim("event with whose arrival method 1 begins", 9.0, float(first), first == 9),
        claim("event 4 arrives as number", 9.0, float(fourth), fourth == 9)],
        "The order of arrival is partly lost in the text; this one has the properties it names.")


def tree_of_the_example() -> list[dict[str, Any]]:
    """The nodes of method 1's tree when event 9 has arrived: time, links, readiness bits.

    A silent fifth stream keeps the root, which is ready by then, from leaving.
    """
    logic = TreeSync(ROLES, sources=(*_STREAMS, "5"), max_delay=None).start()
    logic.push(example())
    assert isinstance(logic, ClassicLogic)
    pool = logic._pools[0]
    found: list[dict[str, Any]] = []

    def visit(x: int, depth: int, left: int, right: int) -> None:
        node = pool.node[x]
        found.append({"node": int(x), "time": int(node["time"] - START), "depth": depth,
                      "x": (left + right) / 2, "parent": int(node["parent"]),
                      "bits": "".join(str(int(pool.bits[x, 0]) >> b & 1) for b in range(4))})
        middle = (left + right) // 2
        if node["left"]:
            visit(node["left"], depth + 1, left, middle)
        if node["right"]:
            visit(node["right"], depth + 1, middle, right)

    visit(pool.head[ROOT], 0, 0, 64)
    return found


def figure3(out: Path, quick: bool) -> Outcome:
    """The tree of method 1 and its readiness tables."""
    nodes = tree_of_the_example()
    order = {n["node"]: i for i, n in enumerate(sorted(nodes, key=lambda n: n["time"]))}
    at = {n["node"]: (1 + 1.35 * order[n["node"]], 5.2 - n["depth"]) for n in nodes}
    with pictures.figure(pictures.WIDE, 3.4) as picture:
        axes = picture.subplots()
        bare(axes, 16.5, 6)
        for n in nodes:
            if n["parent"]:
                (x0, y0), (x1, y1) = at[n["parent"]], at[n["node"]]
                axes.plot([x0, x1], [y0, y1], color="#999999", linewidth=0.8, zorder=1)
        for n in nodes:
            ready = n["bits"] == "1111"
            box(axes, *at[n["node"]], f"{n['time']}\n{n['bits']}", width=1.15, height=0.72,
                colour="#d9ead3" if ready else "#e8f1f8", size=7)
        axes.text(0.2, 0.15, "below the timestamp: one bit per stream DS1 … DS4, set once it has "
                             "shown an event at or after the node (green: all have)", fontsize=7)
    levels = ["  ".join(str(n["time"]) for n in sorted(nodes, key=lambda n: n["time"])
                        if n["depth"] == depth) for depth in (3, 4)]
    return finish(picture, out, "sync-fig3", ["timestamp", "depth", "bits"],
                  [[n["time"], n["depth"], n["bits"]] for n in nodes], [
        claim("events on the two lowest levels of the tree", "1 5 8; 2 4 9",
              "; ".join(levels).replace("  ", " "), levels == ["1  5  8", "2  4  9"]),
        Fact("root, and its readiness with event 9 (DS1 … DS4)", None,
             f"{nodes[0]['time']}, {nodes[0]['bits']}")])


EXPERIMENTS = {"sync-fig1": figure1, "sync-fig2": figure2, "sync-fig3": figure3}
"""By the names of the catalogue."""
