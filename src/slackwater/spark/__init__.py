"""Slackwater on Spark: the only package that imports pyspark.

What a user calls is here and in `operators`; `runner` carries kernels onto Spark, `sources` and
`sinks` are the two ends, `run` runs pipelines, and `session` is the Spark beneath.

Enters: streaming or batch DataFrames.  Leaves: DataFrames with every input row accounted for.
May import: everything but the command and the dashboard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

try:
    import pyspark
except ImportError as missing:  # pragma: no cover - the message is for machines without pyspark
    raise ImportError(
        "slackwater.spark needs PySpark, which is not installed. "
        'Install it with: pip install "slackwater[spark]"'
    ) from missing

from slackwater.core.lazy import lazy
from slackwater.spark.session.versions import check_version

check_version(pyspark.__version__)

if TYPE_CHECKING:
    from slackwater.spark.ending import drain
    from slackwater.spark.listener import watch
    from slackwater.spark.operators.correlate import correlate
    from slackwater.spark.operators.dedupe import dedupe
    from slackwater.spark.operators.match import match
    from slackwater.spark.operators.query import query
    from slackwater.spark.operators.reorder import reorder
    from slackwater.spark.operators.synchronise import synchronise
    from slackwater.spark.outcomes import late, quarantined, ready, with_watermark
    from slackwater.spark.sample import tap
    from slackwater.spark.session.session import local_session, open_session, settings

__all__ = ["correlate", "dedupe", "drain", "late", "local_session", "match", "open_session",
           "quarantined", "query", "ready", "reorder", "settings", "synchronise", "tap", "watch",
           "with_watermark"]

__getattr__ = lazy(__name__, {
    "dedupe": "operators.dedupe",
    "drain": "ending",
    "synchronise": "operators.synchronise",
    "reorder": "operators.reorder",
    "query": "operators.query",
    "match": "operators.match",
    "correlate": "operators.correlate",
    "ready": "outcomes",
    "late": "outcomes",
    "quarantined": "outcomes",
    "with_watermark": "outcomes",
    "local_session": "session.session",
    "open_session": "session.session",
    "settings": "session.session",
    "tap": "sample",
    "watch": "listener",
})
