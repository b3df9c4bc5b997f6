"""How each producer is doing: live, idle, new, or silent since when."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

__all__ = ["ProducerView"]

_IDLE, _SILENT = 10.0, 60.0  # seconds without a row, at least
_GAPS_IDLE, _GAPS_SILENT = 4, 12  # and in times of what is usual for this producer
_NEW = 30.0   # seconds for which a producer is new
_START = 10.0  # those that appear so soon after the first were there before


@dataclass
class ProducerView:
    """What the log has said of one producer."""

    first: float
    seen: float
    rows: int = 0
    late: int = 0
    rate: float | None = None
    gap: float | None = None
    changed: int = 0

    def update(self, rows: int, late: int, seen: float, version: int) -> None:
        """Take the counts so far; from two of them follow a rate and the usual gap."""
        passed = seen - self.seen
        if self.rows and passed > 0:
            self.rate = (rows - self.rows) / passed
            self.gap = passed if self.gap is None else 0.7 * self.gap + 0.3 * passed
        self.rows, self.late, self.seen, self.changed = rows, late, seen, version

    def status(self, now: float, began: float) -> str:
        """One word; `began` is when the first producer of the run was seen.

        Examples
        --------
        >>> one = ProducerView(first=0.0, seen=0.0)
        >>> [one.status(now, began=0.0) for now in (5.0, 15.0, 70.0)]
        ['live', 'idle', 'silent']
        >>> ProducerView(first=50.0, seen=50.0).status(51.0, began=0.0)
        'new'
        """
        silence, gap = now - self.seen, self.gap or 0.0
        if silence > max(_SILENT, _GAPS_SILENT * gap):
            return "silent"
        if silence > max(_IDLE, _GAPS_IDLE * gap):
            return "idle"
        if now - self.first < _NEW and self.first - began > _START:
            return "new"
        return "live"

    def cells(self, stream: str, name: str, status: str) -> list[Any]:
        """As the model holds it."""
        rate = None if self.rate is None else round(self.rate, 3)
        return [stream, name, status, self.rows, self.late, rate, self.seen]
