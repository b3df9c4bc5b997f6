"""Pipelines: sources → steps → sinks, read from a file and checked before anything runs.

Enters: a YAML file and the environment.  Leaves: a `Pipeline` (frozen, checked), or a
`PipelineError` with every mistake, its line and a hint; drawings of it; a run's metrics as text.
May import: the stages and the query language; nothing of Spark, which `slackwater.spark.run`
adds.
"""

from __future__ import annotations

from slackwater.pipeline.document import Pipeline
from slackwater.pipeline.load import load, parse
from slackwater.pipeline.mistakes import Mistake, PipelineError

__all__ = ["Mistake", "Pipeline", "PipelineError", "load", "parse"]
