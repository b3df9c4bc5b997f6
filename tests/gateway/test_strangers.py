"""What somebody without a token can hold, and for how long."""

from __future__ import annotations

import os
import re
import signal
import socket
import ssl
import time
from contextlib import suppress

import pytest

from slackwater.gateway.http.crowd import Crowd, Stage
from tests.gateway.certificates import Authority
from tests.gateway.running import Running
from tests.gateway.test_limits import LAST, Someone, ask, plug, statuses

TOKEN = "correct-horse-battery"


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("strangers") / "log", "--token-env", "GATE",
                 "--max-per-address", "30", "--body-timeout", "20s",
                 env={"GATE": TOKEN}) as running:
        yield running


@pytest.mark.parametrize(("line", "length", "status"), [
    ("GET /health", "content-length: 8000000", 413),
    ("GET /health", "content-length: 1", 413),
    ("GET /health", "transfer-encoding: chunked", 413),
    ("GET /health", "expect: 100-continue\r\ncontent-length: 10", 413),
    ("POST /health", "content-length: 8000", 405),
    ("POST /events", "content-length: 8000", 401),
    ("POST /elsewhere", "content-length: 8000", 401),
])
def test_a_stranger_s_body_is_not_waited_for(gateway, line, length, status):
    begun = time.monotonic()
    assert statuses(ask(gateway, f"{line} HTTP/1.1\r\nhost: g\r\n{length}\r\n\r\n".encode())) == \
        [status]
    assert time.monotonic() - begun < 10, "the time for a body is 20 s"


GUESS = b"GET /metrics HTTP/1.1\r\nhost: g\r\nauthorization: Bearer wrong\r\n\r\n"


def test_a_guess_takes_time_on_a_new_connection_too(gateway):
    begun = time.monotonic()
    for _ in range(5):
        with plug(gateway) as connection:
            connection.sendall(GUESS)
            assert statuses(connection.recv(1000)) == [401]
    assert time.monotonic() - begun > 0.5
    begun = time.monotonic()
    with plug(gateway) as connection:
        connection.sendall(GUESS * 3)
        connection.shutdown(socket.SHUT_WR)
        assert statuses(connection.recv(1000)) == [401], "who says no more still gets an answer"
    assert time.monotonic() - begun > 0.1


def test_guesses_that_nobody_waits_for_leave_nothing_behind(gateway):
    for _ in range(2000):
        with plug(gateway) as connection:
            connection.sendall(GUESS)
    begun = time.monotonic()
    with plug(gateway) as connection:
        connection.sendall(GUESS)
        assert statuses(connection.recv(1000)) == [401]
    assert time.monotonic() - begun < 5, "as if 2,000 others still waited"
    assert gateway.get("/health").status_code == 200


def test_a_body_of_health_takes_no_room_from_those_who_have_a_token(gateway):
    held = [plug(gateway) for _ in range(6)]
    try:
        for connection in held:
            connection.sendall(b"GET /health HTTP/1.1\r\nhost: g\r\n"
                               b"content-length: 8000000\r\n\r\n")
            with suppress(OSError):
                connection.sendall(b" " * 7_900_000)
        large = b"[" + b'{"a":1},' * 90_000 + b" " * 2_000_000 + b"1]"
        answer = gateway.post(large, headers={"authorization": f"Bearer {TOKEN}"})
        assert answer.status_code == 207
    finally:
        for connection in held:
            connection.close()


def test_empty_lines_before_a_request_are_few(gateway):
    assert statuses(ask(gateway, b"\r\n" * 2 + LAST)) == [200]
    assert statuses(ask(gateway, b"\r\n" * 30_000)) == [400]


def test_who_has_had_the_last_answer_gives_way_before_who_may_send_again():
    crowd = Crowd(3, 3)
    idle, leaving, body = Someone(), Someone(), Someone()
    for member, stage in ((idle, Stage.IDLE), (leaving, Stage.LEAVING), (body, Stage.BODY)):
        crowd.join(member)
        crowd.spoke(member)
        member.stage = stage
    newcomer = Someone()
    crowd.join(newcomer)
    assert (idle.gone, leaving.gone, body.gone) == (False, True, False)
    assert not newcomer.guest


REQUEST = b"GET /openapi.json HTTP/1.1\r\nhost: g\r\n\r\n"


