"""What every operator of the table means, in plain Python, one row at a time.

Nothing of the back ends is used: whole numbers are Python's own, reals are floats, texts strings,
times and durations whole microseconds; None is NULL.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable
from typing import Any

LEAST, MOST = -(2**63), 2**63 - 1
START = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def whole(value: int | None) -> int | None:
    """Overflow gives NULL."""
    return value if value is not None and LEAST <= value <= MOST else None


def real(run: Callable[[], float]) -> float | None:
    """A result that is not finite is NULL."""
    try:
        value = run()
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return value if math.isfinite(value) else None


def truncated(x: int, y: int) -> int | None:
    if y == 0:
        return None
    size = abs(x) % abs(y)
    return -size if x < 0 else size


def remainder(x: float, y: float) -> float | None:
    def run() -> float:
        return x - y * float(math.trunc(x / y))

    return real(run)


def to_micros(value: float | None) -> int | None:
    return None if value is None else whole(round(value))


def away(x: float) -> float:
    size = math.floor(abs(x))
    return math.copysign(size + (abs(x) - size >= 0.5), x)


def whole_digits(x: int, digits: int) -> int | None:
    if digits >= 0:
        return x
    step = 10 ** min(-digits, 40)
    size = (abs(x) + step // 2) // step * step
    return whole(-size if x < 0 else size)


def real_digits(x: float, digits: int) -> float | None:
    digits = max(min(digits, 400), -400)

    def run() -> float:
        if digits > 300 or digits < -308:
            return x if digits > 300 else 0.0 * x
        if digits >= 0:
            scaled = x * 10.0**digits
            return x if not math.isfinite(scaled) or abs(scaled) >= 2.0**52 else (
                math.copysign(math.floor(abs(scaled) + 0.5), x) / 10.0**digits)
        scaled = x / 10.0**-digits
        return math.copysign(math.floor(abs(scaled) + 0.5), x) * 10.0**-digits

    return real(run)


def better(less: bool) -> Callable[[Any, Any], Any]:
    """least, greatest: NULL and NaN give way to the other."""
    def run(x: Any, y: Any) -> Any:
        if x is None or y is None:
            return y if x is None else x
        if isinstance(x, float) and (math.isnan(x) or math.isnan(y)):
            return y if math.isnan(x) else x
        return min(x, y) if less else max(x, y)

    return run


def field(name: str) -> Callable[[int], int]:
    def run(micros: int) -> int:
        return getattr(dt.datetime(1970, 1, 1) + dt.timedelta(microseconds=micros), name)

    return run


def like(text: str, pattern: str) -> bool:
    parts = re.findall(r"\\.|.", pattern, re.DOTALL)
    return re.fullmatch("".join({"%": ".*", "_": "."}.get(p, re.escape(p[-1])) for p in parts),
                        text, re.DOTALL) is not None


def substring(text: str, start: int, length: float = math.inf) -> str:
    """Characters by their numbers, as Spark counts them."""
    first = {True: start, False: len(text) + start + 1}[start > 0] if start else 1
    return "".join(c for i, c in enumerate(text, 1) if first <= i < first + max(length, 0))


TESTS: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda x, y: x == y, "!=": lambda x, y: x != y, "<": lambda x, y: x < y,
    "<=": lambda x, y: x <= y, ">": lambda x, y: x > y, ">=": lambda x, y: x >= y}

CHOICES: dict[str, Callable[[Any, Any], Any]] = {
    "and": lambda x, y: False if False in (x, y) else None if None in (x, y) else True,
    "or": lambda x, y: True if True in (x, y) else None if None in (x, y) else False,
    "least": better(True), "greatest": better(False),
    "coalesce": lambda x, y: y if x is None else x,
    "when": lambda x, y: y if x is True else None,
    "nullif": lambda x, y: None if x is not None and y is not None and x == y else x}


def value(name: str, operands: tuple[str, ...], result: str, given: tuple[Any, ...]) -> Any:
    """What an operator gives for operands of these kinds."""
    if name == "is null":
        return given[0] is None
    if name in CHOICES:
        return CHOICES[name](*given)
    if None in given:
        return None
    if name in TESTS:
        return TESTS[name](*given)
    reals = "real" in operands
    if name in ("+", "-", "*"):
        done = {"+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y}[name]
        if not reals:
            return whole(done(*given))
        found = real(lambda: done(float(given[0]), float(given[1])))
        return found if result == "real" else to_micros(found)
    if name == "/":
        found = real(lambda: float(given[0]) / float(given[1]))
        return found if result == "real" else to_micros(found)
    if (name, operands[0]) in CASTS:
        return CASTS[name, operands[0]](*given)
    return FUNCTIONS[name, reals](*given)


def read(pattern: str, make: Callable[[str], Any]) -> Callable[[str], Any]:
    """A text that has this shape, as what it says."""
    return lambda text: make(text) if re.fullmatch(pattern, text.strip()) else None


def moment(text: str) -> int | None:
    """An ISO time in microseconds, UTC where it has no zone."""
    try:
        found = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    return (found.replace(tzinfo=found.tzinfo or dt.UTC) - START) // dt.timedelta(microseconds=1)


def moment_text(micros: int) -> str | None:
    """The same the other way round, where Python's years reach."""
    try:
        found = START + dt.timedelta(microseconds=micros)
    except OverflowError:
        return None
    return found.isoformat().replace("+00:00", "Z")


