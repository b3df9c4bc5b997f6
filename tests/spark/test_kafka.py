"""The Kafka source and sink against a real broker."""

from __future__ import annotations

import base64
import datetime as dt
import json
from dataclasses import replace

import pytest
from parts.drain import drain

from slackwater.core.errors import ConfigError, UnknownColumn
from slackwater.pipeline import PipelineError, parse
from slackwater.pipeline.connectors import MAX_BYTES, MAX_ROWS, KafkaSink, KafkaSource
from slackwater.pipeline.steps import StreamName
from slackwater.spark.session.kafka_classes import needs_classes
from slackwater.spark.sinks import Rows, open_sink
from slackwater.spark.sources import read_source
from slackwater.spark.sources.kafka_sizes import rows_at_once

COLUMNS = {"time": "timestamp", "device": "string", "value": "double"}
GOOD = b'{"time": "2024-05-01T10:00:00.25Z", "device": "a", "value": 1}'
BAD = [b"not json", b'{"time": "soon", "device": "a"}', b'{"time": "2024-05-01T10:00:00Z", "v',
       b'{"device": "b", "value": "high"}', b"[]", b"17", b"\xff\xfe", b"",
       GOOD + b"\n" + GOOD, b"{}", b'{"other": 1}']


def test_json_values_become_columns_and_no_value_is_lost(spark, kafka, tmp_path):
    kafka.create("events", partitions=2)
    begun = dt.datetime.now(dt.UTC).replace(tzinfo=None)
    kafka.send("events", [GOOD] * 4, partition=0)
    kafka.send("events", [*BAD, None], partition=1)
    config = KafkaSource(kafka.address, ("events",), columns=COLUMNS, max_rows=5)
    batches = drain(read_source(spark, config), tmp_path / "checkpoint")
    assert len(batches) >= 3, "at most about five rows each: Spark shares them out by partition"
    rows = [row for batch in batches for row in batch]
    good = [row for row in rows if row.device is not None]
    assert [(r.time, r.device, r.value, r._raw) for r in good] == [
        (dt.datetime(2024, 5, 1, 10, 0, 0, 250_000), "a", 1.0, None)] * 4
    bad = [row for row in rows if row.device is None]
    assert {(r.time, r.value) for r in bad} == {(None, None)}
    texts = [value.decode("utf-8", "replace") for value in BAD]
    assert sorted(str(r._raw) for r in bad) == sorted([*texts, "None"])
    assert all(begun <= r._arrival <= begun + dt.timedelta(minutes=2) for r in rows)
    # the next run goes on where this one ended
    kafka.send("events", [GOOD.replace(b'"a"', b'"late"')])
    (again,) = drain(read_source(spark, config), tmp_path / "checkpoint")
    assert [r.device for r in again] == ["late"]


def test_a_micro_batch_of_wide_rows_has_fewer_of_them(spark, kafka, tmp_path):
    kafka.create("wide", partitions=2)
    config = KafkaSource(kafka.address, ("wide",), columns={"text": "string"})
    assert rows_at_once(spark, config) == MAX_ROWS, "nothing is known of an empty topic"
    wide = b'{"text": "%s"}' % (b"x" * 50_000)
    for partition in range(2):
        kafka.send("wide", [wide] * 20, partition=partition)
    assert rows_at_once(spark, config) == MAX_BYTES // len(wide)
    assert rows_at_once(spark, replace(config, max_rows=1200)) == 1200
    (rows,) = drain(read_source(spark, config), tmp_path / "checkpoint")
    assert len(rows) == 40
    nobody = KafkaSource("127.0.0.1:9", ("wide",), columns={"text": "string"})
    assert rows_at_once(spark, nobody) == MAX_ROWS, "that it is not there the query will say"


