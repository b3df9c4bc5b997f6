"""Slackwater on Spark: the only package that imports pyspark.

Enters: streaming or batch DataFrames.  Leaves: DataFrames with every input row accounted for.
May import: everything but the command and the dashboard.
"""

try:
    import pyspark  # noqa: F401
except ImportError as missing:  # pragma: no cover - the message is for machines without pyspark
    raise ImportError(
        "slackwater.spark needs PySpark, which is not installed. "
        'Install it with: pip install "slackwater[spark]"'
    ) from missing

from slackwater.spark.outcomes import late, quarantined, ready
from slackwater.spark.reorder import reorder
from slackwater.spark.session import local_session, settings

__all__ = ["late", "local_session", "quarantined", "ready", "reorder", "settings"]
