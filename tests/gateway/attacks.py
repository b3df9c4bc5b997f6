"""What anybody who reaches the port can do, and what a sender with a token can do on top of it.

Each attack is a coroutine that goes on until it is cancelled; a connection that the gateway ends is
opened again.  All of them stay on the loopback interface.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import ssl
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass

MEBI = 1 << 20


@dataclass(frozen=True)
class Target:
    """Where to send, and a token that is good."""

    port: int
    token: str
    connections: int = 5000

    def head(self, *fields: str, path: str = "/events", token: str | None = None,
             method: str = "POST") -> bytes:
        lines = [f"{method} {path} HTTP/1.1", "host: gateway", "content-type: application/json",
                 f"authorization: Bearer {token or self.token}", *fields]
        return "\r\n".join(lines).encode() + b"\r\n\r\n"

    def post(self, body: bytes) -> bytes:
        return self.head(f"content-length: {len(body)}") + body


Attack = Callable[[Target], Awaitable[None]]


class Plug:
    """A connection that does what it is told, and is opened again when it was closed."""

    def __init__(self, target: Target) -> None:
        self._target = target

    async def __aenter__(self) -> Plug:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self._target.port)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def answer(self) -> int:
        head = await self.reader.readuntil(b"\r\n\r\n")
        for line in head.lower().split(b"\r\n"):
            if line.startswith(b"content-length:"):
                await self.reader.readexactly(int(line.partition(b":")[2]))
        return int(head.split()[1])


async def again(target: Target, do: Callable[[Plug], Awaitable[None]], pause: float = 0.02) -> None:
    """Do it on one connection after another."""
    while True:
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            async with Plug(target) as plug:
                await do(plug)
        await asyncio.sleep(pause)


async def at_once(number: int, one: Callable[[int], Awaitable[None]]) -> None:
    await asyncio.gather(*(one(n) for n in range(number)))


async def header_flood(target: Target) -> None:
    """Header fields without end."""
    field = b"x-%b: %b\r\n" % (b"a" * 20, b"b" * 4000)

    async def flood(plug: Plug) -> None:
        await plug.send(b"POST /events HTTP/1.1\r\nhost: gateway\r\n")
        for _ in range(1000):
            await plug.send(field)

    await at_once(20, lambda _: again(target, flood))


async def slow_headers(target: Target) -> None:
    """A head that comes byte by byte."""
    async def drip(plug: Plug) -> None:
        for byte in itertools.chain(b"POST /events HTTP/1.1\r\nx: ", itertools.repeat(0x61)):
            await plug.send(bytes([byte]))
            await asyncio.sleep(0.3)

    await at_once(300, lambda _: again(target, drip))


async def slow_body(target: Target) -> None:
    """Half of a large body at once, the rest byte by byte; with a token."""
    async def drip(plug: Plug) -> None:
        await plug.send(target.head(f"content-length: {8 * MEBI}") + b" " * (4 * MEBI))
        while True:
            await plug.send(b" ")
            await asyncio.sleep(0.3)

    await at_once(30, lambda _: again(target, drip, 0.2))


async def idle(target: Target) -> None:
    """Connections that say nothing."""
    async def wait(plug: Plug) -> None:
        await plug.reader.read()

    async def one(number: int) -> None:
        await asyncio.sleep(number / 4000)
        await again(target, wait, 3)

    await at_once(target.connections, one)


def _bodies(*bodies: bytes, senders: int = 4) -> Attack:
    async def send(target: Target) -> None:
        requests = [target.post(body) for body in bodies]

        async def all_of_them(plug: Plug) -> None:
            for request in itertools.cycle(requests):
                await plug.send(request)
                await plug.answer()

        await at_once(senders, lambda _: again(target, all_of_them))

    return send


ones = _bodies(b"[" + b"1," * 4_000_000 + b"1]", b"[" + b"1," * 99_000 + b"1]",
               b"[" + b"1," * 30_000 + b"1]")
nested = _bodies(b"[" * 8_000_000, b'{"a":' * 1_500_000, b"[" * 60_000,
                 b"[" + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"]",
                 b"[" + b"[],[]," * 20_000 + b"[]]")
numbers = _bodies(b'{"n":' + b"9" * 250_000 + b"}", b"[" + b"9" * 8_000_000 + b"]",
                  b"[" + b'{"n":1e999},' * 90_000 + b"1]", b'{"n":0.' + b"1" * 250_000 + b"}",
                  b'{"n":-' + b"0" * 250_000 + b"}")
strings = _bodies(b'["' + b'\\"' * 4_000_000, b'[{"a":"' + b"\\" * 8_000_000,
                  b"\xff" * 1_000_000, b'[{"k":"\\ud800"}]')


async def chunks(target: Target) -> None:
    """Bodies in chunks of one byte, with sizes and trailers that nobody should believe."""
    begin = target.head("transfer-encoding: chunked")
    tricks = [
        b"1\r\nx\r\n" * 200_000, b"ffffffffffffffff\r\n", b"-1\r\n\r\n", b"0x5\r\nhello\r\n",
        b"5;" + b"e" * 100_000, b"0\r\n" + b"t: u\r\n" * 100_000, b"5\nhello\n0\n\n",
        b"5\r\nhelloworld\r\n0\r\n\r\n", b"7ffffff\r\n" + b" " * MEBI, b"1;a\r\n \r\n" * 50_000,
    ]
    heads = [target.head("transfer-encoding: chunked", "content-length: 5") + b"0\r\n\r\n",
             target.head("transfer-encoding: chunked", "transfer-encoding: identity"),
             target.head("content-length: 5", "content-length: 6") + b"hello!",
             target.head("content-length: +5") + b"hello",
             target.head("transfer-encoding : chunked") + b"0\r\n\r\n",
             target.head(" content-length: 3") + b"{}}",
             b"POST /events HTTP/1.1\nhost: gateway\n\n"]
    sends = [begin + trick for trick in tricks] + heads

    async def one(number: int) -> None:
        order = itertools.cycle(sends[number:] + sends[:number])

        async def trick(plug: Plug) -> None:
            await plug.send(next(order))
            await plug.answer()

        await again(target, trick)

    await at_once(8, one)


async def pipelines(target: Target) -> None:
    """Thousands of requests in a row whose answers are not read, or late."""
    healthy = target.head(path="/health", method="GET") * 2000
    metrics = target.head(path="/metrics", method="GET") * 500
    posts = target.post(b"[{}, 1]") * 500
    hidden = target.head("content-length: 4") + b"{}\r\n" + b"GET /health HTTP/1.1\r\n" * 100

    async def unread(plug: Plug) -> None:
        for data in (healthy, metrics, posts, hidden):
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(plug.send(data), 1)
        await asyncio.sleep(1)

    await at_once(10, lambda _: again(target, unread, 0.2))


async def wrong_tokens(target: Target) -> None:
    """Guesses, with and without a body behind them."""
    async def guess(plug: Plug) -> None:
        for _ in range(20):
            token = f"{random.getrandbits(128):x}"
            await plug.send(target.head(token=token, path="/metrics", method="GET"))
            assert await plug.answer() == 401
        await plug.send(target.head(f"content-length: {MEBI}", token=token) + b" " * MEBI)
        assert await plug.answer() == 401

    await at_once(30, lambda _: again(target, guess))


async def new_connections(target: Target) -> None:
    """A connection for every guess, as fast as they come."""
    async def guess(plug: Plug) -> None:
        await plug.send(target.head(token="wrong", path="/metrics", method="GET"))
        assert await plug.answer() == 401

    await at_once(20, lambda _: again(target, guess, 0.001))


async def bodies_for_health(target: Target) -> None:
    """Bodies where no token is asked for, and none is taken."""
    begin = target.head(f"content-length: {8 * MEBI}", path="/health", method="GET", token="none")

    async def send(plug: Plug) -> None:
        await plug.send(begin)
        for _ in range(50):
            await plug.send(b" " * 100_000)
            await asyncio.sleep(0.05)

    await at_once(100, lambda _: again(target, send, 0.2))


async def unread_answers(target: Target) -> None:
    """Requests on many connections that never read what they asked for."""
    asked = target.head(path="/health", method="GET") * 200

    async def ask(plug: Plug) -> None:
        plug.writer.transport.pause_reading()
        await plug.send(asked)
        await asyncio.sleep(20)

    await at_once(400, lambda _: again(target, ask, 0.2))


async def handshakes(target: Target) -> None:
    """The first message of a TLS handshake, again and again, from an address of its own."""
    secret, answer = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(secret, answer, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    hello = answer.read()

    async def begin(_: int) -> None:
        while True:
            with suppress(OSError, asyncio.TimeoutError):
                reader, writer = await asyncio.open_connection(
                    "127.0.0.1", target.port, local_addr=("127.0.0.2", 0))
                writer.write(hello)
                await asyncio.wait_for(reader.read(100), 5)
                writer.transport.abort()

    await at_once(300, begin)


async def no_tls(target: Target) -> None:
    """What is no TLS at all."""
    async def shout(plug: Plug) -> None:
        await plug.send(random.randbytes(20_000))
        await plug.reader.read()

    await at_once(30, lambda _: again(target, shout))


TLS_ATTACKS: dict[str, Attack] = {"TLS handshakes": handshakes, "no TLS": no_tls}
ATTACKS: dict[str, Attack] = {
    "header flood": header_flood, "slow headers": slow_headers, "slow body": slow_body,
    "idle connections": idle, "[1,1,…]": ones, "deep nesting": nested, "huge numbers": numbers,
    "bad strings": strings, "chunked tricks": chunks, "pipelined tricks": pipelines,
    "wrong tokens": wrong_tokens, "new connections": new_connections,
    "bodies for /health": bodies_for_health, "unread answers": unread_answers,
}
