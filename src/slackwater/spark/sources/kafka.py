"""Topics of a Kafka broker, by Spark's own connector."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.pipeline.connectors import KafkaSource
from slackwater.spark.runner.position import POSITION, in_topic
from slackwater.spark.session.kafka_classes import needs_classes
from slackwater.spark.sources.avro_values import from_avro_bytes
from slackwater.spark.sources.json_values import from_json_text
from slackwater.spark.sources.kafka_sizes import rows_at_once
from slackwater.spark.sources.schema_registry import SchemaRegistry

__all__ = ["read"]


def read(session: SparkSession, config: KafkaSource) -> DataFrame:
    """The records' values as columns; the record's timestamp is the arrival.

    A value that is not JSON of the columns, or not Avro of the schema, gives null columns and its
    text (Avro: its bytes in base64) in ``_raw``.  Offsets that the broker no longer has end the
    query, unless the options say ``failOnDataLoss: false``.
    """
    headers = "headers" in config.record.values()
    reader = (session.readStream.format("kafka")
              .option("kafka.bootstrap.servers", config.servers)
              .option("subscribe", ",".join(config.topic))
              .option("startingOffsets", config.starting)
              .option("includeHeaders", str(headers).lower()))
    with needs_classes("kafka"):
        reader = reader.option("maxOffsetsPerTrigger", rows_at_once(session, config))
        for name, value in config.options.items():
            reader = reader.option(name, value)
        records = reader.load()
        records.schema  # noqa: B018  (with Spark Connect, the first to ask the server)
    beside = {name: _record(what) for name, what in config.record.items()}
    beside[POSITION] = in_topic()
    value, arrival = F.col("value"), F.col("timestamp")
    if config.format == "json":
        return from_json_text(records, value.cast("string"), arrival, config.columns, beside)
    schema, schemas = config.schema, dict(config.schemas)
    if config.registry is not None:
        registry = SchemaRegistry(config.registry)
        found = {number: text for topic in config.topic
                 for number, text in registry.of_topic(topic).items()}
        schemas = {str(number): text for number, text in found.items()}
        schema = schema or list(found.values())[-1]
    return from_avro_bytes(records, value, arrival, str(schema), schemas, beside, config.registry)


def _record(what: str) -> Column:
    """What a record has beside its value, in the types of `slackwater.pipeline.connectors.RECORD`.
    """
    if what == "key":
        return F.col("key").cast("string")
    if what == "key_bytes":
        return F.col("key")
    if what == "headers":
        return F.transform("headers", lambda one: F.struct(
            one["key"].alias("key"), one["value"].cast("string").alias("value")))
    return F.col(what)
