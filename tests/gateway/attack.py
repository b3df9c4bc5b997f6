"""Attack a gateway and see what it costs: memory, /health, a good client, acknowledged events.

    python tests/gateway/attack.py --seconds 10

Everything runs on the loopback interface of this machine: the gateway, one process that attacks,
one good client and one that asks for /health in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from slackwater.gateway import LogReader
from tests.gateway.attacks import ATTACKS, Target
from tests.gateway.mosquitto_broker import Broker, find_mosquitto
from tests.gateway.mqtt_attack import malformed_messages
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

    port: int
    acknowledged: list[int] = field(default_factory=list)
    sent: int = 0

    async def send_for(self, seconds: float) -> float:
        """Batches per second that were acknowledged."""
        until, count = time.monotonic() + seconds, 0
        begun = time.monotonic()
        async with httpx.AsyncClient(timeout=30, headers=HEADERS) as client:
            while time.monotonic() < until:
                ids = range(self.sent, self.sent + 50)
                self.sent += 50
                try:
                    answer = await client.post(
                        f"http://127.0.0.1:{self.port}/events",
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
def watched(gateway: Running, seen: Seen, idle: int) -> Iterator[None]:
    """Ask for memory and /health all the time, each on a new connection."""
    over = threading.Event()

    def memory() -> None:
        while not over.wait(0.02):
            seen.memory = max(seen.memory, resident(gateway.process.pid) - idle)

    def ask(path: str) -> None:
        begun = time.monotonic()
        try:
            answered = gateway.get(path, headers=HEADERS).status_code == 200
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
    with watched(gateway, Seen("nothing"), idle):
        return asyncio.run(good.send_for(seconds))


def attack_in_process(name: str, target: Target) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = target.connections + 200
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    asyncio.run(ATTACKS[name](target))


def run(folder: Path, *, seconds: float, connections: int = 5000, names: list[str] | None = None,
        mqtt: bool = True, compare: bool = True) -> list[Seen]:
    """Run attacks one after another on one gateway; then look into its log.

    `compare`: measure the good client before and after each attack, not only once.
    """
    broker = None
    options: list[str] = []
    if mqtt and find_mosquitto() is not None:
        (folder / "broker").mkdir()
        broker = Broker(folder / "broker", "message_size_limit 0")
        options = ["--mqtt", f"mqtt://127.0.0.1:{broker.port}", "--topic", "attack/#"]
    results = []
    try:
        with Running(folder / "log", "--token-env", "GATE", *options,
                     env={"GATE": TOKEN}) as gateway:
            port = int(gateway.url.rpartition(":")[2])
            good = Good(port)
            gateway.post(b"[" + b'{"warm":"up"},' * 10_000 + b"1]", headers=HEADERS)
            asyncio.run(good.send_for(1))
            idle = resident(gateway.process.pid)
            normal = undisturbed(gateway, good, seconds, idle)
            for name in names if names is not None else ATTACKS:
                results.append(seen := Seen(name))
                attacker = multiprocessing.get_context("spawn").Process(
                    target=attack_in_process, args=(name, Target(port, TOKEN, connections)),
                    daemon=True)
                attacker.start()
                time.sleep(0.7)  # until it has started
                with watched(gateway, seen, idle):
                    rate = asyncio.run(good.send_for(seconds))
                attacker.kill()
                attacker.join()
                before = normal
                if compare:  # others use this machine too: what was there before and after
                    normal = undisturbed(gateway, good, seconds, idle)
                seen.rate = rate * 2 / (before + normal)
            if broker is not None:
                results.append(seen := Seen("malformed MQTT"))
                with watched(gateway, seen, idle), malformed_messages(broker.port, gateway):
                    seen.rate = asyncio.run(good.send_for(seconds)) / normal
    finally:
        if broker is not None:
            broker.end()
    kept = [event["id"] for event in stored(folder / "log") if "id" in event]
    assert set(good.acknowledged) <= set(kept), "an acknowledged event is not in the log"
    assert len(kept) == len(set(kept)), "an event is in the log twice"
    return results


def stored(folder: Path) -> Iterator[dict]:
    reader = LogReader(folder)
    for span in reader.spans(reader.first(), reader.end()):
        for batch in reader.read(span):
            for text in batch.column("event").to_pylist():
                yield json.loads(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each attack")
    parser.add_argument("--connections", type=int, default=5000, help="idle ones")
    parser.add_argument("--only", action="append", choices=list(ATTACKS), help="one attack")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slackwater-attack-") as folder:
        results = run(Path(folder), seconds=arguments.seconds, connections=arguments.connections,
                      names=arguments.only, mqtt=arguments.only is None)
    print(*results, sep="\n")
    faults = [fault for seen in results for fault in seen.faults()]
    print(*faults, sep="\n") if faults else print("every acknowledged event is in the log, once")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
