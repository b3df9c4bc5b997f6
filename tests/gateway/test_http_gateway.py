"""A real gateway process over HTTP."""

from __future__ import annotations

import asyncio
import json
import socket
import ssl
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

import httpx
import pytest
from typer.testing import CliRunner

from slackwater.core.errors import ConfigError
from slackwater.gateway import LogReader
from slackwater.gateway.places import commit
from tests.gateway.running import COMMAND, Running

TOKEN = "correct-horse-battery"
OPEN = {"authorization": f"Bearer {TOKEN}"}


def stored(folder):
    reader = LogReader(folder)
    return [json.loads(row["event"]) for span in reader.spans(reader.first(), reader.end())
            for batch in reader.read(span) for row in batch.to_pylist()]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory):
    with Running(tmp_path_factory.mktemp("http") / "log", "--max-body", "1MB",
                 "--max-event", "10kB", "--max-batch", "500", "--require", "id") as running:
        yield running


def accepted(gateway):
    for line in gateway.get("/metrics").text.splitlines():
        if line.startswith("slackwater_gateway_log_end_record "):
            return int(line.split()[1])
    raise AssertionError("no such line")


def test_one_event_a_batch_and_lines(gateway):
    before = accepted(gateway)
    for body, kind, count in [(b'{"id":1}', "application/json", 1),
                              (b'[{"id":2},{"id":3}]', "application/json; charset=utf-8", 2),
                              (b'{"id":4}\n{"id":5}\r\n', "application/x-ndjson", 2),
                              (b"[]", "application/json", 0)]:
        answer = gateway.post(body, kind)
        assert answer.status_code == 200
        assert answer.json() == {"accepted": count, "refused": []}
    assert [e["id"] for e in stored(gateway.log)[before:]] == [1, 2, 3, 4, 5]


def test_a_bad_event_is_named_and_the_rest_is_kept(gateway):
    before = accepted(gateway)
    answer = gateway.post(b'[{"id":1},{"id":NaN},{},{"id":2},7]')
    assert answer.status_code == 207
    assert answer.json()["accepted"] == 2
    assert [r["index"] for r in answer.json()["refused"]] == [1, 2, 4]
    assert "'id' is missing" in answer.json()["refused"][1]["reason"]
    assert [e["id"] for e in stored(gateway.log)[before:]] == [1, 2]


@pytest.mark.parametrize(("body", "kind", "status"), [
    (b"", "application/json", 400), (b'{"id":', "application/json", 400),
    (b"[[[", "application/json", 400), (b'{"id":1}', "text/plain", 415),
    (b'{"id":1}', "application/json; charset=latin-1", 415), (b"[1]", "application/json", 422),
    (b'{"x":1}', "application/json", 422), (b"x\ny", "application/x-ndjson", 422),
    (b'{"id":"' + b"x" * 20_000 + b'"}', "application/json", 413),
    (b" " * 1_500_000, "application/json", 413),
    (b"[" + b",".join([b'{"id":1}'] * 501) + b"]", "application/json", 413),
    (b"[" * 900_000, "application/json", 400),
])
def test_refusals_are_clear_and_keep_nothing(gateway, body, kind, status):
    before = accepted(gateway)
    answer = gateway.post(body, kind)
    assert answer.status_code == status
    assert answer.json()["accepted"] == 0
    assert answer.json()["error"]
    assert accepted(gateway) == before


def test_a_body_without_a_length_is_bounded_too(gateway):
    def chunks():
        for _ in range(300):
            yield b" " * 10_000

    answer = httpx.post(f"{gateway.url}/events", content=chunks(), timeout=60,
                        headers={"content-type": "application/json"})
    assert answer.status_code == 413
    answer = gateway.post(b"{}", headers={"content-encoding": "gzip"})
    assert answer.status_code == 415


