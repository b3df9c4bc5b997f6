"""What is run while things are killed: a source that takes events, and a pipeline that reads it."""

from __future__ import annotations

import itertools
import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from parts.disorder import records
from parts.gateway_server import ForwardingGateway, GatewayServer
from parts.jars import spark_kafka
from parts.kafka_broker import KafkaBroker
from parts.nats_server import NatsServer
from parts.server import Server

_COLUMNS = "{id: bigint, time: timestamp, device: string, kind: string, value: double}"

# time must not pass by the clock (quiet: null): what a run gives is then decided by the events and
# their arrival alone, and two runs can be compared row by row
_KAFKA = """
name: kafka-kill
checkpoint: ${{OUT}}/state
trigger: 1s
spark: {{spark.jars: "{jars}", spark.sql.shuffle.partitions: 2}}
sources:
  raw: {{kind: kafka, servers: "{address}", topic: events, max_rows: 1000, columns: {columns}}}
steps:
  clean: {{reorder: raw, policy: "Static(buffer=150ms)", by: [device], quiet: null}}
  peaks:
    query: |
      SELECT device, window_start, COUNT(*) AS n, MAX(value) AS peak, SUM(id) AS ids
      FROM clean [RANGE 2 seconds, SLIDE 1 seconds] GROUP BY device
    by: [device]
    slack: 0s
    quiet: null
sinks:
  raw_out: {{from: raw, kind: delta, path: "${{OUT}}/raw"}}
  peaks_out: {{from: peaks, kind: parquet, path: "${{OUT}}/peaks"}}
"""
_NATS = """
name: nats-kill
checkpoint: ${{OUT}}/state
trigger: 1s
spark: {{spark.sql.shuffle.partitions: 2}}
sources:
  raw: {{kind: nats, servers: "{address}", stream: EVENTS, max_rows: 1000, columns: {columns}}}
steps:
  clean: {{reorder: raw, policy: "KSlack(initial=100ms)", by: [device], quiet: null}}
sinks:
  raw_out: {{from: raw, kind: delta, path: "${{OUT}}/raw"}}
  clean_out: {{from: clean, kind: parquet, path: "${{OUT}}/clean"}}
  late_out: {{from: clean.late, kind: json, path: "${{OUT}}/late"}}
"""
_GATEWAY = """
name: gateway-kill
checkpoint: ${{OUT}}/state
trigger: 1s
spark: {{spark.sql.shuffle.partitions: 2}}
sources:
  raw:
    kind: gateway
    path: "{address}"
    max_rows: 1000
    columns: {columns}
    reader: "${{READER}}"
steps:
  leaks:
    query: |
      EVENT SEQ(OPEN o, SHUT s) WHERE [device] WITHIN 200 milliseconds
      RETURN o.id AS opened, s.id AS shut
    from: raw
    type: kind
    by: [device]
    slack: 300ms
    quiet: null
sinks:
  raw_out: {{from: raw, kind: delta, path: "${{OUT}}/raw"}}
  leaks_out: {{from: leaks, kind: parquet, path: "${{OUT}}/leaks"}}
"""
_OVERLOAD = """
name: overload-kill
checkpoint: ${{OUT}}/state
spark: {{spark.jars: "{jars}"}}
sources:
  raw: {{kind: kafka, servers: "{address}", topic: events, max_rows: 1000,
        columns: {{id: bigint, time: timestamp, received: timestamp, host: string, v: bigint}}}}
steps:
  clean: {{reorder: raw, by: [host], arrival: received}}
  hosts: {{query: "SELECT host, window_end AS at, COUNT(*) AS n FROM clean
                   [RANGE 5 s, SLIDE 5 s] GROUP BY host"}}
  total: {{query: "SELECT window_end AS at, COUNT(*) AS n, SUM(v) AS v FROM clean
                   [RANGE 10 s, SLIDE 10 s]"}}
sinks:
  clean: {{from: clean, kind: delta, path: "${{OUT}}/clean"}}
  late: {{from: clean.late, kind: parquet, path: "${{OUT}}/late"}}
  bad: {{from: clean.quarantined, kind: json, path: "${{OUT}}/bad"}}
  hosts: {{from: hosts, kind: parquet, path: "${{OUT}}/hosts"}}
  total: {{from: total, kind: delta, path: "${{OUT}}/total"}}
"""


@dataclass
class Scene:
    """A server that holds events, how to send it some, and the pipeline file.

    Each event is in exactly one of the sinks `fates`; the others hold what was made of them.
    """

    name: str
    server: Server | ForwardingGateway
    send: Callable[[list[bytes]], int | None]  # how often it took, if that makes copies
    file: Path
    sinks: tuple[str, ...]
    fates: tuple[str, ...] = ("raw",)
    unlike: tuple[str, ...] = ()  # columns that tell of a run, and not of the events
    copies: bool = False  # a sender that hears no answer sends again
    sent: list[int] = field(default_factory=list)
    repeated: set[int] = field(default_factory=set)  # sent again, as no answer was heard

    live: bool = True  # more events are sent while it runs

    def feeding(self, seed: int, pause: float = 0.1, each: int = 6) -> Feeder:
        """Events sent in the background until told to stop."""
        return Feeder(self, seed, pause, each if self.live else 0)


