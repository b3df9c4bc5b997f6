"""What a connection may cost, and what two readers could understand differently."""

from __future__ import annotations

import json
import re
import socket
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from slackwater.gateway.http.answer import Refused
from slackwater.gateway.http.body import Body
from slackwater.gateway.http.crowd import MOST_GUESTS, Crowd, Stage
from slackwater.gateway.http.head import read_head
from slackwater.gateway.http.room import Handshakes, Room
from tests.gateway.running import Running

HOST = b"host: gateway\r\ncontent-type: application/json\r\n"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("limits") / "log", "--header-timeout", "1s",
                 "--body-timeout", "1s", "--idle-timeout", "1s", "--max-per-address", "30",
                 "--max-body", "1MB", "--max-batch", "1000") as running:
        yield running


def plug(gateway):
    host, port = gateway.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=20)


def read_all(connection):
    data = b""
    while True:
        try:
            more = connection.recv(1 << 16)
        except ConnectionResetError:
            return data
        if not more:
            return data
        data += more


def ask(gateway, data):
    """All that is answered until the gateway closes."""
    with plug(gateway) as connection:
        connection.sendall(data)
        return read_all(connection)


def statuses(data):
    return [int(s) for s in re.findall(rb"HTTP/1\.1 (\d+) ", data)]


def post(body, *fields):
    lines = b"".join(field + b"\r\n" for field in fields)
    return (b"POST /events HTTP/1.1\r\n" + HOST + lines
            + b"content-length: %d\r\n\r\n" % len(body) + body)


CHUNKED = b"POST /events HTTP/1.1\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n"
LAST = b"GET /health HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n"


