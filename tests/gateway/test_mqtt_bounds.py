"""A broker that sends more than it should: messages are cut as they pass, rubbish ends the link."""

from __future__ import annotations

import random
import socket
import struct
import threading
import time

import pytest
from paho.mqtt.enums import CallbackAPIVersion

from slackwater.gateway.mqtt_client import _KEPT, BoundedClient, _Bound
from tests.gateway.running import Running


def length(size):
    out = bytearray()
    while True:
        size, low = size >> 7, size & 127
        out.append(low | (128 if size else 0))
        if not size:
            return bytes(out)


def publish(topic, payload, mid=7, qos=1):
    body = struct.pack(">H", len(topic)) + topic + (struct.pack(">H", mid) if qos else b"")
    return bytes([0x30 | qos << 1]) + length(len(body) + len(payload)) + body + payload


class Wire:
    """Bytes that come in pieces of any size, with pauses."""

    def __init__(self, data, seed):
        self._data, self._rng = data, random.Random(seed)

    def read(self, size):
        if self._rng.random() < 0.2:
            raise BlockingIOError
        taken, self._data = self._data[:size], self._data[size:]
        cut = self._rng.randint(1, len(taken)) if taken else 0
        self._data = taken[cut:] + self._data
        return taken[:cut]


def packets(bound, wire, count):
    """Read as the library does: a byte, a length byte by byte, the rest."""
    def take(size):
        while True:
            try:
                return bound.receive(size, wire.read)
            except BlockingIOError:
                continue

    for _ in range(count):
        command, size, shift = take(1), 0, 0
        while True:
            byte = take(1)[0]
            size, shift = size | (byte & 127) << shift, shift + 7
            if byte < 128:
                break
        rest = b""
        while len(rest) < size:
            rest += take(size - len(rest))
        yield command[0], rest, bound.cut


@pytest.mark.parametrize("seed", range(5))
def test_a_large_message_is_cut_and_what_follows_is_not(seed):
    large = b"1," * 400_000
    wire = Wire(b"\x20\x02\x00\x00" + publish(b"a", b"{}") + publish(b"t/x", large, 9)
                + b"\xd0\x00" + publish(b"b", b"[]", qos=0) + publish(b"c", large) + b"\xd0\x00",
                seed)
    found = list(packets(_Bound(200_000), wire, 7))
    assert [command for command, _, _ in found] == [0x20, 0x32, 0x32, 0xD0, 0x30, 0x32, 0xD0]
    assert found[1][1:] == (publish(b"a", b"{}")[2:], None)
    rest, cut = found[2][1:]
    assert cut == 2 + 3 + 2 + len(large)
    assert rest == publish(b"t/x", large, 9)[4:][:_KEPT]
    assert found[4][1:] == (publish(b"b", b"[]", qos=0)[2:], None)
    assert found[5][2] is not None
    assert found[6][1:] == (b"", None)


@pytest.mark.parametrize("rubbish", [b"\x32\xff\xff\xff\xff\xff", publish(b"a", b"{}", qos=2),
                                     b"\x20\xff\xff\xff\x7f", b"\x90\xff\xff\x7f"])
def test_what_no_broker_sends_ends_the_connection(rubbish):
    with pytest.raises(ConnectionError):
        list(packets(_Bound(1 << 20), Wire(rubbish + b"\0" * 100, 1), 1))


def test_a_gateway_outlives_a_broker_that_talks_rubbish(tmp_path):
    door = socket.create_server(("127.0.0.1", 0))
    answers = [b"\xff" * 1000, b"\x20\x02\x00\x00\x32\x05\xff\xff", b"",
               b"\x20\x02\x00\x00" + publish(b"\xff\xfe", b"{}"), b"\x20\x02\x00\x05"]
    served = []

    def broker():
        while True:
            try:
                link, _ = door.accept()
            except OSError:
                return
            with link:
                link.settimeout(0.3)
                data = answers[len(served) % len(answers)]
                served.append(data)
                try:
                    link.recv(1000)
                    link.sendall(data)
                    while link.recv(1000):
                        pass
                except OSError:
                    pass

    thread = threading.Thread(target=broker, daemon=True)
    thread.start()
    port = door.getsockname()[1]
    with Running(tmp_path / "log", "--mqtt", f"mqtt://127.0.0.1:{port}", "--topic", "a") as gateway:
        until = time.monotonic() + 30
        while len(served) < 3:
            assert time.monotonic() < until
            assert gateway.post(b"{}").status_code == 200
            time.sleep(0.1)
    door.shutdown(socket.SHUT_RDWR)
    door.close()
    thread.join()
    assert not any("Traceback" in line for line in gateway.errors), gateway.errors


WELCOME = b"\x20\x02\x00\x00"


class Broker:
    """Greets, says one thing on its first connection, and counts the later ones."""

    def __init__(self, first):
        self._door = socket.create_server(("127.0.0.1", 0))
        self._first, self.port, self.links = first, self._door.getsockname()[1], 0
        self._open = []
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        while True:
            try:
                link, _ = self._door.accept()
            except OSError:
                return
            link.settimeout(10)
            link.recv(1000)
            self._open.append(link)
            link.sendall(self._first if not self.links else WELCOME)
            self.links += 1

    def close(self):
        self._door.shutdown(socket.SHUT_RDWR)
        self._door.close()
        self._thread.join()
        for link in self._open:
            link.close()


def client_of(broker, connected):
    client = BoundedClient(CallbackAPIVersion.VERSION2, client_id="c", clean_session=False,
                           manual_ack=True, largest=1 << 20)
    client.on_connect = lambda *_: connected.set()
    client.reconnect_delay_set(0.05, 0.1)
    client.connect_async("127.0.0.1", broker.port)
    client.loop_start()
    return client


@pytest.mark.parametrize("rubbish", [
    b"\x32\x02\xff\xff", b"\x30\x00", b"\x30\x01\x00", b"\x30\x02\x00\x00", b"\x32\x03\x00\x01a",
    b"\x32\x04\x00\x01a\x00", b"\x90\x00", b"\x90\x01\x00", b"\x90\x03\x00\x01\x77", b"\x20\x00",
    b"\x20\x05\x00\x00\x00\x00\x00", b"\x40\x00", b"\x62\x01\x00", b"\xb0\x00", b"\x00\x00",
    b"\xf0\x00"])
def test_after_a_packet_that_cannot_be_read_the_client_connects_again(rubbish):
    broker = Broker(WELCOME + rubbish)
    connected = threading.Event()
    client = client_of(broker, connected)
    try:
        assert connected.wait(10)
        until = time.monotonic() + 10
        while broker.links < 2:
            assert time.monotonic() < until, "nobody listens to the broker any more"
            time.sleep(0.01)
    finally:
        client.disconnect()
        client.loop_stop()
        broker.close()


def test_a_client_whose_socket_has_a_high_number_is_connected():
    held = [socket.socket() for _ in range(1100)]
    broker = Broker(WELCOME)
    connected = threading.Event()
    client = client_of(broker, connected)
    try:
        assert connected.wait(10), "with many connections open the broker is not reached"
    finally:
        client.disconnect()
        client.loop_stop()
        broker.close()
        for one in held:
            one.close()