CASTS: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("to integer", "real"): lambda x: whole(math.trunc(x)) if math.isfinite(x) else None,
    ("to integer", "boolean"): int,
    ("to integer", "text"): read(r"[+-]?[0-9]+", lambda x: whole(int(x))),
    ("to real", "text"): read(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?",
                              lambda x: real(lambda: float(x))),
    ("to boolean", "integer"): bool,
    ("to boolean", "text"): lambda x: {"true": True, "t": True, "1": True, "false": False,
                                       "f": False, "0": False}.get(x.strip().lower()),
    ("to text", "integer"): str, ("to text", "real"): repr,
    ("to text", "boolean"): lambda x: str(x).lower(),
    ("to text", "timestamp"): moment_text, ("to timestamp", "text"): moment}


FUNCTIONS: dict[tuple[str, bool], Callable[..., Any]] = {
    ("%", False): truncated, ("%", True): remainder,
    ("//", False): lambda x, y: x // y if y > 0 else None,
    ("neg", False): lambda x: whole(-x), ("neg", True): lambda x: real(lambda: -x),
    ("abs", False): lambda x: whole(abs(x)), ("abs", True): lambda x: real(lambda: abs(x)),
    ("not", False): lambda x: not x, ("like", False): like,
    ("sign", False): lambda x: (x > 0) - (x < 0),
    ("sign", True): lambda x: real(lambda: x if math.isnan(x) else float((x > 0) - (x < 0))),
    **{(name, False): lambda x, y=0: whole_digits(x, y) for name in ("round", "floor", "ceil")},
    ("round", True): lambda x, *n: real_digits(x, *n) if n else (
        real(lambda: away(x)) if math.isfinite(x) else None),
    ("floor", True): lambda x: real(lambda: float(math.floor(x))),
    ("ceil", True): lambda x: real(lambda: float(math.ceil(x))),
    ("sqrt", True): lambda x: real(lambda: math.sqrt(x)),
    ("exp", True): lambda x: real(lambda: math.exp(x)),
    ("ln", True): lambda x: real(lambda: math.log(x)),
    ("log10", True): lambda x: real(lambda: math.log10(x)),
    ("power", True): lambda x, y: real(lambda: math.pow(x, y)),
    ("lower", False): str.lower, ("upper", False): str.upper, ("trim", False): str.strip,
    ("ltrim", False): str.lstrip, ("rtrim", False): str.rstrip, ("substring", False): substring,
    ("right", False): lambda x, n: "".join(c for i, c in enumerate(x) if len(x) - i <= n),
    ("replace", False): lambda x, old, new: new.join(x.split(old)) if old else x,
    ("strpos", False): lambda x, part: next(
        (i + 1 for i in range(len(x) + 1) if x.startswith(part, i)), 0),
    ("length", False): len, ("concat", False): lambda x, y: x + y,
    **{(n, False): field(n) for n in ("year", "month", "day", "hour", "minute", "second")},
    ("epoch", False): lambda x: x / 1e6 if abs(x) < 2**53 else float(x) / 1e6,
    ("to real", False): float, ("as timestamp", False): lambda x: x,
    ("as duration", False): lambda x: x}
