"""Pipelines: sources → steps → sinks, read from a file and checked before anything runs.

Enters: a YAML file and the environment.  Leaves: a `Pipeline` (frozen, checked), or a
`PipelineError` with every mistake, its line and a hint; drawings of it; a run's metrics as text.
May import: the stages and the query language; nothing of Spark, which `slackwater.spark.run`
adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from slackwater.core.lazy import lazy

if TYPE_CHECKING:
    from slackwater.pipeline.document import Pipeline
    from slackwater.pipeline.mistakes import Mistake, PipelineError
    from slackwater.pipeline.reading import load, parse

__all__ = ["Mistake", "Pipeline", "PipelineError", "load", "parse"]

# the options of a source travel to Spark's workers, which have no use for the stages
__getattr__ = lazy(__name__, {"Pipeline": "document", "load": "reading", "parse": "reading",
                              "Mistake": "mistakes", "PipelineError": "mistakes"})
