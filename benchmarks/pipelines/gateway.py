"""The gateway over HTTP with fsync before every answer, against the rate that it promises.

Sender and gateway share the machine; the sender is a second process that keeps some requests under
way on plain sockets, so that what is measured is the gateway.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import socket
import tempfile
import time
from pathlib import Path

from benchmarks.result import Result
from slackwater.gateway import LogReader
from tests.gateway.running import Running

SECONDS, BATCH, SENDERS, PROMISED = 12, 200, 8, 20_000


def body(kind: str) -> bytes:
    events = [json.dumps({"time": f"2026-01-01T00:00:{n % 60:02d}.{n:06d}Z", "device": f"d{n % 50}",
                          "sequence": n, "value": n * 0.25}) for n in range(BATCH)]
    text = "\n".join(events) if kind == "application/x-ndjson" else "[" + ",".join(events) + "]"
    return text.encode()


def request(port: int, kind: str) -> bytes:
    content = body(kind)
    head = (f"POST /events HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: {kind}\r\n"
            f"content-length: {len(content)}\r\n\r\n")
    return head.encode() + content


async def sender(port: int, message: bytes, until: float) -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    accepted = 0
    while time.monotonic() < until:
        writer.write(message)
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
        answer = json.loads(await reader.readexactly(length))
        assert head.startswith(b"HTTP/1.1 200"), head
        accepted += answer["accepted"]
    writer.close()
    return accepted


def load(port: int, kind: str, told: multiprocessing.Queue) -> None:
    async def all_of_them() -> int:
        until = time.monotonic() + SECONDS
        message = request(port, kind)
        return sum(await asyncio.gather(*(sender(port, message, until) for _ in range(SENDERS))))

    begin = time.monotonic()
    told.put((asyncio.run(all_of_them()), time.monotonic() - begin))


def measure(kind: str) -> tuple[int, float]:
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        with Running(log) as gateway:
            told: multiprocessing.Queue = multiprocessing.Queue()
            process = multiprocessing.Process(
                target=load, args=(int(gateway.url.rpartition(":")[2]), kind, told))
            process.start()
            accepted, seconds = told.get(timeout=10 * SECONDS)
            process.join()
        assert LogReader(log).end().record == accepted, "every acknowledged event is in the log"
        return accepted, seconds


def run() -> list[Result]:
    results = []
    for name, kind in (("lines", "application/x-ndjson"), ("arrays", "application/json")):
        accepted, seconds = measure(kind)
        results.append(Result(
            f"gateway, HTTP {name} of {BATCH}, fsync before each answer", seconds,
            f"{PROMISED} events/s", accepted / PROMISED, limit=1,
            detail=f"{accepted / seconds:,.0f} events/s for {seconds:.0f} s"))
    return results
