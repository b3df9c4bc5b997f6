"""Slackwater: event streams that arrive late, out of order, from many sources, put right on Spark.

The way of an event::

    source ──▶ synchronise ──▶ reorder ──┬──▶ window      (SELECT … [RANGE, SLIDE, DRATIO])
                                         ├──▶ pattern     (EVENT SEQ(…) WHERE … WITHIN …)
                                         ├──▶ correlate   (|@A − @B| ≤ d with confidence)
                                         └──▶ any Spark operator, watermark delay zero
                                                   └──▶ sink

Everything here works in-process on Arrow batches; `slackwater.spark` carries it onto Spark
Structured Streaming.  Importing this package does not import pyspark.
"""

from slackwater.errors import SlackwaterError
from slackwater.events import Roles
from slackwater.kernel import Kernel, Out
from slackwater.reorder import Reorder

__version__ = "0.1.0"

__all__ = ["Kernel", "Out", "Reorder", "Roles", "SlackwaterError"]
