"""Rows as JSON records of a Kafka topic: at least once.

Spark's connector writes without transactions: a batch that is written again after a crash is in
the topic twice.  Its readers tell the copies by what is in them (a match id, a window's key).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from slackwater.core.errors import UnknownColumn
from slackwater.pipeline.connectors import KafkaSink
from slackwater.spark.kafka_classes import needs_classes
from slackwater.spark.packing import quoted

__all__ = ["open_sink"]

_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


@dataclass(frozen=True)
class _Topic:
    name: str
    servers: str
    topic: str
    key: str | None
    options: Mapping[str, str] = field(repr=False)

    def write(self, df: DataFrame, batch_id: int) -> None:
        if self.key is not None and self.key not in df.columns:
            raise UnknownColumn(self.key, df.columns, role="key", step=self.name)
        row = F.struct(*(F.col(quoted(name)) for name in df.columns))
        records = [F.to_json(row, _JSON).alias("value")]
        if self.key is not None:
            records.append(F.col(quoted(self.key)).cast("string").alias("key"))
        with needs_classes(self.name):
            (df.select(*records).write.format("kafka").options(**self.options)
             .option("kafka.bootstrap.servers", self.servers).option("topic", self.topic).save())


def open_sink(config: KafkaSink, name: str) -> _Topic:
    """Write to the topic; the named column becomes the record's key."""
    return _Topic(name, config.servers, config.topic, config.key, config.options)
