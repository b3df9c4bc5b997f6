"""What a window is, written down as slowly and plainly as possible."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

Row = dict[str, Any]


def aggregate(function: str, values: Sequence[Any], q: float | None = None) -> Any:
    """An aggregate of values in (time, arrival) order; None and NaN are left out."""
    values = [v for v in values if v is not None and v == v]
    if function == "count":
        return len(values)
    if function == "count_distinct":
        return len(set(values))
    if not values:
        return None
    if function == "sum":
        total = sum(Fraction(v) for v in values)
        if all(isinstance(v, int) for v in values):
            return int(total) if -(2**63) <= total < 2**63 else None
        return float(total)
    if function == "avg":
        return float(sum(Fraction(v) for v in values) / len(values))
    if function == "stddev":
        return None if len(values) < 2 else statistics.stdev([Fraction(v) for v in values])
    if function == "min":
        return min(values)
    if function == "max":
        return max(values)
    if function == "first":
        return values[0]
    if function == "last":
        return values[-1]
    ranked = sorted(values)
    place = (0.5 if function == "median" else q) * (len(ranked) - 1)
    k = math.floor(place)
    if k == place:
        return float(ranked[k])
    return float(ranked[k]) + (float(ranked[k + 1]) - float(ranked[k])) * (place - k)


def per_row(rows: Sequence[Row], span: int, group: str | None) -> list[tuple[Row, list[Row]]]:
    """Each row with its window: its group's rows with time in (t − span, t], ties included.

    `rows` are in arrival order; a window's rows come in (time, arrival) order.
    """
    ordered = sorted(rows, key=lambda r: r["time"])  # stable: ties stay in arrival order
    return [(row, [r for r in ordered
                   if row["time"] - span < r["time"] <= row["time"]
                   and (group is None or r[group] == row[group])]) for row in ordered]


def by_session(rows: Sequence[Row], gap: int,
               group: str | None) -> list[tuple[int, int, Any, list[Row]]]:
    """(start, end, group, rows) of each session, up to gap after its last row, inclusive."""
    found = []
    for name in {r[group] if group else None for r in rows}:
        own = sorted((r for r in rows if group is None or r[group] == name),
                     key=lambda r: r["time"])
        firsts = [i for i, r in enumerate(own) if i == 0 or r["time"] > own[i - 1]["time"] + gap]
        for first, after in zip(firsts, [*firsts[1:], len(own)], strict=True):
            inside = own[first:after]
            found.append((inside[0]["time"], inside[-1]["time"] + gap, name, inside))
    return found


def by_window(rows: Sequence[Row], span: int, slide: int,
              group: str | None) -> list[tuple[int, int, Any, list[Row]]]:
    """(start, end, group, rows) of each window [k·slide, k·slide + span) that is not empty."""
    ordered = sorted(rows, key=lambda r: r["time"])
    found = []
    for name in {r[group] if group else None for r in rows}:
        own = [r for r in ordered if group is None or r[group] == name]
        starts = {k * slide for r in own
                  for k in range((r["time"] - span) // slide + 1, r["time"] // slide + 1)}
        for start in starts:
            inside = [r for r in own if start <= r["time"] < start + span]
            if inside:
                found.append((start, start + span, name, inside))
    return found