def test_other_paths_and_methods(gateway):
    assert gateway.get("/health").json() == {"status": "ok"}
    assert gateway.get("/nothing").status_code == 404
    assert gateway.get("/events").status_code == 405
    assert gateway.get("/openapi.json").json()["openapi"] == "3.1.0"
    text = gateway.get("/metrics").text
    assert 'slackwater_gateway_accepted_events_total{way="http"}' in text


def test_bytes_that_are_no_http_do_not_disturb(gateway):
    host, port = gateway.url.removeprefix("http://").split(":")
    for rubbish in (b"\0\1\2\3\r\n\r\n", b"POST /events HTTP/1.1\r\ncontent-length: 10\r\n\r\n{",
                    b"POST /events HTTP/1.1\r\ncontent-length: -1\r\n\r\n{}"):
        with socket.create_connection((host, int(port)), timeout=10) as plug:
            plug.sendall(rubbish)
    assert gateway.post(b'{"id":1}').status_code == 200


def test_nobody_gets_in_without_the_token(tmp_path):
    with Running(tmp_path / "log", "--token-env", "GATE", env={"GATE": TOKEN}) as gateway:
        for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN},
                        {"authorization": f"Basic {TOKEN}"}, {"authorization": "Bearer"},
                        {"authorization": f"Bearer {TOKEN}x"},
                        {"authorization": "Bearer é".encode()}):
            answer = gateway.post(b'{"id":1}', headers=headers)
            assert answer.status_code == 401
            assert answer.headers["www-authenticate"] == "Bearer"
            for path in ("/metrics", "/openapi.json", "/nothing"):
                assert gateway.get(path, headers=headers).status_code == 401
        two = httpx.Headers([("authorization", f"Bearer {TOKEN}"), ("authorization", "Bearer x"),
                             ("content-type", "application/json")])
        assert httpx.post(f"{gateway.url}/events", content=b"{}", headers=two).status_code == 401
        assert gateway.get("/health").status_code == 200
        assert gateway.post(b'{"id":2}', headers=OPEN).status_code == 200
        assert gateway.get("/metrics", headers=OPEN).status_code == 200
        scheme = gateway.get("/openapi.json", headers=OPEN).json()["components"]["securitySchemes"]
        assert scheme == {"token": {"type": "http", "scheme": "bearer"}}
    assert stored(tmp_path / "log") == [{"id": 2}]


