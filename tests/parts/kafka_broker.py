"""A Kafka broker of one node (KRaft), its data in a folder that outlives it."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from parts.jars import kafka_server
from parts.java import java
from parts.server import Server, free_port, wait_until

_CLUSTER = "c2xhY2t3YXRlci10ZXN0cw"  # any sixteen bytes in base64
# a small heap and no late compilation: the broker shares two cores with Spark
_JVM = ["-Xmx384m", "-Xms128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"]


class KafkaBroker(Server):
    """`address` is for clients; `start`, `kill`, `start` again keep every acknowledged record."""

    def __init__(self, folder: Path) -> None:
        jars = f"{kafka_server()}/*"
        port, controller = free_port(), free_port()
        folder.mkdir(parents=True, exist_ok=True)
        settings = folder / "server.properties"
        settings.write_text("\n".join([
            "process.roles=broker,controller", "node.id=1",
            f"controller.quorum.voters=1@127.0.0.1:{controller}",
            f"listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            f"advertised.listeners=PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names=CONTROLLER", f"log.dirs={folder / 'data'}",
            "offsets.topic.replication.factor=1", "offsets.topic.num.partitions=1",
            "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1",
            "transaction.state.log.num.partitions=1", "auto.create.topics.enable=false",
            "group.initial.rebalance.delay.ms=0", "num.network.threads=2", "num.io.threads=2",
            "log.message.timestamp.type=LogAppendTime",
            # after SIGKILL the node fences its earlier self; nine seconds by default
            "broker.session.timeout.ms=3000", "broker.heartbeat.interval.ms=500",
        ]))
        if not (folder / "data").exists():
            run = subprocess.run(
                [java(), *_JVM, "-cp", jars, "kafka.tools.StorageTool", "format",
                 "-t", _CLUSTER, "-c", str(settings)],
                capture_output=True, text=True, timeout=60, check=False)
            if run.returncode != 0:
                raise RuntimeError(f"Kafka's storage could not be formatted: {run.stderr[-2000:]}")
        super().__init__("Kafka", [java(), *_JVM, "-cp", jars, "kafka.Kafka", str(settings)],
                         folder / "broker.log", port=port)
        self.address = f"127.0.0.1:{port}"
        self._sender: Any = None

    def ready(self) -> bool:
        """A port that listens is not yet a broker that knows its topics."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        if not super().ready():
            return False
        try:
            client = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
            return len(client.list_topics(timeout=2).brokers) == 1
        except KafkaException:
            return False

    def create(self, topic: str, partitions: int = 1) -> None:
        """Create a topic and wait until it can be written."""
        from confluent_kafka.admin import AdminClient, NewTopic

        client = AdminClient({"bootstrap.servers": self.address, "log_level": 0})
        client.create_topics([NewTopic(topic, partitions)])[topic].result(timeout=20)
        wait_until(lambda: topic in client.list_topics(timeout=5).topics, 20, f"topic {topic}")

    def send(self, topic: str, values: Iterable[bytes | None], key: bytes | None = None,
             partition: int | None = None, patience: float = 120,
             headers: list[tuple[str, bytes]] | None = None, in_turn: int = 0) -> None:
        """Send until acknowledged, through broker deaths; idempotent, so each value once.

        With `in_turn` one value after the other to each of so many partitions.
        """
        failed: list[str] = []

        def heard(error: object, _record: object) -> None:
            if error is not None:
                failed.append(str(error))

        producer = self._producer(patience)
        where = {} if partition is None else {"partition": partition}
        if headers is not None:
            where["headers"] = headers
        for number, value in enumerate(values):
            if in_turn:
                where["partition"] = number % in_turn
            while True:
                try:
                    producer.produce(topic, value, key=key, on_delivery=heard, **where)
                    break
                except BufferError:
                    producer.poll(0.1)
            producer.poll(0)
        left = producer.flush(patience)
        if failed or left:
            raise RuntimeError(f"{left} records not acknowledged, errors {failed[:3]}")

    def _producer(self, patience: float):
        """One for all: its numbers let the broker tell a record that comes twice."""
        from confluent_kafka import Producer

        if self._sender is None:
            self._sender = Producer({
                "bootstrap.servers": self.address, "enable.idempotence": True, "log_level": 0,
                "linger.ms": 5, "message.timeout.ms": int(patience * 1000),
                "reconnect.backoff.max.ms": 500,
            })
        return self._sender
