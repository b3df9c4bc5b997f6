"""Numbers over time, bounded: when there are too many points, every second one is dropped."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["History", "Mark"]

_STEP = 0.001  # seconds: as exact as the log's times are

Mark = tuple[int, int]
"""How much of a history a reader has: its generation, and the number of points."""


class History:
    """Columns over time.

    Parameters
    ----------
    names
        The columns.
    most
        Points kept at most.

    Examples
    --------
    >>> history = History(("rows",), most=4)
    >>> for at in range(5):
    ...     history.add(at, {"rows": 10 * at})
    >>> history.since(None)
    {'generation': 1, 'start': 0, 't': [0, 2, 4], 'rows': [0, 20, 40]}
    >>> history.add(4, {"rows": 50})
    >>> history.since((1, 3))
    {'generation': 1, 'start': 3, 't': [4.001], 'rows': [50]}
    """

    def __init__(self, names: tuple[str, ...], most: int = 720) -> None:
        self._most = most
        self._generation = 0
        self._columns: dict[str, list[Any]] = {name: [] for name in ("t", *names)}

    @property
    def mark(self) -> Mark:
        """What a reader of all of it has."""
        return self._generation, len(self._columns["t"])

    def add(self, at: float, values: Mapping[str, Any]) -> None:
        """Append a point; one that is not after the last is put just behind it."""
        columns = self._columns
        if columns["t"] and at <= columns["t"][-1]:
            # charts need times that grow; a clock that was set back must not tear them
            at = columns["t"][-1] + _STEP
        columns["t"].append(at)
        for name, column in columns.items():
            if name != "t":
                column.append(values.get(name))
        if len(columns["t"]) > self._most:
            keep = (len(columns["t"]) - 1) % 2  # the newest point stays
            self._columns = {name: column[keep::2] for name, column in columns.items()}
            self._generation += 1

    def since(self, mark: Mark | None) -> dict[str, Any] | None:
        """The points that a reader lacks; all of them (`start` 0) if what it has was thinned."""
        start = 0
        if mark is not None and mark[0] == self._generation:
            start = mark[1]
            if start == len(self._columns["t"]):
                return None
        return {"generation": self._generation, "start": start,
                **{name: column[start:] for name, column in self._columns.items()}}
