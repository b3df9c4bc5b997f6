"""Where a pipeline's rows go: one file a kind.

Enters: the rows of a micro-batch, with its number.  Leaves: nothing; the rows are in a place of the
sink's own.  May import: pipeline (the configurations), the runner, what they may import.

Each module has ``open_sink(config, name) -> Sink``.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Protocol, runtime_checkable

from slackwater.pipeline.connectors import SinkConfig
from slackwater.spark.sinks.rows import BlobRows, FewRows, Rows

__all__ = ["MOST_REFUSED", "BlobRows", "Choosy", "FewRows", "Refuse", "Rows", "Sink", "open_sink"]

Refuse = Callable[[list[tuple[str, str]]], None]
"""Takes the rows of a batch that a sink refuses, each with the reason, as JSON."""

MOST_REFUSED = 1000
"""When more rows of one micro-batch are refused, it is not the rows that are wrong."""


class Sink(Protocol):
    """A place for rows.

    It travels to where Spark runs `foreachBatch` (with Spark Connect, the server), so it holds
    nothing that cannot be pickled; what it needs open it opens in `write`.
    """

    def write(self, rows: Rows, batch_id: int) -> None:
        """Write the rows of a micro-batch that has some.

        The same batch may come again after a crash, with the same rows: a sink that is idempotent
        in `batch_id` holds them once.
        """


@runtime_checkable
class Choosy(Protocol):
    """A sink that may refuse single rows, and takes the others."""

    def write_good(self, rows: Rows, batch_id: int, refuse: Refuse) -> None:
        """Write as `Sink.write` does, but hand the rows that cannot be written to `refuse`.

        They are handed over, all at once, before the batch is committed: a crash in between
        repeats both.
        """


def open_sink(config: SinkConfig, name: str) -> Sink:
    """The sink of a configuration; `name` tells it from all others (pipeline and sink)."""
    home = importlib.import_module(f"slackwater.spark.sinks.{config.kind}")
    sink: Sink = home.open_sink(config, name)
    return sink
