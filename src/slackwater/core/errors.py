"""Errors that a user can act on: what went wrong, where, what was expected, and a hint."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["ConfigError", "DataError", "SlackwaterError", "SnapshotError", "UnknownColumn"]


class SlackwaterError(Exception):
    """Base of every error that Slackwater raises on purpose.

    Examples
    --------
    >>> print(SlackwaterError("B is negative", step="reorder", expected="a duration ≥ 0",
    ...                       got="-5ms", hint="drop the sign"))
    reorder: B is negative
      expected: a duration ≥ 0
      got:      -5ms
      hint:     drop the sign
    """

    def __init__(
        self,
        problem: str,
        *,
        step: str | None = None,
        expected: object = None,
        got: object = None,
        hint: str | None = None,
    ) -> None:
        self.problem, self.step = problem, step
        self.expected, self.got, self.hint = expected, got, hint
        lines = [f"{step}: {problem}" if step else problem]
        if expected is not None:
            lines.append(f"  expected: {expected}")
        if got is not None:
            lines.append(f"  got:      {got}")
        if hint is not None:
            lines.append(f"  hint:     {hint}")
        super().__init__("\n".join(lines))

    def __reduce__(self) -> tuple[object, ...]:
        # An error crosses from an executor to the driver by pickle; keyword arguments do not.
        return (_rebuild, (type(self), self.problem, self.step, self.expected, self.got, self.hint))


def _rebuild(
    kind: type[SlackwaterError],
    problem: str,
    step: str | None,
    expected: object,
    got: object,
    hint: str | None,
) -> SlackwaterError:
    error = kind.__new__(kind)
    SlackwaterError.__init__(error, problem, step=step, expected=expected, got=got, hint=hint)
    return error


class ConfigError(SlackwaterError, ValueError):
    """A parameter, option or query that cannot mean anything."""


class DataError(SlackwaterError, ValueError):
    """Input that cannot be read at all (single bad rows are quarantined, not raised)."""


class SnapshotError(SlackwaterError):
    """A snapshot or checkpoint that does not belong to this kernel, configuration or version."""


class UnknownColumn(ConfigError):  # noqa: N818  (it reads as what it says: unknown column)
    """A column name that the data does not have, with the names that come close."""

    def __init__(self, name: str, columns: Iterable[str], *, role: str, step: str,
                 hint: str | None = None) -> None:
        columns = list(columns)
        super().__init__(
            f"there is no column {name!r} for the role {role!r}",
            step=step,
            expected=f"one of {', '.join(columns) or '(no columns at all)'}",
            hint=did_you_mean(name, columns) or hint,
        )


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Suggest the known names that look like `name`, or None.

    Examples
    --------
    >>> did_you_mean("sensr_id", ["sensor_id", "value"])
    "did you mean 'sensor_id'?"
    """
    names = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), list(names), n=2, cutoff=0.65)
    if not close:
        return None
    return "did you mean " + " or ".join(repr(names[c]) for c in close) + "?"
