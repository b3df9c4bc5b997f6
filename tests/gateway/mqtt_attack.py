"""Messages that are no events, up to the largest that a broker passes on."""

from __future__ import annotations

import itertools
import multiprocessing
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.gateway.running import Running

PAYLOADS = [b"", b"\xff\xfe", b"{", b"[" * 100_000, b"[" + b"1," * 12_000_000 + b"1]",
            b'{"a":' * 5000, b"[" + b"1," * 50_000 + b"1]", b'{"n":1e999}', b"null",
            b" " * 40_000_000, b'{"s":"\\ud800"}', b"[{},{}", b'{"good":1}']


@contextmanager
def malformed_messages(port: int, gateway: Running) -> Iterator[None]:
    """Publish them again and again; in the end every one must have been acknowledged."""
    process = multiprocessing.get_context("spawn")
    over, published = process.Event(), process.Value("i", 0)
    publisher = process.Process(target=publish, args=(port, over, published), daemon=True)
    publisher.start()
    try:
        yield
    finally:
        over.set()
        publisher.join(60)
        publisher.kill()
    until = time.monotonic() + 30
    while taken(gateway) < published.value:
        assert time.monotonic() < until, f"{taken(gateway)} of {published.value} messages taken"
        time.sleep(0.1)
    assert published.value, "nothing was published"
    assert not any("connection lost" in line for line in gateway.errors), gateway.errors[-5:]


def publish(port: int, over: Event, published: Synchronized[int]) -> None:
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="attacker")
    client.connect("127.0.0.1", port)
    client.loop_start()
    for payload in itertools.cycle(PAYLOADS):
        client.publish("attack/here", payload, 1).wait_for_publish(30)
        published.value += 1
        if over.wait(0.05):
            break
    client.disconnect()
    client.loop_stop()


def taken(gateway: Running) -> int:
    """Messages that became dead letters or events."""
    total = 0.0
    headers = {"authorization": "Bearer correct-horse-battery"}
    for line in gateway.get("/metrics", headers=headers).text.splitlines():
        if line.startswith(("slackwater_gateway_mqtt_dead_letters_total ",
                            'slackwater_gateway_accepted_events_total{way="mqtt"}')):
            total += float(line.rpartition(" ")[2])
    return int(total)
