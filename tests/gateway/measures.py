"""What an attack costs: memory, the time of /health, the rate of a good client."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

from slackwater.gateway import LogReader
from tests.gateway.running import Running

TOKEN = "correct-horse-battery"
HEADERS = {"authorization": f"Bearer {TOKEN}"}
MEMORY, HEALTH_SECONDS, RATE = 256 << 20, 1.0, 0.5
_NO_ANSWER = 99.0


@dataclass
class Seen:
    """What one attack did."""

    name: str
    memory: int = 0  # above idle, at its greatest
    health: float = 0.0  # the slowest answer of /health or /metrics, in seconds
    asked: int = 0  # how many answers there were
    rate: float = 0.0  # of the good client, as a share of its undisturbed rate

    def __str__(self) -> str:
        return (f"{self.name:18} {self.memory / 2**20:6.0f} MiB above idle, /health in at most "
                f"{self.health * 1000:4.0f} ms ({self.asked}), good client at {self.rate:4.0%}")

    def faults(self, rate: float = RATE) -> list[str]:
        """What was promised otherwise."""
        found = []
        if self.memory > MEMORY:
            found.append(f"{self.name}: {self.memory / 2**20:.0f} MiB above idle")
        if self.health > HEALTH_SECONDS or not self.asked:
            found.append(f"{self.name}: /health took {self.health:.2f} s ({self.asked} answers)")
        if self.rate < rate:
            found.append(f"{self.name}: the good client got {self.rate:.0%} of its rate")
        return found


@dataclass
class Good:
    """A client that sends batches with numbers one after another, on a connection that it keeps."""

    url: str
    trusted: ssl.SSLContext | bool = False
    acknowledged: list[int] = field(default_factory=list)
    sent: int = 0

    async def send_for(self, seconds: float) -> float:
        """Batches per second that were acknowledged."""
        until, count = time.monotonic() + seconds, 0
        begun = time.monotonic()
        async with httpx.AsyncClient(timeout=30, headers=HEADERS, verify=self.trusted) as client:
            while time.monotonic() < until:
                ids = range(self.sent, self.sent + 50)
                self.sent += 50
                try:
                    answer = await client.post(
                        f"{self.url}/events",
                        content=json.dumps([{"id": n, "text": "x" * 50} for n in ids]),
                        headers={"content-type": "application/json"})
                except httpx.HTTPError:
                    continue
                if answer.status_code == 200:
                    self.acknowledged.extend(ids)
                    count += 1
                await asyncio.sleep(0.005)  # a client, not one more attack
        return count / (time.monotonic() - begun)


def resident(pid: int) -> int:
    """Bytes of a process and of those that it started."""
    total = 0
    for one in [pid, *_children(pid)]:
        with suppress(OSError):
            for line in Path(f"/proc/{one}/status").read_text().splitlines():
                if line.startswith("VmRSS"):
                    total += int(line.split()[1]) << 10
    return total


def _children(pid: int) -> list[int]:
    return [int(child) for task in Path(f"/proc/{pid}/task").glob("*/children")
            for child in task.read_text().split()]


@contextmanager
def watched(gateway: Running, seen: Seen, idle: int, trusted: ssl.SSLContext | bool = False
            ) -> Iterator[None]:
    """Ask for memory and /health all the time, each on a new connection."""
    over = threading.Event()

    def memory() -> None:
        while not over.wait(0.02):
            seen.memory = max(seen.memory, resident(gateway.process.pid) - idle)

    def ask(path: str) -> None:
        begun = time.monotonic()
        try:
            answered = gateway.get(path, headers=HEADERS, verify=trusted).status_code == 200
        except httpx.HTTPError:
            answered = False
        seen.asked += answered
        seen.health = max(seen.health, time.monotonic() - begun if answered else _NO_ANSWER)

    def health() -> None:
        while not over.wait(0.1):
            ask("/health")
            ask("/metrics")

    threads = [threading.Thread(target=memory), threading.Thread(target=health)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()


def undisturbed(gateway: Running, good: Good, seconds: float, idle: int) -> float:
    """The good client's rate while nobody attacks."""
    with watched(gateway, Seen("nothing"), idle, good.trusted):
        return asyncio.run(good.send_for(seconds))


def stored(folder: Path) -> Iterator[dict]:
    reader = LogReader(folder)
    for span in reader.spans(reader.first(), reader.end()):
        for batch in reader.read(span):
            for text in batch.column("event").to_pylist():
                yield json.loads(text)
