"""How many records of a topic make a micro-batch of bearable size.

Spark bounds the records of a micro-batch, and not their bytes.  So the size of a record is learned
from the oldest ones of each partition before the query is planned.
"""

from __future__ import annotations

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from slackwater.pipeline.connectors import MAX_BYTES, KafkaSource

__all__ = ["rows_at_once"]

_SAMPLE = 1000  # records; Kafka's usual limit of a megabyte makes a gigabyte of them at most
_PATIENCE = {"kafka.request.timeout.ms": "5000", "kafka.default.api.timeout.ms": "5000",
             "fetchOffset.numRetries": "1"}
_known: dict[tuple[str, tuple[str, ...]], float] = {}


def rows_at_once(session: SparkSession, config: KafkaSource) -> int:
    """`max_rows`, or as many as have `MAX_BYTES` if that is fewer.

    A topic without records, or a broker that does not answer, tells nothing of sizes: then it is
    `max_rows`, and what else is wrong the query will say.
    """
    if config.max_rows <= _SAMPLE:
        return config.max_rows
    topics = (config.servers, config.topic)
    if topics not in _known:
        mean = _mean(session, config)
        if mean is None:
            return config.max_rows
        _known[topics] = mean  # a run plans its queries more than once
    return min(config.max_rows, max(int(MAX_BYTES / max(_known[topics], 1.0)), 1))


def _mean(session: SparkSession, config: KafkaSource) -> float | None:
    reader = (session.read.format("kafka").option("kafka.bootstrap.servers", config.servers)
              .option("subscribe", ",".join(config.topic)))
    for name, value in {**_PATIENCE, **config.options}.items():
        if name.startswith("kafka.") or name in _PATIENCE:
            reader = reader.option(name, value)
    size = F.length("value") + F.coalesce(F.length("key"), F.lit(0))
    some = reader.load().select(size.alias("size")).limit(_SAMPLE).agg(F.avg("size"))
    try:
        found = some.first()
    except (PySparkException, Py4JJavaError):
        return None
    return None if found is None else found[0]
