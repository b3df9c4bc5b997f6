"""Brokers that are away, that refuse an event for good, or that get the same bytes twice."""

from __future__ import annotations

import asyncio
import json
import time
from array import array

import pytest
from parts.jars import NotHad
from parts.nats_server import NatsServer
from typer.testing import CliRunner

from slackwater.core.errors import ConfigError
from slackwater.gateway.config import GatewayConfig
from slackwater.gateway.forward import open_forward
from slackwater.gateway.letters import tags_of
from slackwater.gateway.store import LogFailed, Packed, Unkeepable
from tests.gateway.mosquitto_broker import Broker, find_mosquitto
from tests.gateway.running import Running
from tests.gateway.test_mqtt_gateway import metric, stored, wait_for


@pytest.fixture
def server(tmp_path):
    pytest.importorskip("nats")
    try:
        server = NatsServer(tmp_path / "nats")
    except NotHad as missing:
        pytest.skip(str(missing))
    server.start()
    yield server
    server.stop()


def in_stream(server, **settings):
    """Make the stream EVENTS, or say how many messages it has."""
    async def ask():
        client = await server._client()
        stream = client.jetstream()
        try:
            if settings:
                await stream.add_stream(name="EVENTS", subjects=["events"], **settings)
            return (await stream.stream_info("EVENTS")).state.messages
        finally:
            await client.close()

    return asyncio.run(ask())


def test_who_appends_does_not_wait_for_a_broker_that_is_away():
    pytest.importorskip("confluent_kafka")
    forward = open_forward("kafka://127.0.0.1:1/topic?key=n", {"message.timeout.ms": "1500"})
    events = [b'{"n":%d}' % n for n in range(150_000)]  # more than its client queues
    packed = Packed(b"".join(events), array("I", map(len, events)).tobytes())
    begun = time.monotonic()
    future = forward.append(packed)
    assert time.monotonic() - begun < 1, "the event loop would stand still meanwhile"
    with pytest.raises(LogFailed):
        future.result(60)
    assert forward.warning is not None
    forward.close()


def test_after_a_fatal_error_kafka_s_client_is_started_anew():
    """Such a client refuses everything from then on, however long the broker has been back."""
    pytest.importorskip("confluent_kafka")
    from confluent_kafka import KafkaError

    forward = open_forward("kafka://127.0.0.1:1/topic", {"test.mock.num.brokers": "1"})
    forward.append([b"{}"]).result(20)
    before = forward._producer
    forward._heard(KafkaError(KafkaError._FATAL, "fenced", fatal=True))
    forward.append([b"{}"] * 3).result(20)
    assert forward._producer is not before
    forward.close()


def test_a_gateway_may_start_before_its_broker(tmp_path):
    """After a power cut nobody says which of them comes back first."""
    pytest.importorskip("nats")
    try:
        server = NatsServer(tmp_path / "nats")
    except NotHad as missing:
        pytest.skip(str(missing))
    with Running(None, "--forward", f"{server.address}/events") as gateway:
        assert "cannot be reached" in gateway.get("/health").json()["warning"]
        server.start()
        try:
            in_stream(server, max_age=0)
            wait_for(lambda: gateway.post(b'{"n":1}').status_code == 200)
            wait_for(lambda: "warning" not in gateway.get("/health").json())
            assert in_stream(server) == 1
        finally:
            server.stop()


def test_a_server_that_refuses_the_login_is_said_at_once(tmp_path):
    pytest.importorskip("nats")
    try:
        server = NatsServer(tmp_path / "nats", token="hunter2-right")
    except NotHad as missing:
        pytest.skip(str(missing))
    server.start()
    try:
        with pytest.raises(ConfigError) as caught:
            open_forward(f"{server.address}/events", {"token": "hunter2-wrong"})
        assert "does not let the gateway in" in str(caught.value)
        assert "hunter2" not in str(caught.value)
        open_forward(f"{server.address}/events", {"token": "hunter2-right"}).close()
    finally:
        server.stop()