def make_certificate(folder):
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([
            x509.DNSName("localhost"),
            x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256()))
    (folder / "cert.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption()))
    return folder / "cert.pem", folder / "key.pem"


def test_tls(tmp_path):
    certificate, key = make_certificate(tmp_path)
    options = ("--tls-cert", str(certificate), "--tls-key", str(key))
    with Running(tmp_path / "log", *options) as gateway:
        assert gateway.url.startswith("https://127.0.0.1:")
        trusting = ssl.create_default_context(cafile=certificate)
        assert gateway.post(b'{"id":1}', verify=trusting).status_code == 200
        with pytest.raises(httpx.ConnectError):
            gateway.post(b'{"id":2}')
        with pytest.raises(httpx.HTTPError):
            httpx.post(gateway.url.replace("https", "http") + "/events", content=b"{}")
    assert stored(tmp_path / "log") == [{"id": 1}]


def test_back_pressure_is_429_until_the_reader_has_read(tmp_path):
    log = tmp_path / "log"
    with Running(log, "--max-backlog", "20kB", "--reader", "r") as gateway:
        batch = json.dumps([{"id": n} for n in range(100)]).encode()
        statuses = []
        while 429 not in statuses:
            answer = gateway.post(batch)
            statuses.append(answer.status_code)
            assert len(statuses) < 100
        assert answer.headers["retry-after"] == "1"
        assert "behind" in answer.json()["error"]
        assert answer.json()["accepted"] == 0
        assert gateway.get("/health").json()["status"] == "refusing"
        assert "slackwater_gateway_refusing 1" in gateway.get("/metrics").text.splitlines()
        commit(log, "r", LogReader(log).end())
        until = time.monotonic() + 10
        while (answer := gateway.post(batch)).status_code == 429:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert answer.status_code == 200
    assert len(stored(log)) == 100 * statuses.count(200) + 100


def test_mistakes_in_the_command_are_told(tmp_path):
    from slackwater.cli import app

    for options, message in [
        (["--http", "0.0.0.0:0"], "everybody"),
        (["--token-env", "NOT_SET_AT_ALL"], "NOT_SET_AT_ALL"),
        (["--topic", "x"], "no broker"),
        (["--retain-size", "5 apples"], "unit of size"),
        (["--http", "127.0.0.1:0", "--tls-cert", "no.pem", "--tls-key", "no.pem"], "certificate"),
    ]:
        said = CliRunner().invoke(app, ["gateway", "--log", str(tmp_path / "log"), *options])
        assert isinstance(said.exception, ConfigError)
        assert message in str(said.exception)


def test_a_missing_dependency_is_named_with_its_extra(tmp_path, monkeypatch):
    from slackwater.cli import app

    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.delitem(sys.modules, "slackwater.gateway.serve", raising=False)
    said = CliRunner().invoke(app, ["gateway", "--log", str(tmp_path / "log")])
    assert "uvloop" in str(said.exception)
    assert "slackwater[gateway]" in str(said.exception)


def test_a_second_gateway_on_the_same_log_is_refused(tmp_path):
    with Running(tmp_path / "log"):
        said = subprocess.run(
            [*COMMAND, "--log", str(tmp_path / "log"), "--http", "127.0.0.1:0"],
            capture_output=True, text=True, timeout=60, check=False)
        assert (said.returncode, "another gateway" in said.stderr) == (2, True)
        assert "Traceback" not in said.stderr


def test_sigterm_ends_it_cleanly_with_everything_written(tmp_path):
    gateway = Running(tmp_path / "log")
    assert gateway.post(b'{"id":1}').status_code == 200
    assert gateway.stop() == 0
    assert gateway.errors == []
    assert stored(tmp_path / "log") == [{"id": 1}]


@pytest.mark.parametrize("moment", [40, 600])
def test_what_was_acknowledged_survives_sigkill_exactly_once(tmp_path, moment):
    """Eight senders, a kill while their requests are under way, twice, then a clean life."""
    log = tmp_path / "log"
    sure: list[int] = []
    sent: list[int] = []

    async def sender(client, gateway, first, until):
        while True:
            ids = list(range(first, first + 1 + (first * 7) % 50))
            first += len(ids)
            sent.extend(ids)
            body = "\n".join(json.dumps({"id": i}) for i in ids)
            try:
                answer = await client.post(f"{gateway.url}/events", content=body,
                                           headers={"content-type": "application/x-ndjson"})
            except httpx.HTTPError:
                return
            assert answer.json() == {"accepted": len(ids), "refused": []}
            sure.extend(ids)
            if len(sure) > until:
                gateway.process.kill()

    async def load(gateway, life):
        async with httpx.AsyncClient(verify=False, timeout=30) as client:
            until = len(sure) + moment
            await asyncio.gather(*(sender(client, gateway, life * 10**9 + w * 10**6, until)
                                   for w in range(8)))

    for life in range(2):
        gateway = Running(log, "--segment-size", "5kB")
        try:
            asyncio.run(load(gateway, life))
        finally:
            gateway.kill()
        kept = [e["id"] for e in stored(log)]
        assert set(sure) <= set(kept) <= set(sent)
        assert len(kept) == len(set(kept))
    with Running(log) as gateway:  # recovery cuts what was torn, and numbers go on
        assert gateway.post(b'{"id":-1}').status_code == 200
    kept = [e["id"] for e in stored(log)]
    assert set(sure) <= set(kept) <= {*sent, -1}
    assert len(kept) == len(set(kept))
    assert kept[-1] == -1
