"""SIGKILL for a gateway and the broker behind it, at the same moment, ten times.

The same with a Spark driver as the third is `tests/kill/run_kills.py --what together`.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter

import pytest
from parts.gateway_server import ForwardingGateway, GatewayServer
from parts.jars import NotHad
from parts.nats_server import NatsServer


class Sender(threading.Thread):
    """Sends numbers, five at a time, each until acknowledged; knows which it sent again."""

    def __init__(self, gateway, first):
        super().__init__(daemon=True)
        self._gateway, self._next, self._over = gateway, first, threading.Event()
        self.sure, self.repeated = [], set()

    def run(self):
        while not self._over.wait(0.01):
            numbers = range(self._next, self._next + 5)
            self._next += 5
            attempts = self._gateway.send([b'{"id":%d}' % n for n in numbers])
            self.sure.extend(numbers)
            if attempts > 1:
                self.repeated.update(numbers)

    def stop(self):
        self._over.set()
        self.join(60)
        assert not self.is_alive()


async def everything(server):
    client = await server._client()
    stream = client.jetstream()
    total = (await stream.stream_info("EVENTS")).state.messages
    found = await stream.pull_subscribe("events", "check")
    kept = []
    while len(kept) < total:
        for message in await found.fetch(500, timeout=5):
            await message.ack()
            kept.append(json.loads(message.data)["id"])
    await client.close()
    return kept


def test_ten_kills_of_gateway_and_broker_together(tmp_path):
    pytest.importorskip("nats")
    try:
        broker = NatsServer(tmp_path / "nats")
    except NotHad as missing:
        pytest.skip(str(missing))
    rng = random.Random(18)
    broker.start()
    broker.create("EVENTS", ["events"])
    gateway = GatewayServer(tmp_path / "gateway", f"{broker.address}/events")
    gateway.start()
    both = ForwardingGateway(broker, gateway)
    senders = [Sender(gateway, n * 10**6) for n in range(4)]
    try:
        for sender in senders:
            sender.start()
        for _ in range(10):
            before = sum(len(sender.sure) for sender in senders)
            until = time.monotonic() + 60
            while sum(len(sender.sure) for sender in senders) < before + 40:
                assert time.monotonic() < until, "it does not heal"
                time.sleep(0.02)
            time.sleep(rng.uniform(0, 0.3))
            both.kill()
            both.start()
        for sender in senders:
            sender.stop()
        kept = Counter(asyncio.run(everything(broker)))
    finally:
        both.stop()
    sure = {number for sender in senders for number in sender.sure}
    repeated = {number for sender in senders for number in sender.repeated}
    assert len(sure) > 400
    assert repeated, "no kill hit a request"
    assert set(kept) == sure
    assert {number for number, count in kept.items() if count > 1} <= repeated