def test_avro_values_become_columns_and_no_value_is_lost(spark, kafka, tmp_path):
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import to_avro

    schema = {"type": "record", "name": "event", "fields": [
        {"name": "time", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "device", "type": ["null", "string"]}, {"name": "value", "type": "double"}]}
    file = tmp_path / "event.avsc"
    file.write_text(json.dumps(schema))
    row = spark.sql("SELECT timestamp'2024-05-01 10:00:00.000001' AS time, 'a' AS device, 2.5D "
                    "AS value")
    value = row.select(to_avro(F.struct("*"), json.dumps(schema)).alias("v")).first().v
    kafka.create("avro")
    kafka.send("avro", [bytes(value), b"\xff\xff\xff", bytes(value)[:3], b"", bytes(value)])
    config = KafkaSource(kafka.address, ("avro",), "avro", schema=str(file))
    (rows,) = drain(read_source(spark, config), tmp_path / "checkpoint")
    good = (dt.datetime(2024, 5, 1, 10, 0, 0, 1), "a", 2.5, None)
    assert [(r.time, r.device, r.value, r._raw) for r in (rows[0], rows[4])] == [good, good]
    assert [tuple(r)[:3] for r in rows[1:4]] == [(None, None, None)] * 3
    assert rows[1]._raw == "////"
    assert None not in [r._raw for r in rows[1:4]]


def test_what_a_record_has_beside_its_value_becomes_columns(spark, kafka, tmp_path):
    kafka.create("beside", partitions=2)
    kafka.send("beside", [GOOD, GOOD, b"{"], partition=1, key=b"a", headers=[("trace", b"7"),
                                                                            ("trace", b"8")])
    kafka.send("beside", [GOOD], partition=0)
    config = KafkaSource(kafka.address, ("beside",), columns=COLUMNS, record={
        "who": "key", "raw_key": "key_bytes", "part": "partition", "at": "offset", "of": "topic",
        "stamp": "timestamp", "headers": "headers"})
    df = read_source(spark, config)
    (rows,) = drain(df, tmp_path / "checkpoint")
    found = sorted((r.part, r.at, r.who, r.of, r.device) for r in rows)
    assert found == [(0, 0, None, "beside", "a"), (1, 0, "a", "beside", "a"),
                     (1, 1, "a", "beside", "a"), (1, 2, "a", "beside", None)]
    assert all(r.stamp == r._arrival for r in rows)
    one = next(r for r in rows if (r.part, r.at) == (1, 2))
    assert one._raw == "{", "also of a value that cannot be read"
    assert [(h.key, h.value) for h in one.headers] == [("trace", "7"), ("trace", "8")]
    assert bytes(one.raw_key) == b"a"
    assert dict(df.dtypes)["headers"] == "array<struct<key:string,value:string>>"


def test_columns_of_the_record_are_known_to_a_pipeline(tmp_path):
    text = """
      sources:
        raw: {kind: kafka, servers: "h:1", topic: t, columns: {time: timestamp},
              record: {device: key, at: offset}}
      steps: {once: {dedupe: raw, by: [device, at]}}
      sinks: {out: {from: once, kind: console}}"""
    assert parse(text).schemas[StreamName("raw")].names == ["time", "device", "at", "_arrival",
                                                            "_raw"]
    with pytest.raises(PipelineError, match="a record has no 'ofset'") as told:
        parse(text.replace("at: offset", "time: ofset"))
    assert "did you mean 'offset'" in str(told.value)
    assert "there is a column 'time' already" in str(told.value)


def framed(number: int, value: bytes) -> bytes:
    return b"\0" + number.to_bytes(4, "big") + value


