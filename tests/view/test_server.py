"""The page's server on loopback: who is let in, and what each answer forbids a browser."""

from __future__ import annotations

import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

import httpx
import pytest

from runs_for_view import HOSTILE, add_second, plant
from slackwater.core.errors import ConfigError
from slackwater.pipeline.metrics import Numbers
from slackwater.view import RunView
from slackwater.view.access import Access
from slackwater.view.page import MODULES, asset, inline_page
from slackwater.view.serve import address_of, serve_view

PATHS = ("/", "/events", "/model.json", "/static/main.js", "/static/page.css", "/nothing")


def shown(seconds: int = 3) -> RunView:
    view = RunView()
    numbers = Numbers(plant(), listeners=(view.take,))
    with numbers.told():
        for at in range(seconds):
            add_second(numbers, at)
    return view


@pytest.fixture(scope="module")
def page():
    with serve_view(shown(), every=0.05, most_clients=2) as url:
        parts = urlsplit(url)
        yield f"http://{parts.netloc}", parts.query.removeprefix("token=")


@contextmanager
def visit(page) -> Iterator[httpx.Client]:
    """A client that has been let in."""
    base, token = page
    with httpx.Client(base_url=base, timeout=10) as client:
        assert client.get("/", params={"token": token}).status_code == 303
        yield client


@pytest.mark.parametrize("path", PATHS)
def test_nobody_gets_in_without_the_token(page, path):
    base, token = page
    for asked in (f"{base}{path}", f"{base}{path}?token=", f"{base}{path}?token={token[:-1]}x"):
        answer = httpx.get(asked)
        assert answer.status_code == 401
        assert "plant" not in answer.text
    wrong = httpx.get(base + path, headers={"Cookie": f"slackwater-{urlsplit(base).port}=é"
                                            .encode()})
    assert wrong.status_code == 401


def test_the_token_leaves_the_address_bar(page):
    base, token = page
    with httpx.Client(base_url=base) as client:
        first = client.get("/", params={"token": token})
        assert (first.status_code, first.headers["location"]) == (303, "./")
        cookie = first.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        second = client.get("/")
        assert second.status_code == 200
        assert token not in second.text


def test_a_token_opens_nothing_but_the_page(page):
    base, token = page
    assert httpx.get(f"{base}/model.json?token={token}").status_code == 401


def test_another_name_for_this_machine_is_refused(page):
    with visit(page) as client:
        for host in ("evil.example", "evil.example:80", "localhost.evil.example", "", "a b", "[::"):
            assert client.get("/model.json", headers={"Host": host}).status_code in (400, 421)
        for host in ("localhost", "127.0.0.1:1", "[::1]:9"):
            assert client.get("/model.json", headers={"Host": host}).status_code == 200


def raw(page, text: bytes) -> bytes:
    """The first line of the answer to a request that no proper client would send."""
    base, _ = page
    address = urlsplit(base)
    with socket.create_connection((address.hostname, address.port), timeout=10) as one:
        one.sendall(text)
        return one.makefile("rb").readline()


def with_cookie(page, line: str, *headers: str) -> bytes:
    base, token = page
    port = urlsplit(base).port
    lines = [line, *headers, f"Cookie: slackwater-{port}={token}", "Connection: close", "", ""]
    return "\r\n".join(lines).encode("latin-1")


@pytest.mark.parametrize("host", [
    "127.0.0.1@evil.example", "localhost@evil.example:80", "127.0.0.1.evil.example", "2130706433",
    "0x7f.1", "localhost.", "LOCALHOST.evil.example", "localhost#evil.example\\@x", "[::1].evil",
    "evil.example, localhost"])
def test_names_that_only_look_like_this_machine(page, host):
    said = raw(page, with_cookie(page, "GET /model.json HTTP/1.1", f"Host: {host}"))
    assert said.split()[1] in (b"400", b"421"), said


def test_two_hosts_or_a_forwarded_one_open_nothing(page):
    two = with_cookie(page, "GET /model.json HTTP/1.1", "Host: localhost", "Host: evil.example")
    assert raw(page, two).split()[1] == b"400"
    told = with_cookie(page, "GET /model.json HTTP/1.1", "Host: evil.example",
                       "X-Forwarded-Host: localhost", "Forwarded: host=localhost")
    assert raw(page, told).split()[1] == b"421"
    # a whole address in the request line does not stand in for the header
    whole = with_cookie(page, "GET http://localhost/model.json HTTP/1.1", "Host: evil.example")
    assert raw(page, whole).split()[1] in (b"400", b"404", b"421")


@pytest.mark.parametrize("path", [
    "/static/../page.py", "/static/%2e%2e/page.py", "/static/..%2f..%2fserve.py",
    "/static/..%5c..%5cserve.py", "/static//etc/passwd", "/static/main.js%00.css", "/static/",
    "/..//..//etc/passwd", "//evil.example/", "/%2f%2fevil.example/", "/static/page.html"])
