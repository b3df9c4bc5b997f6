"""A streaming DataFrame run to the end of what is there."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import DataFrame, Row


def drain(df: DataFrame, checkpoint: Path, patience: float = 120) -> list[list[Row]]:
    """The rows of each micro-batch; a checkpoint that was used before is gone on from."""
    batches: list[list[Row]] = []
    query = (df.writeStream.foreachBatch(lambda rows, _: batches.append(rows.collect()))
             .option("checkpointLocation", str(checkpoint)).trigger(availableNow=True).start())
    try:
        assert query.awaitTermination(patience), f"not done in {patience:.0f} s"
    finally:
        query.stop()
    return [batch for batch in batches if batch]
