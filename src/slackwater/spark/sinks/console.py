"""Rows on standard output, for people."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from slackwater.pipeline.connectors import ConsoleSink
from slackwater.spark.sinks.rows import Rows

__all__ = ["open_sink"]


@dataclass(frozen=True)
class _Console:
    name: str
    rows: int

    def write(self, rows: Rows, batch_id: int) -> None:
        table = rows.frame.limit(self.rows + 1).toArrow()
        more = "" if table.num_rows <= self.rows else f" (the first {self.rows} rows)"
        lines = [f"{self.name}, batch {batch_id}{more}"]
        for row in table.slice(0, self.rows).to_pylist():
            lines.append("  " + "  ".join(f"{name}={value}" for name, value in row.items()))
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()


def open_sink(config: ConsoleSink, name: str) -> _Console:
    """Print under the sink's name."""
    return _Console(name, config.rows)
