"""Whole numbers that are times: their unit is known, so they can meet times and durations.

A time column may hold whole numbers in a declared unit.  Its values stay numbers (RETURN gives what
came in), and so do differences between them; but beside a time or a duration they are turned into
one: ``e.time - s.time < 5 minutes``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from slackwater.core.events import Roles
from slackwater.query.expr.tree import Name

__all__ = ["Ticks", "from_ticks", "ticks_of", "unit_lookup"]

Ticks: TypeAlias = tuple[str, str]
"""("timestamp" or "duration", the unit)."""

_MICROS = {"s": 1_000_000, "ms": 1000, "us": 1}


def from_ticks(ticks: Ticks) -> tuple[str, int, str]:
    """How to turn such a number into microseconds: operator, factor; and the kind it then is."""
    kind, unit = ticks
    return ("//", 1000, kind) if unit == "ns" else ("*", _MICROS[unit], kind)


def ticks_of(operator: str, operands: Sequence[Ticks | None]) -> Ticks | None:
    """What the result of an operator over such numbers is.

    Examples
    --------
    >>> ticks_of("-", [("timestamp", "s"), ("timestamp", "s")])
    ('duration', 's')
    >>> ticks_of("*", [("duration", "s"), None])
    ('duration', 's')
    """
    known = [t for t in operands if t is not None]
    if not known or len({unit for _, unit in known}) > 1:
        return None
    kinds, unit = [None if t is None else t[0] for t in operands], known[0][1]
    if operator in ("+", "-"):
        known_sums: dict[tuple[str | None, ...], str] = {
            ("+", "timestamp", "duration"): "timestamp",
            ("+", "duration", "timestamp"): "timestamp",
            ("+", "duration", "duration"): "duration",
            ("-", "timestamp", "timestamp"): "duration",
            ("-", "timestamp", "duration"): "timestamp",
            ("-", "duration", "duration"): "duration"}
        found = known_sums.get((operator, *kinds))
        return None if found is None else (found, unit)
    if operator == "*":
        return ("duration", unit) if sorted(kinds, key=str) == [None, "duration"] else None
    if operator in ("abs", "neg", "least", "greatest", "coalesce", "nullif"):
        return known[0] if len(set(operands)) == 1 else None
    return None


def unit_lookup(roles: Roles) -> Callable[[Name], str | None]:
    """A `unit_of` for `slackwater.query.expr.arrow.compile`: times by their roles."""
    times = {roles.time, roles.arrival, roles.time_min, roles.time_max}
    return lambda name: roles.unit if name.name in times else None