def test_equal_events_are_all_kept_and_a_repeated_message_once(server):
    in_stream(server, max_age=0)
    forward = open_forward(f"{server.address}/events")
    same = [b'{"on":true}'] * 3
    forward.append(same, tags_of(7, 3)).result(20)
    assert in_stream(server) == 3
    forward.append(same, tags_of(7, 3, again=True)).result(20)
    assert in_stream(server) == 3, "delivered again"
    forward.append(same, tags_of(7, 3)).result(20)
    assert in_stream(server) == 6, "the broker's numbers begin anew: another message"
    forward.append(same, tags_of(7, 3, again=True)).result(20)
    assert in_stream(server) == 6
    forward.close()
    forward = open_forward(f"{server.address}/events")
    forward.append([b'{"n":1}', b'{"n":1}'], tags_of(8, 2)).result(20)
    forward.close()
    forward = open_forward(f"{server.address}/events")  # as after a crash before the answer
    forward.append([b'{"n":1}', b'{"n":1}'], tags_of(8, 2, again=True)).result(20)
    forward.close()
    assert in_stream(server) == 8


def test_an_event_that_the_broker_never_takes_is_refused_at_once(server):
    in_stream(server, max_msg_size=5000)
    url = f"{server.address}/events"
    with Running(None, "--forward", url, "--max-event", "4MB") as gateway:
        begun = time.monotonic()
        for size in (6000, 3_000_000):
            answer = gateway.post(b'[{"x":"' + b"y" * size + b'"}]')
            assert answer.status_code == 413, answer.text
        assert time.monotonic() - begun < 20
        assert gateway.post(b'{"x":1}').status_code == 200
    forward = open_forward(url)
    with pytest.raises(Unkeepable):
        forward.append([b'{"x":"' + b"y" * 6000 + b'"}']).result(20)
    forward.close()


def test_such_an_event_from_mqtt_becomes_a_dead_letter(server, tmp_path):
    if find_mosquitto() is None:
        pytest.skip("there is no mosquitto")
    import paho.mqtt.client as paho
    from paho.mqtt.enums import CallbackAPIVersion

    in_stream(server, max_msg_size=5000)
    (tmp_path / "broker").mkdir()
    with Broker(tmp_path / "broker") as broker, Running(
            tmp_path / "log", "--forward", f"{server.address}/events", "--mqtt",
            f"mqtt://127.0.0.1:{broker.port}", "--topic", "s/#") as gateway:
        wait_for(lambda: metric(gateway, "mqtt_connected") == 1)
        publisher = paho.Client(CallbackAPIVersion.VERSION2)
        publisher.connect("127.0.0.1", broker.port)
        publisher.loop_start()
        for payload in (b'{"x":"' + b"y" * 6000 + b'"}', b'{"x":1}'):
            publisher.publish("s/a", payload, 1).wait_for_publish(20)
        wait_for(lambda: in_stream(server) == 1)
        wait_for(lambda: metric(gateway, "mqtt_dead_letters_total") == 1)
        publisher.disconnect()
        publisher.loop_stop()
    (letter,) = stored(tmp_path / "log" / "dead-letters")
    assert letter["_topic"] == "s/a"
    assert "y" * 6000 in letter["payload"]
    assert letter["reason"]


def test_logins_are_refused_or_warned_of_and_never_shown(tmp_path):
    with pytest.raises(ConfigError) as caught:
        open_forward("kafka://me:hunter2@host:9092/topic")
    assert "sasl.username" in str(caught.value)
    assert "hunter2" not in str(caught.value)

    from slackwater.cli import app

    said = CliRunner().invoke(app, ["gateway", "--log", str(tmp_path), "--forward", "nats://h/s",
                                    "--forward-set", "sasl.password:hunter2"])
    assert "hunter2" not in str(said.exception)

    def warned(url, **settings):
        config = GatewayConfig(None, forward=url, forward_settings=tuple(settings.items()))
        return " ".join(config.in_the_clear)

    clear = warned("kafka://host/t", **{"sasl.password": "hunter2"})
    assert "SASL_SSL" in clear
    assert "hunter2" not in clear
    assert warned("kafka://host/t", **{"sasl.password": "p", "security.protocol": "SASL_SSL"}) == ""
    assert warned("kafka://127.0.0.1/t", **{"sasl.password": "p"}) == ""
    assert "tls://" in warned("nats://host/t", password="hunter2")
    assert json.dumps(warned("tls://host/t", password="hunter2")) == '""'