def test_no_path_leads_to_another_file(page, path):
    said = raw(page, with_cookie(page, f"GET {path} HTTP/1.1", "Host: localhost"))
    assert said.split()[1] in (b"400", b"404"), said


@pytest.mark.parametrize("path", ["/", "/events", "/model.json"])
def test_no_web_socket_gets_around_the_token(page, path):
    base, _ = page
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
             "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
    assert httpx.get(base + path, headers=asked).status_code == 401
    with visit(page) as client, client.stream("GET", path, headers=asked) as answer:
        assert answer.status_code == 200  # an ordinary answer: nothing is upgraded
        assert "upgrade" not in answer.headers.get("connection", "").lower()


def test_headers_without_end_are_cut_off(page):
    huge = with_cookie(page, "GET / HTTP/1.1", "Host: localhost", f"X-A: {'a' * 1_000_000}")
    try:
        said = raw(page, huge)
    except ConnectionError:
        return
    assert said.split()[1] in (b"400", b"431"), said


def test_another_page_of_this_machine_cannot_use_the_cookie_to_read(page):
    """Pages on other ports are of the same site, so a browser sends them the cookie too."""
    with visit(page) as client:
        for path in ("/", "/model.json", "/static/main.js"):
            headers = client.get(path, headers={"Origin": "http://localhost:1"}).headers
            assert headers["cross-origin-resource-policy"] == "same-origin"
            assert headers["x-frame-options"] == "DENY"
            assert "access-control-allow-origin" not in headers


def test_each_answer_forbids_what_the_page_does_not_need(page):
    with visit(page) as client:
        for path in ("/", "/static/main.js", "/model.json", "/nothing"):
            headers = client.get(path).headers
            assert "default-src 'none'" in headers["content-security-policy"]
            assert "unsafe" not in headers["content-security-policy"]
            assert headers["x-content-type-options"] == "nosniff"
            assert headers["referrer-policy"] == "no-referrer"
            assert "access-control-allow-origin" not in headers
        assert client.post("/").status_code == 405
        assert client.get("/static/..%2fpage.py").status_code == 404


def test_the_changes_that_it_sends(page):
    with visit(page) as client:
        with client.stream("GET", "/events") as answer:
            assert answer.headers["content-type"].startswith("text/event-stream")
            data = [line for line, _ in zip((x for x in answer.iter_lines()
                                             if x.startswith("data: ")), range(2), strict=False)]
        first, second = (json.loads(line.removeprefix("data: ")) for line in data)
        model = client.get("/model.json").json()
    assert first["whole"]
    assert first["streams"] == model["streams"]
    assert first["sources"] == model["sources"]
    assert (second["whole"], second["streams"]) == (False, {})


def test_no_more_pages_than_allowed_are_open(page):
    with visit(page) as client, client.stream("GET", "/events") as one, client.stream(
            "GET", "/events") as two:
        lines = [answer.iter_lines() for answer in (one, two)]  # one that is let go is closed
        for each in lines:
            next(each)
        with client.stream("GET", "/events") as third:
            assert third.status_code == 503
    with visit(page) as client:
        for _ in range(100):  # those that were closed make room
            with client.stream("GET", "/events") as answer:
                if answer.status_code == 200:
                    return
            threading.Event().wait(0.05)
    pytest.fail("no room again")


def test_no_token_is_asked_for_where_that_is_said():
    with serve_view(shown(1), access=Access(token=None)) as url:
        assert "token" not in url
        assert httpx.get(url).status_code == 200
        assert httpx.get(url, headers={"Host": "evil.example"}).status_code == 421


def test_a_port_that_is_taken():
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(ConfigError, match="cannot bind the dashboard's port"), serve_view(
                RunView(), port=port):
            pass


@pytest.mark.parametrize("text", ["a:b", "::1", "1.2.3.4:99999", "[::1]:x"])
def test_no_address(text):
    with pytest.raises(ConfigError, match="is not an address"):
        address_of(text)


def test_the_token_is_in_no_text_about_access():
    access = Access()
    assert access.token not in repr(access)
    assert len(access.token) >= 32


def test_the_report_is_one_file_whatever_the_data_holds():
    model = shown().model()
    model["pipeline"] = "</script><script>alert(1)</script><!--"
    text = inline_page(model)
    assert HOSTILE not in text
    assert "<script>alert" not in text
    assert text.count("</script>") == 3
    data = re.search(r'id="model">(.*?)</script>', text, re.DOTALL)[1]
    assert json.loads(data) == model
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "unsafe" not in policy
    assert policy.count("sha256-") == 3
    assert not re.search(r"""(src|href)=["'](?!#)""", text)


def test_the_pages_own_scripts_make_no_markup():
    for name in MODULES:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(",
                             asset(name)), name
