"""Durations: written as ``"500ms"``, ``"1 hour"`` or `timedelta`, kept as int microseconds."""

from __future__ import annotations

import re
from datetime import timedelta
from fractions import Fraction
from typing import TypeAlias

from slackwater.core.errors import ConfigError, did_you_mean

__all__ = ["LONGEST", "UNITS", "Duration", "format_duration", "micros"]

Duration: TypeAlias = "str | timedelta | int"
"""What a user may write for a duration.

An int from Python is microseconds, the unit used inside; in text a number needs a unit.
"""

LONGEST = 3_652_500 * 86_400_000_000
"""The longest duration, 10,000 years: added to any time several times over, it fits int64."""

UNITS = {
    "us": 1,
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
}
_NAMES = {
    "us": "us µs microsecond microseconds micros",
    "ms": "ms millisecond milliseconds millis",
    "s": "s sec secs second seconds",
    "m": "m min mins minute minutes",
    "h": "h hr hrs hour hours",
    "d": "d day days",
}
_UNIT_OF = {name: unit for unit, names in _NAMES.items() for name in names.split()}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([A-Za-zµ]+)\s*")


def micros(duration: Duration, *, name: str = "duration", least: int | None = 0) -> int:
    """Convert a duration to microseconds; `least` bounds it from below (None: it may be negative).

    Examples
    --------
    >>> micros("500ms"), micros("1 hour"), micros("1m 30s"), micros(timedelta(seconds=2))
    (500000, 3600000000, 90000000, 2000000)

    A mistake is answered with what was meant, perhaps:

    >>> try:
    ...     micros("5 secnds")
    ... except ConfigError as error:
    ...     print(error)
    duration: 'secnds' is not a unit of time
      expected: us, ms, s, m, h or d, as in "500ms", "30s", "1 hour"
      got:      '5 secnds'
      hint:     did you mean 'seconds' or 'second'?
    """
    if isinstance(duration, timedelta):
        value = duration // timedelta(microseconds=1)
    elif isinstance(duration, bool) or not isinstance(duration, (int, str)):
        raise ConfigError(
            "a duration must be text, a timedelta or whole microseconds",
            step=name, expected='"500ms", "30s", "1 hour"', got=repr(duration),
        )
    elif isinstance(duration, int):
        value = duration
    else:
        value = _parse(duration, name)
    if least is not None and value < least:
        raise ConfigError(
            "is too short", step=name, expected=f"at least {format_duration(least)}",
            got=repr(duration),
        )
    if abs(value) > LONGEST:
        raise ConfigError(
            "is too long", step=name, expected="at most 3652500d (10,000 years)",
            got=repr(duration),
        )
    return value


def _parse(text: str, name: str) -> int:
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body[1:].lstrip() if body[:1] in ("+", "-") else body
    total, end = Fraction(0), 0
    for part in _PART.finditer(body):
        if part.start() != end:
            break
        unit = _UNIT_OF.get(part[2]) or _UNIT_OF.get(part[2].lower())
        if unit is None:
            raise ConfigError(
                f"{part[2]!r} is not a unit of time", step=name,
                expected='us, ms, s, m, h or d, as in "500ms", "30s", "1 hour"', got=repr(text),
                hint=did_you_mean(part[2], _UNIT_OF),
            )
        total += Fraction(part[1]) * UNITS[unit]
        end = part.end()
    if end == 0 or end != len(body):
        raise ConfigError(
            "is not a duration", step=name, expected='a number and a unit, as in "500ms", "1 hour"',
            got=repr(text), hint=_add_a_unit(body),
        )
    return sign * round(total)


def _add_a_unit(body: str) -> str | None:
    try:
        float(body)
    except ValueError:
        return None
    return f'add a unit: "{body}s" or "{body}ms"'


def format_duration(us: int | float) -> str:
    """Write microseconds the way a person would.

    Examples
    --------
    >>> format_duration(1_500_000), format_duration(350_000), format_duration(3_600_000_000)
    ('1.5s', '350ms', '1h')
    """
    size = abs(us)
    for unit in ("d", "h", "m", "s", "ms"):
        if size >= UNITS[unit]:
            return f"{us / UNITS[unit]:.6g}{unit}"
    return f"{us:.6g}us"