def test_confluent_frames_are_never_read_as_plain_avro(spark, kafka, tmp_path):
    from pyspark.sql import functions as F
    from pyspark.sql.avro.functions import to_avro

    old = {"type": "record", "name": "event", "fields": [
        {"name": "n", "type": "long"}, {"name": "time", "type": "long"}]}
    new = {"type": "record", "name": "event", "fields": [
        *old["fields"], {"name": "device", "type": ["null", "string"], "default": None}]}
    rows = spark.sql("SELECT 0L AS n, 0L AS time, CAST(NULL AS string) AS device UNION ALL "
                     "SELECT 5L, 1714557600000000L, 'a'").orderBy("n")

    def values(schema):
        names = [f["name"] for f in schema["fields"]]
        return [bytes(r.v) for r in rows.select(
            to_avro(F.struct(*names), json.dumps(schema)).alias("v")).collect()]

    kafka.create("frames")
    plain, before = values(new), values(old)
    assert plain[0] == b"\0\0\0", "a plain value may well begin with zeros"
    kafka.send("frames", [*plain, framed(7, plain[1]), framed(3, before[1]), framed(9, plain[1]),
                          framed(65536, plain[1])])  # the last cannot even be misread

    config = KafkaSource(kafka.address, ("frames",), "avro", schema=json.dumps(new))
    (found,) = drain(read_source(spark, config), tmp_path / "one")
    assert [(r.n, r.time, r.device) for r in found[:2]] == [(0, 0, None),
                                                           (5, 1714557600000000, "a")]
    assert [(r.n, r.time, r.device) for r in found[2:]] == [(None, None, None)] * 4
    assert found[5]._raw.startswith("in a Confluent frame, schema 65536; ")
    assert found[2]._raw.startswith("in a Confluent frame, schema 7; say schemas: {number: file}, ")
    assert base64.b64decode(found[2]._raw.rpartition(" ")[2]) == framed(7, plain[1])

    config = KafkaSource(kafka.address, ("frames",), "avro", schema=json.dumps(new),
                         schemas={"7": json.dumps(new), "3": json.dumps(old)})
    (found,) = drain(read_source(spark, config), tmp_path / "two")
    assert [(r.n, r.time, r.device) for r in found] == [
        (None, None, None), (None, None, None), (5, 1714557600000000, "a"),
        (5, 1714557600000000, None), (None, None, None), (None, None, None)]
    assert found[4]._raw.startswith("in a Confluent frame, schema 9; schemas: has no such number: ")


@pytest.mark.parametrize(("schema", "problem"), [
    ("nowhere.avsc", "cannot be read"), ('{"type": "int"}', "not one of a record")])
def test_an_avro_schema_that_is_none(spark, kafka, schema, problem):
    config = KafkaSource(kafka.address, ("avro",), "avro", schema=schema)
    with pytest.raises(ConfigError, match=problem):
        read_source(spark, config)


def test_a_missing_connector_is_named(spark):
    with pytest.raises(ConfigError, match=r"spark-sql-kafka-0-10_2\.13") as told, \
            needs_classes("kafka"):
        spark.read.format("no.such.connector").load()
    assert "spark.jars.packages" in str(told.value)


def test_the_sink_writes_json_records_at_least_once(spark, kafka, tmp_path):
    kafka.create("out")
    sink = open_sink(KafkaSink(kafka.address, "out", key="a b"), "p.out")
    df = spark.sql("SELECT * FROM VALUES (1L, timestamp'2024-05-01 10:00:00.000001', array(1, 2)), "
                   "(2L, NULL, NULL) AS t(`a b`, time, many)")
    sink.write(Rows.of(df), 0)
    sink.write(Rows.of(df), 0)
    read = (spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.address)
            .option("subscribe", "out").load().selectExpr("string(key)", "string(value)"))
    rows = [(r.key, json.loads(r.value)) for r in read.collect()]
    first = ("1", {"a b": 1, "time": "2024-05-01T10:00:00.000001Z", "many": [1, 2]})
    assert [row for row in rows if row[0] == "1"] == [first] * 2
    assert [row for row in rows if row[0] == "2"] == [
        ("2", {"a b": 2, "time": None, "many": None})] * 2
    with pytest.raises(UnknownColumn, match="did you mean 'time'"):
        open_sink(KafkaSink(kafka.address, "out", key="tim"), "p.out").write(Rows.of(df), 0)
