"""Table I of paper 1: comparisons and updates of the methods for the example of its Figure 2.

The figure's arrival order is partly lost; the one used here gives the tree of Figure 3, event 4
arrives ninth, and processing by method 1 begins with event 9, as the text says.  The paper's lists
hold everything until then; ours let go at once what may leave, so for this table they are made to
wait by a silent fifth source.

How far the lost order matters can be told: `possible_orders` has all that agree with the text.  A
tree's comparisons are the sum of its depths and its updates the right turns, the same for all of
them.  A list sets a bit in each earlier event that is there, so its updates are the pairs that come
in order, the same number for both kinds of list.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from slackwater.evaluate import pictures
from slackwater.papers.outcome import UNEXPLAINED, Outcome, claim, write_table
from slackwater.papers.synchronisation.streams import ROLES, START
from slackwater.synchronise import (
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    Synchroniser,
    TreeSync,
)
from slackwater.synchronise.structure import ClassicLogic

__all__ = ["ARRIVALS", "EXPERIMENTS", "SOURCES", "bisections", "counted", "example",
           "possible_orders"]

ARRIVALS = (6, 0, 10, 12, 3, 5, 1, 2, 4, 7, 8, 9)
"""Original timestamps in order of arrival."""

SOURCES = {6: "1", 7: "1", 11: "1", 0: "2", 1: "2", 2: "2", 4: "2", 9: "2", 3: "3", 5: "3",
           8: "3", 10: "4", 12: "4"}
"""Which stream an event belongs to."""

_PRINTED: dict[type[Synchroniser], tuple[int, int]] = {
    IndexedListSync: (25, 39), LinkedListSync: (37, 37), TreeSync: (30, 17)}


def possible_orders() -> list[tuple[int, ...]]:
    """Every order of arrival that agrees with the text.

    Each stream is in order, the tree is that of Figure 3, event 4 comes ninth, event 9 last.
    """
    before: dict[int, set[int]] = {t: {u for u in ARRIVALS if u < t and SOURCES[u] == SOURCES[t]}
                                   for t in ARRIVALS}
    for i, t in enumerate(ARRIVALS):  # its parent in the tree is its nearest event of those before
        earlier = [u for u in ARRIVALS[:i] if u < t]
        later = [u for u in ARRIVALS[:i] if u > t]
        near = [f(some) for f, some in ((max, earlier), (min, later)) if some]
        if near:
            before[t].add(max(near, key=ARRIVALS.index))
    found: list[tuple[int, ...]] = []

    def go(order: tuple[int, ...]) -> None:
        if len(order) == len(ARRIVALS):
            found.append(order)
        for t in ARRIVALS:
            in_place = (t == 4) == (len(order) == 8) and (t == 9) == (len(order) == 11)
            if t not in order and in_place and before[t] <= set(order):
                go((*order, t))

    go(())
    return found


def bisections(order: tuple[int, ...]) -> int:
    """Comparisons of a list that finds each place by bisection."""
    held: list[int] = []
    count = 0
    for t in order:
        low, high = 0, len(held)
        while low < high:
            count += 1
            middle = (low + high) // 2
            low, high = (low, middle) if t < held[middle] else (middle + 1, high)
        held.insert(low, t)
    return count


def _reasons() -> dict[tuple[type[Synchroniser], int], str]:
    orders = possible_orders()
    fewest = min(map(bisections, orders))
    return {
        (IndexedListSync, 0): f"in none of the {len(orders)} orders of arrival that agree with the "
                              f"text does a bisection take fewer than {fewest} comparisons: the "
                              "paper's must be another search",
        (TreeSync, 0): "the depths of Figure 3's tree add up to 29 in whatever order it was made: "
                       "the thirtieth is no comparison of an insertion",
        (LinkedListSync, 1): "a bit is set in each earlier event that is there, by either list: "
                             "the 39 that the paper has for the indexed list",
    }


def example(events: tuple[int, ...] = ARRIVALS) -> pa.RecordBatch:
    """The events of Figure 2 in order of arrival."""
    return pa.record_batch({"time": [START + t for t in events],
                            "arrival": [START + 100 + i for i in range(len(events))],
                            "source": [SOURCES[t] for t in events]})


def counted(method: type[Synchroniser], order: tuple[int, ...] = ARRIVALS) -> dict[str, int]:
    """Comparisons, updates and visited nodes of a method over the example."""
    silent = ("5",) if method in (IndexedListSync, LinkedListSync) else ()
    logic = method(ROLES, sources=("1", "2", "3", "4", *silent), max_delay=None).start()
    logic.push(example(order))
    assert isinstance(logic, ClassicLogic)
    return logic.counters


def table1(out: Path, quick: bool) -> Outcome:
    """Count."""
    rows, facts, reasons = [], [], _reasons()
    for method in (IndexedListSync, LinkedListSync, TreeSync, MergedTreeSync, RedBlackSync):
        count = counted(method)
        printed = _PRINTED.get(method, ("", ""))
        rows.append([method.__name__, count["comparisons"], count["updates"], count["visited"],
                     *printed])
        for k, name in enumerate(("comparisons", "updates")):
            if method in _PRINTED:
                facts.append(claim(f"{method.__name__}, {name}", _PRINTED[method][k], count[name],
                                   count[name] == _PRINTED[method][k],
                                   reasons.get((method, k), UNEXPLAINED)))
    head = ["method", "comparisons", "updates", "visited", "paper_comparisons", "paper_updates"]
    path = write_table(out / "sync-table1.csv", head, rows)
    with pictures.figure(pictures.WIDE, 2.6) as picture:
        axes = picture.subplots(1, 2, sharey=True)
        for axis, column, title in zip(axes, (1, 2), ("comparisons", "updates"), strict=True):
            at = np.arange(len(rows))
            axis.barh(at - 0.2, [r[column] for r in rows], 0.4, label="here",
                      color=pictures.COLOURS[0])
            known = [(i, r[column + 3]) for i, r in enumerate(rows) if r[column + 3] != ""]
            axis.barh([i + 0.2 for i, _ in known], [v for _, v in known], 0.4, label="paper",
                      color="#bbbbbb")
            axis.set_yticks(at, [r[0] for r in rows])
            axis.set_xlabel(title)
            axis.grid(axis="y", visible=False)
        axes[0].invert_yaxis()
        picture.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return Outcome([path, *pictures.save(picture, out / "sync-table1")], facts)


EXPERIMENTS = {"sync-table1": table1}
"""By the names of the catalogue."""
