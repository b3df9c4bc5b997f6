"""Gateway and mosquitto, end to end: acknowledged means durable, also over MQTT."""

from __future__ import annotations

import json
import time

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion

from slackwater.gateway import LogReader
from slackwater.gateway.places import commit
from tests.gateway.mosquitto_broker import Broker, find_mosquitto
from tests.gateway.running import Running


@pytest.fixture
def broker(tmp_path):
    if find_mosquitto() is None:
        pytest.skip("mosquitto is not on the PATH and its packages could not be fetched")
    (tmp_path / "broker").mkdir()
    with Broker(tmp_path / "broker") as running:
        yield running


@pytest.fixture
def publisher(broker):
    client = paho.Client(CallbackAPIVersion.VERSION2, client_id="publisher")
    client.connect("127.0.0.1", broker.port)
    client.loop_start()
    yield client
    client.disconnect()
    client.loop_stop()


def stored(folder):
    reader = LogReader(folder)
    return [json.loads(row["event"]) for span in reader.spans(reader.first(), reader.end())
            for batch in reader.read(span) for row in batch.to_pylist()]


def wait_for(true, seconds=30):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


def publish(client, topic, payload, qos=1):
    client.publish(topic, payload, qos).wait_for_publish(20)


def gateway_on(broker, log, *options):
    gateway = Running(log, "--mqtt", f"mqtt://127.0.0.1:{broker.port}", "--topic", "sensors/#",
                      "--topic", "cars/+/speed", *options)
    wait_for(lambda: metric(gateway, "mqtt_connected") == 1)
    return gateway


def metric(gateway, name):
    for line in gateway.get("/metrics").text.splitlines():
        if line.startswith(f"slackwater_gateway_{name} "):
            return float(line.split()[1])
    raise AssertionError(name)


def test_messages_bad_ones_and_a_gateway_that_was_away(tmp_path, broker, publisher):
    log = tmp_path / "log"
    with gateway_on(broker, log, "--require", "n") as gateway:
        publish(publisher, "sensors/a", b'{"n":0}')
        publish(publisher, "cars/7/speed", b'[{"n":1}, {"n":2, "_topic":"mine"}]', qos=2)
        publish(publisher, "cars/7/colour", b'{"n":99}')
        publish(publisher, "sensors/b/c", b"\xff\xfe", qos=1)
        publish(publisher, "sensors/b", b'{"m":5}')
        publish(publisher, "sensors/b", b'[{"n":3}, 7]', qos=0)
        wait_for(lambda: metric(gateway, "log_end_record") == 4)
        wait_for(lambda: metric(gateway, "mqtt_dead_letters_total") == 3)
    assert stored(log) == [
        {"n": 0, "_topic": "sensors/a"}, {"n": 1, "_topic": "cars/7/speed"},
        {"n": 2, "_topic": "cars/7/speed"}, {"n": 3, "_topic": "sensors/b"}]
    first, second, third = stored(log / "dead-letters")
    assert first["_topic"] == "sensors/b/c"
    assert first["payload_base64"] == "//4="
    assert "'n' is missing" in second["reason"]
    assert second["payload"] == '{"m":5}'
    assert "event 1" in third["reason"]
    # the session is persistent: what comes while nobody is there is delivered afterwards
    for n in range(10, 60):
        publish(publisher, "sensors/a", b'{"n":%d}' % n)
    with gateway_on(broker, log) as gateway:
        wait_for(lambda: metric(gateway, "log_end_record") == 54)
    assert [e["n"] for e in stored(log)[4:]] == list(range(10, 60))


def test_sigkill_of_the_gateway_loses_nothing_and_doubles_nothing(tmp_path, broker, publisher):
    log, total = tmp_path / "log", 600
    gateway = gateway_on(broker, log)
    for n in range(total):
        publisher.publish("sensors/a", b'{"n":%d}' % n, 1)
        if n in (150, 400):
            wait_for(lambda n=n: LogReader(log).end().record > n // 2)
            gateway.kill()
            gateway = gateway_on(broker, log)
    with gateway:
        wait_for(lambda: len({e["n"] for e in stored(log)}) == total, 60)
        time.sleep(0.5)  # time for a message that would come twice
    assert sorted(e["n"] for e in stored(log)) == list(range(total))


def test_a_retained_message_is_taken_once(tmp_path, broker, publisher):
    """A broker sends it again after every subscription."""
    log = tmp_path / "log"
    publisher.publish("sensors/a", b'{"n":0}', 1, retain=True).wait_for_publish(20)
    publisher.publish("sensors/b", b'{"n":0}', 0, retain=True).wait_for_publish(20)
    with gateway_on(broker, log) as gateway:
        wait_for(lambda: metric(gateway, "log_end_record") == 2)
        publisher.publish("sensors/a", b'{"n":1}', 1, retain=True).wait_for_publish(20)
        wait_for(lambda: metric(gateway, "log_end_record") == 3)
    publisher.publish("sensors/a", b'{"n":2}', 1, retain=True).wait_for_publish(20)
    for _ in range(2):
        with gateway_on(broker, log) as gateway:
            wait_for(lambda: metric(gateway, "log_end_record") >= 4)
            time.sleep(0.5)  # time for a message that would come twice
    publish(publisher, "sensors/a", b'{"n":2}')  # as before, but a message of its own
    with gateway_on(broker, log) as gateway:
        wait_for(lambda: metric(gateway, "log_end_record") == 5)
    assert sorted((e["_topic"], e["n"]) for e in stored(log)) == [
        ("sensors/a", 0), ("sensors/a", 1), ("sensors/a", 2), ("sensors/a", 2), ("sensors/b", 0)]


def test_under_back_pressure_messages_wait_unacknowledged(tmp_path, broker, publisher):
    log = tmp_path / "log"
    with gateway_on(broker, log, "--max-backlog", "5kB", "--reader", "r") as gateway:
        for n in range(300):
            publisher.publish("sensors/a", b'{"n":%d}' % n, 1)
        wait_for(lambda: metric(gateway, "refusing") == 1)
        time.sleep(0.5)
        held = len(stored(log))
        assert held < 300
        gateway.kill()  # what waited was not acknowledged, so the broker still has it
    with gateway_on(broker, log, "--max-backlog", "5kB", "--reader", "r"):
        until = time.monotonic() + 60
        while len(stored(log)) < 300:
            commit(log, "r", LogReader(log).end())
            assert time.monotonic() < until
            time.sleep(0.1)
    assert sorted(e["n"] for e in stored(log)) == list(range(300))
