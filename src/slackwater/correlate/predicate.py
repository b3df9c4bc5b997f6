"""Timing predicates: lo ≤ right − left ≤ hi, with one end possibly open."""

from __future__ import annotations

from dataclasses import dataclass

from slackwater.core.durations import Duration, format_duration, micros
from slackwater.core.errors import ConfigError

__all__ = ["OPEN", "Predicate"]

OPEN = 1 << 62
"""An open end: further away than any two times, and far enough from overflow to be added to one."""


@dataclass(frozen=True)
class Predicate:
    """What is asked of the difference right − left, in microseconds, both ends included.

    Parameters
    ----------
    lo, hi
        Least and greatest difference; ``-OPEN`` or ``OPEN`` where there is none.

    Examples
    --------
    >>> print(Predicate.of(within="5s"))
    |left − right| ≤ 5s
    >>> print(Predicate.of(deadline="2s"), "/", Predicate.of(delay="500ms"))
    left + 2s ≥ right / left + 500ms ≤ right
    """

    lo: int
    hi: int

    @classmethod
    def of(cls, *, within: Duration | None = None, deadline: Duration | None = None,
           delay: Duration | None = None) -> Predicate:
        """Build the predicate from the one of the three forms that is given.

        ``within=d``: |left − right| ≤ d. ``deadline=d``: left + d ≥ right, the right event happens
        at most d after the left one. ``delay=d``: left + d ≤ right, at least d after it.
        """
        given = {name: value for name, value in
                 [("within", within), ("deadline", deadline), ("delay", delay)]
                 if value is not None}
        if len(given) != 1:
            raise ConfigError("one timing predicate is needed", step="correlate",
                              expected="one of within=, deadline= or delay=",
                              got=", ".join(given) or "none of them")
        [(name, value)] = given.items()
        d = micros(value, name=name, least=0 if name == "within" else None)
        if name == "within":
            return cls(-d, d)
        return cls(-OPEN, d) if name == "deadline" else cls(d, OPEN)

    @property
    def open(self) -> bool:
        """Whether one end is open, so that every row has partners without end."""
        return self.lo == -OPEN or self.hi == OPEN

    def __str__(self) -> str:
        if self.lo == -OPEN:
            return f"left + {format_duration(self.hi)} ≥ right"
        if self.hi == OPEN:
            return f"left + {format_duration(self.lo)} ≤ right"
        if self.lo == -self.hi:
            return f"|left − right| ≤ {format_duration(self.hi)}"
        return f"{format_duration(self.lo)} ≤ right − left ≤ {format_duration(self.hi)}"
