"""A gateway without a log: acknowledged means that the broker has it, also if the broker dies."""

from __future__ import annotations

import asyncio
import json
import subprocess
import threading
import time

import httpx
import pytest
from parts.jars import NotHad
from parts.kafka_broker import KafkaBroker
from parts.nats_server import NatsServer
from parts.server import wait_until

from slackwater.core.errors import ConfigError
from slackwater.gateway.forward import open_forward
from tests.gateway.running import COMMAND, Running


def send_through_a_kill(gateway, broker):
    """Batches of numbers from four senders; the broker is killed and started in between.

    The kill comes once some are acknowledged, and the end once some are after it: how long both
    take is the machine's.
    """
    sure: list[int] = []
    statuses: set[int] = set()
    enough = [20, 1 << 62]  # acknowledged before the kill, and at the end
    limit = time.monotonic() + 120

    async def sender(client, first):
        while len(sure) <= enough[1] and time.monotonic() < limit:
            ids = list(range(first, first + 5))
            first += 5
            answer = await client.post(f"{gateway.url}/events",
                                       content=json.dumps([{"id": n} for n in ids]),
                                       headers={"content-type": "application/json"})
            statuses.add(answer.status_code)
            if answer.status_code == 200:
                sure.extend(ids)
            await asyncio.sleep(0.01)

    async def load():
        async with httpx.AsyncClient(verify=False, timeout=90) as client:
            await asyncio.gather(*(sender(client, n * 10**6) for n in range(4)))

    def kill():
        wait_until(lambda: len(sure) > enough[0], 60, "some are acknowledged")
        broker.kill()
        time.sleep(0.5)
        broker.start()
        enough[1] = len(sure) + 40

    killer = threading.Thread(target=kill)
    killer.start()
    asyncio.run(load())
    killer.join()
    assert statuses <= {200, 429, 503}
    assert len(sure) > enough[1], "none are acknowledged after the broker is back"
    return sure


def check(sure, kept):
    assert set(sure) <= set(kept)
    assert len(kept) == len(set(kept))


def test_jetstream_has_what_was_acknowledged_once(tmp_path):
    nats = pytest.importorskip("nats")
    try:
        server = NatsServer(tmp_path / "nats", token="let-me-in-7")
    except NotHad as missing:
        pytest.skip(str(missing))
    server.start()
    try:
        server.create("EVENTS", ["events"])
        url = server.address.replace("nats://", "nats://let-me-in-7@") + "/events"
        with Running(None, "--forward", url) as gateway:
            assert "let-me-in-7" not in gateway.said
            sure = send_through_a_kill(gateway, server)
            assert 'accepted_events_total{way="http"}' in gateway.get("/metrics").text
            assert gateway.get("/health").json()["status"] == "ok"

        async def read():
            client = await nats.connect(server.address, token=server.token)
            stream = client.jetstream()
            state = (await stream.stream_info("EVENTS")).state
            found = await stream.pull_subscribe("events", "check")
            messages = []
            while len(messages) < state.messages:
                for message in await found.fetch(500, timeout=5):
                    await message.ack()
                    messages.append(message)
            await client.close()
            return [json.loads(m.data)["id"] for m in messages]

        check(sure, asyncio.run(read()))
    finally:
        server.stop()


def test_kafka_has_what_was_acknowledged_once(tmp_path):
    confluent = pytest.importorskip("confluent_kafka")
    try:
        broker = KafkaBroker(tmp_path / "kafka")
    except NotHad as missing:
        pytest.skip(str(missing))
    broker.start()
    try:
        broker.create("events", 2)
        with Running(None, "--forward", f"kafka://{broker.address}/events?key=id") as gateway:
            sure = send_through_a_kill(gateway, broker)
        consumer = confluent.Consumer({"bootstrap.servers": broker.address, "group.id": "check",
                                       "auto.offset.reset": "earliest", "log_level": 0,
                                       "enable.partition.eof": True})
        consumer.subscribe(["events"])
        kept, ends = [], set()
        until = time.monotonic() + 60
        while len(ends) < 2:
            assert time.monotonic() < until
            message = consumer.poll(1)
            if message is None:
                continue
            if message.error():
                ends.add(message.partition())
                continue
            kept.append(json.loads(message.value())["id"])
            assert int(message.key()) == kept[-1]
        consumer.close()
        check(sure, kept)
    finally:
        broker.stop()


def test_addresses_that_mean_nothing():
    for url in ("http://x/y", "kafka://host:9092", "nats:///subject", "kafka:topic"):
        with pytest.raises(ConfigError, match="not a broker"):
            open_forward(url)
    away = open_forward("nats://me:hunter2@127.0.0.1:1/subject")
    away.close()
    assert "cannot be reached" in away.warning
    assert "hunter2" not in f"{away.warning} {away.shown}"
    said = subprocess.run([*COMMAND, "--http", "127.0.0.1:0"], capture_output=True, text=True,
                          timeout=60, check=False)
    assert (said.returncode, "--log DIR" in said.stderr) == (2, True)
