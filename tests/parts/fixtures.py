"""The servers as fixtures, one of each a test run; imported by the conftest that needs them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from parts.jars import NotHad, spark_kafka
from parts.kafka_broker import KafkaBroker
from parts.nats_server import NatsServer
from parts.postgres_server import PostgresServer


@pytest.fixture(scope="session")
def kafka(tmp_path_factory) -> Iterator[KafkaBroker]:
    """A broker, if Spark has the connector to it."""
    pytest.importorskip("confluent_kafka", reason="Kafka's client (confluent-kafka) is missing")
    try:
        spark_kafka()
        broker = KafkaBroker(tmp_path_factory.mktemp("kafka") / "broker")
    except NotHad as missing:
        pytest.skip(str(missing))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory) -> Iterator[NatsServer]:
    pytest.importorskip("nats", reason="the NATS client (nats-py) is missing")
    try:
        server = NatsServer(tmp_path_factory.mktemp("nats") / "server", token="let-me-in-7")
    except NotHad as missing:
        pytest.skip(str(missing))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    pytest.importorskip("psycopg", reason="PostgreSQL's client (psycopg) is missing")
    try:
        server = PostgresServer()
    except NotHad as missing:
        pytest.skip(str(missing))
    server.start()
    yield server
    server.stop()