@pytest.mark.parametrize(("data", "expected"), [
    (b"GET /health HTTP/1.1\r\n" + b"x: y\r\n" * 50_000, [431]),
    (b"GET /health HTTP/1.1\r\nhost: g\r\n" + b"x: y\r\n" * 200 + b"\r\n", [431]),
    (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nhost: g\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n", [400]),
    (b"GET /health HTTP/2.0\r\nhost: a\r\n\r\n", [505]),
    (b"GET  /health HTTP/1.1\r\nhost: a\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\nhost: a\n\n\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\r\nhost: a\r\n folded: b\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\r\nhost : a\r\n\r\n", [400]),
    (b"GET /health HTTP/1.1\r\nhost: a\0b\r\n\r\n", [400]),
    (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", [400]),
    (post(b"{}", b"content-length: 3"), [400]),
    (post(b"{}", b"transfer-encoding: chunked"), [400]),
    (post(b"{}", b"transfer-encoding: gzip"), [400]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"transfer-encoding: gzip, chunked\r\n\r\n", [501]),
    (b"POST /events HTTP/1.0\r\n" + HOST + b"transfer-encoding: chunked\r\n\r\n", [400]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"content-length: +2\r\n\r\n{}", [400]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"content-length: 2_0\r\n\r\n{}", [400]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"content-length: 99999999999999999999\r\n\r\n", [400]),
    (CHUNKED + b"2\r\n{}\r\n0\r\n\r\n" + LAST, [200, 200]),
    (CHUNKED + b"1;a=b\r\n{\r\n1\r\n}\r\n0\r\ntrailer: x\r\n\r\n" + LAST, [200, 200]),
    (CHUNKED + b"2\n{}\n0\n\n", [408]),
    (CHUNKED + b"2\r\n{}}\r\n0\r\n\r\n", [400]),
    (CHUNKED + b"0x2\r\n{}\r\n0\r\n\r\n", [400]),
    (CHUNKED + b"-2\r\n", [400]),
    (CHUNKED + b"ffffffff\r\n", [413]),
    (CHUNKED + b"fffffffff\r\n", [400]),
    (CHUNKED + b"2;" + b"x" * 5000, [400]),
    (CHUNKED + b"1\r\n \r\n" * 5000, [413]),
    (CHUNKED + b"0\r\n" + b"x: y\r\n" * 5000, [431]),
    (post(b"{}") * 3 + LAST, [200, 200, 200, 200]),
    (post(b"[") + post(b"{}") + LAST, [400, 200, 200]),
    (b"\r\n\r\n" + LAST, [200]),
    (b"GET /health HTTP/1.0\r\n\r\n" + LAST, [200]),
    (b"GET http://gateway/health?x=y HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", [200]),
    (b"GET /he%61lth HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", [200]),
    (b"OPTIONS * HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n", [404]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"expect: 100-continue\r\ncontent-length: 9999999\r\n"
     b"\r\n", [413]),
], ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else str(value))
def test_one_reading_or_none(gateway, data, expected):
    assert statuses(ask(gateway, data)) == expected


def test_head_has_no_body_and_continue_is_said_once(gateway):
    data = ask(gateway, b"HEAD /health HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
    assert data.endswith(b"\r\n\r\n")
    assert b"content-length: 15" in data
    with plug(gateway) as connection:
        connection.sendall(b"POST /events HTTP/1.1\r\n" + HOST + b"expect: 100-continue\r\n"
                           b"content-length: 2\r\n\r\n")
        assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"{}")
        assert statuses(connection.recv(1000)) == [200]


@pytest.mark.parametrize(("data", "expected"), [
    (b"", []), (b"POST /eve", [408]), (post(b"{}") + b"GET", [200, 408]), (post(b"{}"), [200]),
    (b"POST /events HTTP/1.1\r\n" + HOST + b"content-length: 10\r\n\r\n{", [408]),
    (CHUNKED + b"5\r\n{", [408]),
])
def test_who_says_no_more_is_left(gateway, data, expected):
    begun = time.monotonic()
    assert statuses(ask(gateway, data)) == expected
    assert 0.5 < time.monotonic() - begun < 15


def test_a_head_that_drips_is_ended(gateway):
    def drip(connection):
        until = time.monotonic() + 15
        while time.monotonic() < until:
            connection.sendall(b"x")
            time.sleep(0.05)

    with plug(gateway) as connection, pytest.raises((ConnectionError, BrokenPipeError)):
        drip(connection)


def test_silent_connections_give_way(gateway):
    with plug(gateway) as busy:
        busy.sendall(post(b"{}"))
        assert statuses(busy.recv(1000)) == [200]
        silent = [plug(gateway) for _ in range(100)]
        try:
            busy.sendall(post(b"{}"))
            assert statuses(busy.recv(1000)) == [200], "who has something to say keeps its place"
            assert gateway.get("/health").status_code == 200
            text = gateway.get("/metrics").text
            assert int(re.search(r"_connections (\d+)", text)[1]) <= 30
            assert int(re.search(r'why="gave_way"} (\d+)', text)[1]) >= 70
        finally:
            for connection in silent:
                connection.close()


def test_answers_that_nobody_reads_are_not_piled_up(gateway):
    with plug(gateway) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.5)
        request = b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n"
        with pytest.raises(TimeoutError):  # it stops reading long before all is sent
            connection.sendall(request * 400_000)
        assert gateway.get("/health").status_code == 200


def test_a_batch_too_long_and_a_list_that_is_cut(gateway):
    answer = gateway.post(b"[" + b"1," * 400_000 + b"1]")
    assert (answer.status_code, answer.json()["accepted"]) == (413, 0)
    assert "1000" in answer.json()["error"]
    answer = gateway.post(b"[" + b"1," * 900 + b"{}]")
    assert answer.status_code == 207
    found = answer.json()
    assert (found["accepted"], len(found["refused"]), found["refused_count"]) == (1, 100, 900)
    assert gateway.post(b"x\n" * 2000, "application/x-ndjson").status_code == 413
    assert gateway.post(b"\n" * 500_000 + b"{}", "application/x-ndjson").status_code == 200


def test_large_and_small_bodies_are_answered_alike(gateway):
    for event, status in ((b'{"v":1}', 200), (b"7", 422), (b'{"v":NaN}', 422)):
        for count in (3, 900):  # the second is checked in the other process
            padding = b" " * (100 * count)
            answer = gateway.post(b"[" + b",".join([event] * count) + padding + b"]")
            assert answer.status_code == status
            good = count if status == 200 else 0
            assert answer.json()["accepted"] == good


def test_events_with_nul_can_be_refused(tmp_path):
    with Running(tmp_path / "log", "--refuse-nul") as gateway:
        answer = gateway.post(rb'[{"a":"x\u0000"},{"a":"\\u0000"},{"a":"\\\u0000"},{"\u0000":1}]')
        assert (answer.status_code, answer.json()["accepted"]) == (207, 1)
        assert [r["index"] for r in answer.json()["refused"]] == [0, 2, 3]
        assert "U+0000" in answer.json()["refused"][0]["reason"]


# -- the parts by themselves -------------------------------------------------------------------


@dataclass(eq=False)
class Someone:
    address: str = "a"
    stage: Stage = Stage.SILENT
    since: float = 0.0
    deadline: float = 0.0
    guest: bool = False
    gone: bool = False
    shaken: bool = False

    def give_way(self, reason):
        self.gone = True

    def overdue(self):
        self.gone = True

    def go_on_reading(self):
        pass

    def shake_hands(self):
        self.shaken = True
        time.sleep(0.005)


def test_where_all_are_busy_a_newcomer_is_a_guest():
    crowd = Crowd(3, 2)
    first, second, third = Someone(), Someone(), Someone("b")
    for member in (first, second, third):
        crowd.join(member)
        crowd.spoke(member)
        member.stage = Stage.BUSY
    guests = [Someone(), Someone("c"), *(Someone("d") for _ in range(100))]
    for guest in guests:
        crowd.join(guest)
        assert guest.guest
    assert not any(m.gone for m in (first, second, third))
    assert sum(not g.gone for g in guests) == 64
    second.stage, second.since = Stage.IDLE, 5.0
    newcomer = Someone()
    crowd.join(newcomer)
    assert second.gone
    assert not newcomer.guest
    crowd.sweep()
    assert all(m.gone for m in (first, third, newcomer, *guests))


def test_a_body_that_comes_slowly_gives_its_room_away():
    room, now = Room(4 << 20), time.monotonic()
    slow = Someone(stage=Stage.BODY, since=now - 100)
    quick = Someone(stage=Stage.BODY, since=now)
    small = Someone(stage=Stage.BODY, since=now)
    assert room.grow(slow, 2 << 20)
    assert room.grow(quick, 2 << 20)
    assert room.grow(small, 1 << 20), "there is always room for a small one"
    assert not slow.gone
    assert room.grow(quick, 3 << 20)
    assert slow.gone
    assert not room.grow(quick, 4 << 20)
    for member in (quick, small):
        room.free(member)
    assert room.used == 0


def test_addresses_take_turns_to_begin_tls():
    handshakes = Handshakes(lambda: True)
    crowd = [Someone("many") for _ in range(50)]
    one, left = Someone("one"), Someone("one")
    for member in (*crowd, one, left):
        handshakes.ask(member)
    at_once = sum(member.shaken for member in crowd)
    assert 1 <= at_once < 25, "strangers do not get all of the time"
    handshakes.leave(left)
    until = time.monotonic() + 20
    while not one.shaken:
        assert time.monotonic() < until
        time.sleep(0.01)
        handshakes.refill()
    assert sum(member.shaken for member in crowd) <= at_once + 4, "it does not wait for all of them"
    while not all(member.shaken for member in crowd):
        assert time.monotonic() < until
        time.sleep(0.01)
        handshakes.refill()
    assert not left.shaken


def test_a_body_may_come_in_any_pieces():
    wire = b"5;x\r\n[{},{\r\n4\r\n},{}\r\n1\r\n]\r\n0\r\na: b\r\n\r\nNEXT"
    for cut in range(1, 8):
        body, rest = Body(None, 100), b""
        for start in range(0, len(wire), cut):
            rest += body.feed(wire[start:start + cut])
        assert body.whole
        assert bytes(body.data) == b"[{},{},{}]"
        assert rest == b"NEXT"


def test_heads_that_look_alike():
    head = read_head(b"POST /events HTTP/1.1\r\nHost: a\r\nX:  b \t\r\nx: c\r\nEmpty:")
    assert head.fields == {b"host": b"a", b"x": b"b, c", b"empty": b""}
    begun = time.monotonic()
    for bad in (b"GET / HTTP/1.1\r\nhost: " + b"a" * 16_000 + b"\x01",
                b"GET / HTTP/1.1\r\n" + b"a" * 16_000, b"G" * 16_000,
                b"GET / HTTP/1.1" + b"\r\nx:y" * 3000 + b"\r\n"):
        with pytest.raises(Refused):
            read_head(bad)
    assert time.monotonic() - begun < 5
    assert json.loads(Refused(400, "x").answer.body)["accepted"] == 0


def test_guests_have_files_of_their_own(tmp_path):
    """A connection that finds no room is a guest: it must not take the log's descriptors."""
    with Running(tmp_path / "log", "--max-connections", "100",
                 wrapper=("prlimit", "--nofile=120:400")) as gateway:
        text = Path(f"/proc/{gateway.process.pid}/limits").read_text()
    assert int(re.search(r"Max open files\s+(\d+)", text)[1]) >= 100 + MOST_GUESTS + 64
