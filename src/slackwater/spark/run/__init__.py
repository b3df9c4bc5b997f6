"""Pipelines on Spark: one streaming query, in which every step runs once.

Enters: a checked `slackwater.pipeline.Pipeline` and a session.  Leaves: rows in its sinks, and
numbers about every stream.  May import: pipeline, the operators, sources and sinks.
"""

from __future__ import annotations

from slackwater.spark.run.open import open_for
from slackwater.spark.run.runs import RunError, run_pipeline

__all__ = ["RunError", "open_for", "run_pipeline"]
