"""Rows that a sink refuses: they go to a place of their own, and the stream goes on."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from slackwater.pipeline.connectors import SinkConfig
from slackwater.spark.sinks import Choosy, Rows, Sink, open_sink

__all__ = ["REFUSED", "DeadLetters", "dead_letters_of"]

REFUSED: dict[str, dict[str, int]] = {}
"""Rows that each sink has refused, by run, where driver and writer are one process."""

_COLUMNS = "sink string, batch bigint, reason string, row string"


@dataclass(frozen=True)
class DeadLetters:
    """What becomes of the rows that one sink refuses.

    Parameters
    ----------
    run
        A name for what is counted.
    of
        The sink that refuses.
    sink
        The sink that takes them, as rows of `sink`, `batch`, `reason` and `row` (JSON).
    """

    run: str
    of: str
    sink: Sink

    def write_good(self, sink: Choosy, rows: Rows, batch_id: int) -> None:
        """Write a batch; what is refused is written here, once for each batch."""
        count = 0

        def refuse(found: list[tuple[str, str]]) -> None:
            nonlocal count
            count = len(found)
            letters = [(self.of, batch_id, reason, row) for reason, row in found]
            self.sink.write(Rows.of(rows.session.createDataFrame(letters, _COLUMNS)), batch_id)

        sink.write_good(rows, batch_id, refuse)
        if count:
            mine = REFUSED.setdefault(self.run, {})
            mine[self.of] = mine.get(self.of, 0) + count


def dead_letters_of(config: SinkConfig, run: str, sink: str, name: str) -> DeadLetters:
    """Where a sink's refused rows go: in a folder or table of a path, one of its own."""
    if "path" in (one.name for one in fields(config)):
        config = replace(config, path=f"{config.path}/{sink}")  # type: ignore[call-arg,attr-defined]
    return DeadLetters(run, sink, open_sink(config, name))
