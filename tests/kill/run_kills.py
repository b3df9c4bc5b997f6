"""SIGKILL drivers, executors, gateways and brokers of running pipelines: nothing lost or doubled.

    python tests/kill/run_kills.py --kills 30 --what driver,executor,gateway,broker
    python tests/kill/run_kills.py --kills 10 --what together
    python tests/kill/run_kills.py --kills 10 --what together --scene forward
    python tests/kill/run_kills.py --kills 20 --what overload

Each pipeline runs continuously on events that keep coming. In the end its sinks are compared with
those of a run over the same input that nobody disturbed.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from parts.spark_cluster import SparkCluster
from scenes import SCENES, SMALL, Scene
from supervise import Driver, compare, disturb

WHAT = ("driver", "executor", "gateway", "broker", "together", "overload")
_HIT = {"driver": "driver", "executor": "executor", "gateway": "server", "broker": "server",
        "together": "together", "overload": "driver"}


def play(scene_name: str, kills: list[str], seed: int, folder: Path,
         drain: Callable[[Scene, Path], None] | None = None) -> str:
    """One scene with these kills; what to say of it.

    `drain` runs the pipeline to the end of what is there; left out, `slackwater run` does.
    """
    begun = time.monotonic()
    drain = drain or (lambda scene, out: Driver(scene, out).drain())
    cluster = None
    if "executor" in kills:
        cluster = SparkCluster(folder / "cluster")
        cluster.start()
    try:
        scene = (SCENES | SMALL)[scene_name](folder)
        try:
            driver = Driver(scene, folder / "disturbed", cluster and cluster.address)
            disturb(scene, driver, kills, seed, cluster)
            for out in ("disturbed", "calm"):
                drain(scene, folder / out)
            held = compare(scene, folder / "disturbed", folder / "calm")
        finally:
            scene.server.stop()
    finally:
        if cluster is not None:
            cluster.stop()
    took = time.monotonic() - begun
    return (f"{scene_name}: {len(kills)} kills ({', '.join(kills)}), {len(scene.sent)} events, "
            f"rows {held}, the driver ended by itself {driver.ends} times, {took:.0f} s: equal")


def shared_out(kills: int, what: list[str], seed: int) -> list[tuple[str, list[str]]]:
    """Which scene gets which kills: gateways die in one, executors on a cluster, brokers in two."""
    rng = random.Random(seed)
    plan: dict[tuple[str, bool], list[str]] = {}
    for number in range(kills):
        victim = what[number % len(what)]
        if victim == "gateway":
            where = ("gateway", False)
        elif victim == "executor":
            where = (("kafka", "nats")[number // len(what) % 2], True)
        elif victim == "broker":
            where = (("nats", "kafka")[number // len(what) % 2], False)
        elif victim == "together":  # the gateway, its broker if it has one, and the driver
            where = (("forward", "gateway")[number // len(what) % 2], False)
        elif victim == "overload":  # a topic that is full from the start; its broker dies, too
            where = ("overload", False)
        else:
            where = (rng.choice(list(SCENES)), False)
        fourth = victim == "overload" and number // len(what) % 4 == 3
        plan.setdefault(where, []).append("server" if fourth else _HIT[victim])
    parts = []
    for (scene, _), victims in sorted(plan.items()):
        rng.shuffle(victims)
        parts.append((scene, victims))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--what", default=",".join(WHAT))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--scene", action="append", choices=list(SCENES),
                        help="only this one's share of the kills; may be repeated")
    arguments = parser.parse_args()
    what = arguments.what.split(",")
    if unknown := [w for w in what if w not in WHAT]:
        parser.error(f"--what takes {', '.join(WHAT)}, not {', '.join(unknown)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # what was started is ended then too
    played = 0
    for number, (scene, kills) in enumerate(shared_out(arguments.kills, what, arguments.seed)):
        if arguments.scene and scene not in arguments.scene:
            continue
        played += len(kills)
        with tempfile.TemporaryDirectory(prefix="slackwater-kills-") as folder:
            print(play(scene, kills, arguments.seed + number, Path(folder)), flush=True)
    print(f"{played} kills; every sink holds exactly what an undisturbed run gives")


if __name__ == "__main__":
    main()
