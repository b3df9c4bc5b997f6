"""Tokens and certificates that change, clients with certificates, secrets in the clear."""

from __future__ import annotations

import json
import shutil
import signal
import socket
import ssl
import time

import httpx
import pytest

from slackwater.core.errors import ConfigError
from slackwater.gateway.config import GatewayConfig, MqttConfig
from slackwater.gateway.tokens import Tokens
from tests.gateway.certificates import Authority
from tests.gateway.running import Running


def wait_for(true, seconds=20):
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.05)


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def test_tokens_change_without_a_restart(tmp_path):
    file = tmp_path / "tokens"
    file.write_text("# old\nfirst\n")
    with Running(tmp_path / "log", "--token-file", str(file), "--token-env", "GATE",
                 env={"GATE": "fixed"}) as gateway:
        assert gateway.post(b"{}", headers=bearer("first")).status_code == 200
        file.write_text("second\nthird\n")
        gateway.process.send_signal(signal.SIGHUP)
        wait_for(lambda: gateway.post(b"{}", headers=bearer("second")).status_code == 200)
        assert gateway.post(b"{}", headers=bearer("first")).status_code == 401
        assert gateway.post(b"{}", headers=bearer("fixed")).status_code == 200
        assert gateway.post(b"{}", headers=bearer("# old")).status_code == 401
        file.write_text("\n")  # nobody wants to be locked out by half a file
        time.sleep(2.5)
        assert gateway.post(b"{}", headers=bearer("third")).status_code == 200
    said = "".join(gateway.errors)
    assert "read again" in said
    assert "stay as they were" in said
    assert "second" not in said
    with pytest.raises(ConfigError, match="no token"):
        Tokens(file=file)
    with pytest.raises(ConfigError, match="cannot be read"):
        Tokens(file=tmp_path / "none")


def issuer(gateway, trusted):
    host, port = gateway.url.removeprefix("https://").split(":")
    with socket.create_connection((host, int(port)), timeout=20) as plain, \
            trusted.wrap_socket(plain, server_hostname="localhost") as secure:
        return secure.getpeercert()["issuer"][0][0][1]


def test_certificates_change_without_a_restart(tmp_path):
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    trusted = ssl.create_default_context(cafile=old.file)
    trusted.load_verify_locations(new.file)
    served = tmp_path / "cert.pem", tmp_path / "key.pem"
    for made, used in zip(old.sign("gateway"), served, strict=True):
        shutil.copy(made, used)
    with Running(tmp_path / "log", "--tls-cert", str(served[0]), "--tls-key", str(served[1])
                 ) as gateway, httpx.Client(verify=trusted, timeout=20) as client:
        assert client.post(f"{gateway.url}/events", json={"n": 1}).status_code == 200
        assert issuer(gateway, trusted) == "old"
        served[1].write_text("not a key")
        gateway.process.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        assert issuer(gateway, trusted) == "old", "what cannot be used is not taken up"
        for made, used in zip(new.sign("gateway"), served, strict=True):
            shutil.copy(made, used)
        wait_for(lambda: issuer(gateway, trusted) == "new")
        # a connection that is open stays so
        assert client.post(f"{gateway.url}/events", json={"n": 2}).status_code == 200
        body = json.dumps([{"n": n, "x": "y" * 100} for n in range(5000)])
        answer = client.post(f"{gateway.url}/events", content=body,
                             headers={"content-type": "application/json"})
        assert answer.json() == {"accepted": 5000, "refused": []}
    assert "is not used" in "".join(gateway.errors)


def test_clients_with_certificates(tmp_path):
    ours, theirs = Authority(tmp_path, "ours"), Authority(tmp_path, "theirs")
    cert, key = ours.sign("gateway")
    options = ("--tls-cert", str(cert), "--tls-key", str(key), "--tls-client-ca", str(ours.file))
    with Running(tmp_path / "log", *options) as gateway:
        for who, welcome in ((ours.sign("client"), True), (theirs.sign("stranger"), False),
                             (None, False)):
            trusted = ssl.create_default_context(cafile=ours.file)
            if who:
                trusted.load_cert_chain(*who)
            if welcome:
                assert gateway.post(b"{}", verify=trusted).status_code == 200
            else:
                with pytest.raises(httpx.HTTPError):
                    gateway.post(b"{}", verify=trusted)
        # half a handshake, or none, is ended like any head that does not come
        host, port = gateway.url.removeprefix("https://").split(":")
        with socket.create_connection((host, int(port)), timeout=20) as plug:
            plug.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert not plug.recv(1000).startswith(b"HTTP")
    with pytest.raises(ConfigError, match="over TLS"):
        GatewayConfig(tmp_path, tls_client_ca=cert)


def test_a_secret_that_crosses_a_network_in_the_clear_is_said(tmp_path):
    def said(**more):
        return GatewayConfig(tmp_path, **more).in_the_clear

    assert said(tokens=("t",)) == []
    assert said(host="::1", tokens=("t",)) == []
    assert "--tls-cert" in said(host="0.0.0.0", tokens=("t",))[0]
    assert said(host="0.0.0.0", tokens=("t",), tls_cert=tmp_path, tls_key=tmp_path) == []
    loud = MqttConfig("mqtt://me:hunter2@broker", ("a",))
    assert "mqtts://" in said(mqtt=loud)[0]
    assert "hunter2" not in said(mqtt=loud)[0]
    assert said(mqtt=MqttConfig("mqtts://me:hunter2@broker", ("a",))) == []
    assert "tls://" in said(forward="nats://me:hunter2@broker/s")[0]
    login = {"forward_settings": (("sasl.password", "hunter2"),)}
    for hosts in ("broker:9092", "127.0.0.1:9092,broker:9092", "[::1]:9092,[2001:db8::1]:9092"):
        assert "SASL_SSL" in said(forward=f"kafka://{hosts}/t", **login)[0]
    for hosts in ("localhost", "127.0.0.1:9092,localhost:9093", "[::1]:9092"):
        assert said(forward=f"kafka://{hosts}/t", **login) == []
    with Running(tmp_path / "log", "--token-env", "GATE", env={"GATE": "fixed"}) as gateway:
        pass
    assert gateway.errors == []
    host = ["--http", "0.0.0.0:0"]
    with Running(tmp_path / "log", *host, "--token-env", "GATE", "--log-format", "json",
                 env={"GATE": "hidden-one"}) as gateway:
        pass
    (line,) = gateway.errors
    assert "in the clear" in json.loads(line)["message"]
    assert json.loads(line)["level"] == "warning"
    assert "hidden-one" not in line
