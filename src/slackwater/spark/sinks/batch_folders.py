"""Files in a folder of its own for each micro-batch: written anew if the batch comes again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from slackwater.spark.sinks.rows import Rows

__all__ = ["BatchFolders"]


@dataclass(frozen=True)
class BatchFolders:
    """Writes ``path/batch_id=N/``; a reader of `path` sees ``batch_id`` as a column.

    Spark marks a folder that is whole by a file ``_SUCCESS``.  One without it is of an attempt that
    died, and the restart replaces it.
    """

    path: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)

    def write(self, rows: Rows, batch_id: int) -> None:
        """Write the rows, replacing what an earlier attempt left."""
        (rows.frame.write.mode("overwrite").format(self.format).options(**self.options)
         .save(f"{self.path}/batch_id={batch_id}"))
