"""Topics of a Kafka broker, by Spark's own connector."""

from __future__ import annotations

from functools import reduce

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import from_avro

from slackwater.core.errors import ConfigError
from slackwater.pipeline.avro_schema import avro_fields, avro_schema
from slackwater.pipeline.columns import ARRIVAL, RAW
from slackwater.pipeline.connectors import KafkaSource
from slackwater.spark.kafka_classes import needs_classes
from slackwater.spark.packing import quoted
from slackwater.spark.sources.json_values import from_json_text

__all__ = ["read"]

_VALUE = "_value"


def read(session: SparkSession, config: KafkaSource) -> DataFrame:
    """The records' values as columns; the record's timestamp is the arrival.

    A value that is not JSON of the columns, or not Avro of the schema, gives null columns and its
    text (Avro: its bytes in base64) in ``_raw``.  Offsets that the broker no longer has end the
    query, unless the options say ``failOnDataLoss: false``.
    """
    reader = (session.readStream.format("kafka")
              .option("kafka.bootstrap.servers", config.servers)
              .option("subscribe", ",".join(config.topic))
              .option("startingOffsets", config.starting)
              .option("includeHeaders", "false"))
    reader = reader.option("maxOffsetsPerTrigger", config.max_rows)
    for name, value in config.options.items():
        reader = reader.option(name, value)
    with needs_classes("kafka"):
        records = reader.load()
        records.schema  # noqa: B018  (with Spark Connect, the first to ask the server)
    if config.format == "json":
        return from_json_text(records, F.col("value").cast("string"), F.col("timestamp"),
                              config.columns)
    return _from_avro(records, str(config.schema))


def _from_avro(records: DataFrame, schema: str) -> DataFrame:
    text = avro_schema(schema)
    names = avro_fields(text)
    with needs_classes("kafka", avro=True):
        value = from_avro(F.col("value"), text, {"mode": "PERMISSIVE"})
    try:
        with needs_classes("kafka", avro=True):
            parsed = records.select(value.alias(_VALUE), "value", "timestamp")
            parsed.schema  # noqa: B018
    except PySparkException as error:
        raise ConfigError("Spark cannot read the Avro schema", step="kafka",
                          got=str(error).splitlines()[0]) from None
    fields = [F.col(f"{_VALUE}.{quoted(name)}") for name in names]
    # a value that cannot be read comes as a record of nulls; one that is really all nulls has no
    # time either, and it does no harm that its bytes are kept
    bad = reduce(lambda a, b: a & b, [field.isNull() for field in fields])
    return parsed.select(*(field.alias(name) for field, name in zip(fields, names, strict=True)),
                         F.col("timestamp").alias(ARRIVAL),
                         F.when(bad, F.base64("value")).alias(RAW))
