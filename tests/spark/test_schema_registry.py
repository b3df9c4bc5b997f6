"""Framed Avro by a schema registry: a real server of our own, and a real broker."""

from __future__ import annotations

import json

import pytest
from parts.drain import drain
from parts.schema_registry import SchemaRegistryServer
from pyspark.sql import functions as F
from pyspark.sql.avro.functions import to_avro

from slackwater.core.errors import ConfigError, DataError
from slackwater.pipeline import PipelineError, parse
from slackwater.pipeline.connectors import KafkaSource
from slackwater.spark.sources import read_source
from slackwater.spark.sources.schema_registry import SchemaRegistry
from test_kafka import framed

OLD = {"type": "record", "name": "e", "fields": [{"name": "n", "type": "int"}]}
NEW = {"type": "record", "name": "e", "fields": [
    {"name": "n", "type": "int"}, {"name": "device", "type": ["null", "string"], "default": None}]}
NEWEST = {"type": "record", "name": "e", "fields": [
    *NEW["fields"], {"name": "site", "type": ["null", "string"], "default": None}]}


@pytest.fixture
def registry():
    server = SchemaRegistryServer("reader", "p:w/1")
    server.address = server.address.replace("p:w/1", "p%3Aw%2F1")
    yield server
    server.stop()


def value(spark, schema, n):
    row = spark.sql(f"SELECT {n} AS n, 'd{n}' AS device, 's{n}' AS site")
    names = [field["name"] for field in schema["fields"]]
    return bytes(row.select(to_avro(F.struct(*names), json.dumps(schema)).alias("v")).first().v)


def test_values_are_read_by_the_schema_they_were_written_with(spark, kafka, registry, tmp_path):
    kafka.create("registered")
    registry.register("registered-value", OLD, 3)
    registry.register("registered-value", NEW, 7)
    kafka.send("registered", [framed(3, value(spark, OLD, 1)), framed(7, value(spark, NEW, 2)),
                              framed(99, value(spark, NEW, 3)), b"no frame"])
    config = KafkaSource(kafka.address, ("registered",), "avro", registry=registry.address)
    (rows,) = drain(read_source(spark, config), tmp_path / "checkpoint")
    assert [(r.n, r.device) for r in rows] == [(1, None), (2, "d2"), (None, None), (None, None)]
    assert rows[2]._raw.startswith(
        "in a Confluent frame, schema 99; the registry has no such number: ")
    assert rows[3]._raw is not None

    # one that is registered while the query runs ends it, and a restart reads its values
    df = read_source(spark, config)
    registry.register("registered-value", NEWEST, 8)
    kafka.send("registered", [framed(7, value(spark, NEW, 4)), framed(8, value(spark, NEWEST, 5))])
    with pytest.raises(Exception, match="schema 8 was registered after this run had started"):
        drain(df, tmp_path / "checkpoint")
    (rows,) = drain(read_source(spark, config), tmp_path / "checkpoint")
    assert [(r.n, r.device, r.site) for r in rows] == [(4, "d4", None), (5, "d5", "s5")]


def test_a_number_is_asked_for_once(registry):
    registry.register("t-value", OLD, 3)
    client = SchemaRegistry(registry.address)
    assert [client.has(n) for n in (3, 3, 4, 4)] == [True, True, False, False]
    assert registry.asked == ["/schemas/ids/3", "/schemas/ids/4"]
    assert client.of_topic("t") == {3: json.dumps(OLD)}


def test_what_is_wrong_with_a_registry_is_said(registry):
    with pytest.raises(ConfigError, match="knows no schema of the topic's values"):
        SchemaRegistry(registry.address).of_topic("nothing")
    with pytest.raises(ConfigError, match="does not let us in") as told:
        SchemaRegistry(registry.address.replace("p%3Aw", "wrong")).of_topic("t")
    assert "wrong" not in str(told.value), "no secret is told"
    registry.register("t-value", OLD, 3, schemaType="PROTOBUF")
    with pytest.raises(ConfigError, match="only plain Avro schemas"):
        SchemaRegistry(registry.address).of_topic("t")
    with pytest.raises(DataError, match="cannot be asked"):
        SchemaRegistry("http://127.0.0.1:9").of_topic("t")


def test_mistakes_in_the_file_are_told():
    text = """
sources:
  raw: {{kind: kafka, servers: "a:1", topic: t, format: {form}, registry: "{registry}"{more}}}
sinks:
  out: {{from: raw, kind: console}}
"""
    for form, where, more, says in (
            ("avro", "b:8081", "", "is not the address of a server that speaks HTTP"),
            ("json", "http://b:8081", ", columns: {n: int}", "is for format: avro"),
            ("avro", "http://b:8081", f", schemas: {{7: '{json.dumps(OLD)}'}}", "has the schemas")):
        with pytest.raises(PipelineError, match=says):
            parse(text.format(form=form, registry=where, more=more), "p.yaml", {})
    parse(text.format(form="avro", registry="http://b:8081", more=""), "p.yaml", {})
