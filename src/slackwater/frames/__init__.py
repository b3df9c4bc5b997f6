"""The stages on any frame that speaks Arrow, in this process: no Spark, three lines.

`slackwater.reorder`, `query`, `match`, `synchronise` and `correlate` are these functions.

Enters: pandas and polars frames, DuckDB relations, Arrow tables, batches and readers, and whatever
has ``__arrow_c_stream__``.  Leaves: the same kind, with ``late``, ``quarantined`` and ``account``
beside it.  May import: the stages, query, datasets.
"""

from slackwater.frames.answer import Answer
from slackwater.frames.queries import match, query
from slackwater.frames.roles import RoleGuess
from slackwater.frames.stages import correlate, reorder, synchronise

__all__ = ["Answer", "RoleGuess", "correlate", "match", "query", "reorder", "synchronise"]