def deaf(gateway, requests):
    """A connection that asks and does not listen."""
    host, port = gateway.url.removeprefix("http://").split(":")
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection.settimeout(0.5)
    connection.connect((host, int(port)))
    with suppress(TimeoutError):
        connection.sendall(REQUEST * requests)
    return connection


def unread_by_the_system(gateway):
    """Bytes of answers that the system holds for somebody who does not listen."""
    with deaf(gateway, 100_000) as connection:
        time.sleep(1)
        gateway.process.send_signal(signal.SIGSTOP)
        try:
            size = 0
            with suppress(TimeoutError):
                while data := connection.recv(1 << 16):
                    size += len(data)
        finally:
            gateway.process.send_signal(signal.SIGCONT)
    return size


@pytest.fixture(scope="module")
def open_gateway(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("open") / "log", "--max-per-address", "30") as running:
        yield running


def test_the_system_keeps_little_for_those_who_do_not_listen(open_gateway):
    assert 0 < unread_by_the_system(open_gateway) < 1 << 20


def test_answers_that_nobody_reads_do_not_keep_a_connection_that_gave_way(open_gateway):
    """A little more than the system holds stays in the gateway: closing politely waits for it."""
    gateway = open_gateway
    files = f"/proc/{gateway.process.pid}/fd"
    if not os.path.isdir(files):
        pytest.skip("no /proc")
    answer = len(ask(gateway, REQUEST[:-2] + b"connection: close\r\n\r\n")) - 19
    held = unread_by_the_system(gateway)
    time.sleep(0.5)
    before = len(os.listdir(files))
    connections, talking = [], []
    try:
        connections += [deaf(gateway, (held + extra) // answer) for extra in range(0, 60_000, 5000)]
        time.sleep(1)
        for _ in range(30):  # newcomers that speak: those who have waited longest give way
            newcomer = plug(gateway)
            talking.append(newcomer)
            newcomer.sendall(REQUEST)
            assert statuses(newcomer.recv(100_000)) == [200]
        for connection in talking:
            connection.close()
        until = time.monotonic() + 15  # their own time would be over after 60 s
        while len(os.listdir(files)) > before + 2:
            assert time.monotonic() < until, f"{len(os.listdir(files)) - before} files are open"
            time.sleep(0.2)
    finally:
        for connection in connections:
            connection.close()


def test_a_long_last_answer_over_tls_arrives_whole_and_ends_well(tmp_path):
    authority = Authority(tmp_path)
    cert, key = authority.sign("server")
    with Running(tmp_path / "log", "--tls-cert", str(cert), "--tls-key", str(key)) as gateway:
        host, port = gateway.url.removeprefix("https://").split(":")
        context = ssl.create_default_context(cafile=str(authority.file))
        with socket.create_connection((host, int(port)), timeout=20) as plain, \
                context.wrap_socket(plain, server_hostname="localhost") as connection:
            body = b"[" + b",".join([b'{"a":' + b"x" * 300 + b"}"] * 150) + b"]"
            connection.sendall(
                b"POST /events HTTP/1.1\r\nhost: g\r\ncontent-type: application/json\r\n"
                b"connection: close\r\ncontent-length: %d\r\n\r\n" % len(body) + body)
            data, begun = b"", time.monotonic()
            while more := connection.recv(1 << 16):  # ends in good order: no reset
                data += more
            assert time.monotonic() - begun < 1.5
        length = int(re.search(rb"content-length: (\d+)", data)[1])
        assert len(data.partition(b"\r\n\r\n")[2]) == length


def test_many_who_send_ahead_of_their_answers_share_a_rate(tmp_path):
    """Each for itself may send quickly; together they must not keep the event loop busy."""
    request = b"GET /health HTTP/1.1\r\nhost: g\r\n\r\n"
    with Running(tmp_path / "log") as gateway:
        crowd = [plug(gateway) for _ in range(150)]
        try:
            for connection in crowd:
                connection.sendall(request * 300)
            time.sleep(2)
            answers = 0
            for connection in crowd:
                connection.setblocking(False)
                with suppress(BlockingIOError):
                    while data := connection.recv(1 << 16):
                        answers += data.count(b"HTTP/1.1 200")
        finally:
            for connection in crowd:
                connection.close()
    assert 150 < answers < 20_000, "of 45,000 asked for"
