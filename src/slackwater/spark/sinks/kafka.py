"""Rows as JSON records of a Kafka topic: at least once.

Spark's connector writes without transactions: a batch that is written again after a crash is in
the topic twice.  Its readers tell the copies by what is in them (a match id, a window's key).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import DataError, UnknownColumn
from slackwater.pipeline.connectors import KafkaSink
from slackwater.spark.runner.columns import quoted
from slackwater.spark.session.kafka_classes import needs_classes
from slackwater.spark.sinks import MOST_REFUSED, Refuse
from slackwater.spark.sinks.rows import Rows
from slackwater.spark.sinks.texts import JSON

__all__ = ["open_sink"]

_LIMIT = "kafka.max.request.size"
_DEFAULT_LIMIT = 1 << 20
_AROUND = 100  # bytes that a record and its batch have beside key and value, rounded up


@dataclass(frozen=True)
class _Topic:
    name: str
    servers: str
    topic: str
    key: str | None
    options: Mapping[str, str] = field(repr=False)

    def write(self, rows: Rows, batch_id: int) -> None:
        self.write_good(rows, batch_id, None)

    def write_good(self, rows: Rows, batch_id: int, refuse: Refuse | None) -> None:
        df = rows.frame
        if self.key is not None and self.key not in df.columns:
            raise UnknownColumn(self.key, df.columns, role="key", step=self.name)
        row = F.struct(*(F.col(quoted(name)) for name in df.columns))
        records = [F.to_json(row, JSON).alias("value")]
        if self.key is not None:
            records.append(F.col(quoted(self.key)).cast("string").alias("key"))
        found = df.select(*records)
        if refuse is not None:
            found = self._sort_out(found, refuse)
        with needs_classes(self.name):
            (found.write.format("kafka").options(**self.options)
             .option("kafka.bootstrap.servers", self.servers).option("topic", self.topic).save())

    def _sort_out(self, rows: DataFrame, refuse: Refuse) -> DataFrame:
        """The rows without those that the producer would refuse for their size."""
        limit = int(self.options.get(_LIMIT, _DEFAULT_LIMIT))
        size = F.octet_length("value") + _AROUND
        if self.key is not None:
            size += F.coalesce(F.octet_length("key"), F.lit(0))
        large = rows.where(size > limit).select("value", size.alias("size")).limit(
            MOST_REFUSED + 1).collect()
        if not large:
            return rows
        if len(large) > MOST_REFUSED:
            raise DataError(f"more than {MOST_REFUSED} rows of one micro-batch are too large",
                            step=self.name, expected=f"{_LIMIT} {limit}",
                            hint=f"raise {_LIMIT} in the sink's options, and the topic's "
                                 "max.message.bytes")
        refuse([(f"a record of {row['size']} bytes is more than {_LIMIT} {limit}", row["value"])
                for row in large])
        return rows.where(size <= limit)


def open_sink(config: KafkaSink, name: str) -> _Topic:
    """Write to the topic; the named column becomes the record's key."""
    return _Topic(name, config.servers, config.topic, config.key, config.options)
