"""Attack a gateway and see what it costs: memory, /health, a good client, acknowledged events.

    python tests/gateway/attack.py --seconds 10

Everything runs on the loopback interface of this machine: the gateway, one process that attacks,
one good client and one that asks for /health in this process.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import resource
import ssl
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from tests.gateway.attacks import ATTACKS, TLS_ATTACKS, Target
from tests.gateway.certificates import Authority
from tests.gateway.measures import (
    HEADERS,
    TOKEN,
    Good,
    Seen,
    resident,
    stored,
    undisturbed,
    watched,
)
from tests.gateway.mosquitto_broker import Broker, find_mosquitto
from tests.gateway.mqtt_attack import malformed_messages
from tests.gateway.running import Running


def attack_in_process(name: str, target: Target) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = target.connections + 200
    if hard == resource.RLIM_INFINITY or hard >= wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, wanted), hard))
    asyncio.run({**ATTACKS, **TLS_ATTACKS}[name](target))


def run(folder: Path, *, seconds: float, connections: int = 5000, names: list[str] | None = None,
        mqtt: bool = True, tls: bool = False, compare: bool = True) -> list[Seen]:
    """Run attacks one after another on one gateway; then look into its log.

    `compare`: measure the good client before and after each attack, not only once.
    """
    broker, trusted = None, False
    options: list[str] = []
    folder.mkdir(exist_ok=True)
    if mqtt and find_mosquitto() is not None:
        (folder / "broker").mkdir()
        broker = Broker(folder / "broker", "message_size_limit 0")
        options = ["--mqtt", f"mqtt://127.0.0.1:{broker.port}", "--topic", "attack/#"]
    if tls:
        authority = Authority(folder)
        certificate, key = authority.sign("gateway")
        options += ["--tls-cert", str(certificate), "--tls-key", str(key)]
        trusted = ssl.create_default_context(cafile=authority.file)
    results = []
    try:
        with Running(folder / "log", "--token-env", "GATE", *options,
                     env={"GATE": TOKEN}) as gateway:
            port = int(gateway.url.rpartition(":")[2])
            good = Good(gateway.url, trusted)
            gateway.post(b"[" + b'{"warm":"up"},' * 10_000 + b"1]", headers=HEADERS,
                         verify=trusted)
            asyncio.run(good.send_for(1))
            idle = resident(gateway.process.pid)
            normal = undisturbed(gateway, good, seconds, idle)
            for name in names if names is not None else TLS_ATTACKS if tls else ATTACKS:
                results.append(seen := Seen(name))
                attacker = multiprocessing.get_context("spawn").Process(
                    target=attack_in_process, args=(name, Target(port, TOKEN, connections)),
                    daemon=True)
                attacker.start()
                time.sleep(0.7)  # until it has started
                with watched(gateway, seen, idle, trusted):
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10, help="of each attack")
    parser.add_argument("--connections", type=int, default=5000, help="idle ones")
    parser.add_argument("--only", action="append", choices=[*ATTACKS, *TLS_ATTACKS],
                        help="one attack")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="slackwater-attack-") as folder:
        only = arguments.only
        plain = None if only is None else [name for name in only if name in ATTACKS]
        tls = None if only is None else [name for name in only if name in TLS_ATTACKS]
        results = []
        if plain is None or plain:
            results += run(Path(folder) / "plain", seconds=arguments.seconds, names=plain,
                           connections=arguments.connections, mqtt=only is None)
        if tls is None or tls:
            results += run(Path(folder) / "tls", seconds=arguments.seconds, names=tls,
                           mqtt=False, tls=True)
    print(*results, sep="\n")
    faults = [fault for seen in results for fault in seen.faults()]
    print(*faults, sep="\n") if faults else print("every acknowledged event is in the log, once")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