class Feeder(threading.Thread):
    """Sends events that are late by up to a third of a second, each until acknowledged."""

    def __init__(self, scene: Scene, seed: int, pause: float, each: int) -> None:
        super().__init__(name=f"feeder of {scene.name}", daemon=True)
        self._scene, self._pause, self._each = scene, pause, each
        self._rng, self._stop_asked = random.Random(seed), threading.Event()
        self.error: BaseException | None = None

    def run(self) -> None:
        numbers = itertools.count(len(self._scene.sent))
        try:
            while not self._stop_asked.wait(self._pause):
                ids = [next(numbers) for _ in range(self._each)]
                if not ids:
                    continue
                if (self._scene.send([self._event(number) for number in ids]) or 1) > 1:
                    self._scene.repeated.update(ids)
                self._scene.sent.extend(ids)
        except BaseException as error:
            self.error = error

    def _event(self, number: int) -> bytes:
        rng = self._rng
        micros = time.time_ns() // 1000 - rng.randrange(330_000)
        return json.dumps({
            "id": number, "device": f"d{rng.randrange(4)}", "kind": rng.choice(("OPEN", "SHUT")),
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(micros // 1_000_000))
            + f".{micros % 1_000_000:06d}Z", "value": rng.random()}).encode()

    def stop(self) -> None:
        """Let the last ones be acknowledged."""
        self._stop_asked.set()
        self.join(timeout=120)
        if self.error is not None:
            raise self.error
        assert not self.is_alive(), "the last events were not acknowledged"


def kafka_scene(folder: Path) -> Scene:
    broker = KafkaBroker(folder / "kafka")
    broker.start()
    # one partition: the arrival of events of two would be interleaved as the batches are cut
    broker.create("events")
    jars = ",".join(str(jar) for jar in spark_kafka())
    file = folder / "kafka.yaml"
    file.write_text(_KAFKA.format(jars=jars, address=broker.address, columns=_COLUMNS))
    return Scene("kafka", broker, lambda values: broker.send("events", values), file, ("peaks",))


def nats_scene(folder: Path) -> Scene:
    server = NatsServer(folder / "nats")
    server.start()
    server.create("EVENTS", ["events"])
    file = folder / "nats.yaml"
    file.write_text(_NATS.format(address=server.address, columns=_COLUMNS))
    return Scene("nats", server, lambda values: server.send([("events", v) for v in values]),
                 file, ("clean", "late"))


def gateway_scene(folder: Path) -> Scene:
    gateway = GatewayServer(folder / "gateway")
    gateway.start()
    file = folder / "gateway.yaml"
    file.write_text(_GATEWAY.format(address=gateway.log_folder, columns=_COLUMNS))
    return Scene("gateway", gateway, gateway.send, file, ("leaks",), copies=True)


def forward_scene(folder: Path) -> Scene:
    """HTTP to a gateway that forwards to NATS, which the pipeline reads."""
    broker = NatsServer(folder / "nats")
    broker.start()
    broker.create("EVENTS", ["events"])
    gateway = GatewayServer(folder / "gateway", f"{broker.address}/events")
    gateway.start()
    file = folder / "nats.yaml"
    file.write_text(_NATS.format(address=broker.address, columns=_COLUMNS))
    return Scene("forward", ForwardingGateway(broker, gateway), gateway.send, file,
                 ("clean", "late"), copies=True)


def overload_scene(folder: Path, events: int = 60_000) -> Scene:
    """All events wait in three partitions, written in turn: three steps work them off."""
    broker = KafkaBroker(folder / "kafka")
    broker.start()
    broker.create("events", partitions=3)
    sent = records(events)
    for partition in range(3):
        broker.send("events", sent[partition::3], partition=partition)
    jars = ",".join(str(jar) for jar in spark_kafka())
    file = folder / "overload.yaml"
    file.write_text(_OVERLOAD.format(jars=jars, address=broker.address))
    return Scene("overload", broker, lambda values: None, file, ("hosts", "total"),
                 ("clean", "late", "bad"), ("_released",), live=False, sent=list(range(events)))


SCENES = {"kafka": kafka_scene, "nats": nats_scene, "gateway": gateway_scene,
          "forward": forward_scene, "overload": overload_scene}
SMALL: dict[str, Callable[[Path], Scene]] = {
    "small overload": lambda folder: overload_scene(folder, events=6000)}
"""For tests that run always."""
