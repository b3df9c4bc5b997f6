"""A sender over TLS that says it will send no more still gets its answer."""

from __future__ import annotations

import socket
import ssl
from contextlib import suppress

from slackwater.gateway import LogReader
from tests.gateway.certificates import Authority
from tests.gateway.running import Running

REQUEST = (b"POST /events HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
           b"content-length: 7\r\n\r\n" b'{"n":1}')


def test_an_answer_reaches_who_has_closed_its_side(tmp_path):
    authority = Authority(tmp_path)
    certificate, key = authority.sign("gateway")
    trusted = ssl.create_default_context(cafile=authority.file)
    with Running(tmp_path / "log", "--tls-cert", str(certificate), "--tls-key",
                 str(key)) as gateway:
        port = int(gateway.url.rpartition(":")[2])
        come, go = ssl.MemoryBIO(), ssl.MemoryBIO()
        tls = trusted.wrap_bio(come, go, server_hostname="127.0.0.1")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as plug:
            while True:
                try:
                    tls.do_handshake()
                    break
                except ssl.SSLWantReadError:
                    plug.sendall(go.read())
                    come.write(plug.recv(65536))
            tls.write(REQUEST)
            with suppress(ssl.SSLWantReadError):
                tls.unwrap()  # says that no more will come
            plug.sendall(go.read())
            answer = b""
            with suppress(ssl.SSLZeroReturnError):
                while b'"refused":[]' not in answer:
                    try:
                        answer += tls.read(65536)
                    except ssl.SSLWantReadError:
                        data = plug.recv(65536)
                        assert data, f"no answer: {answer!r}"
                        come.write(data)
    assert answer.startswith(b"HTTP/1.1 200")
    assert LogReader(tmp_path / "log").end().record == 1
