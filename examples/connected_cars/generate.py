"""Reports of two cars about their lanes; people cross the road ahead of them.

    python generate.py FOLDER

Car 2's radio is slower by up to 0.6 s, so that its reports come after car 1's of the same moment.
What was made to happen is written to truth.json.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 8, tzinfo=UTC)
SECONDS, FILES = 40, 4
CROSSINGS = [(4.0, "right"), (14.0, "left"), (26.0, "right")]  # when, and from which lane


def reports(rng: random.Random) -> list[tuple[float, dict]]:
    """Four a second from each car, each car's own in order of their time."""
    found = []
    sent = {"car1": 0.0, "car2": 0.0}
    for at in range(SECONDS * 4):
        for car, lane, slow in (("car1", "right", 0.05), ("car2", "left", 0.45)):
            second = at / 4 + (0.03 if car == "car2" else 0.0)
            what, metres = seen(second, lane)
            # a radio sends one after the other
            sent[car] = max(sent[car] + 1e-3, second + slow + rng.random() * 0.15)
            found.append((sent[car], {
                "time": stamp(second), "received": stamp(sent[car]), "car": car, "lane": lane,
                "what": what, "metres": metres}))
    return sorted(found, key=lambda r: r[0])


def seen(second: float, lane: str) -> tuple[str, int]:
    """What is on a lane: a person crosses in 4 s, two on each lane, and the cars come nearer."""
    for when, first in CROSSINGS:
        there = first if second - when < 2 else ("left" if first == "right" else "right")
        if when <= second < when + 4 and lane == there:
            return "PERSON", round(200 - (second - when) * 22)
    return "CLEAR", 300


def stamp(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="microseconds")


def main(folder: Path) -> None:
    rows = [json.dumps(row) for _, row in reports(random.Random(5))]
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // FILES)
    for n in range(FILES):
        file = data / f"reports-{n}.json"
        file.write_text("\n".join(rows[n * size:(n + 1) * size]) + "\n")
        os.utime(file, (START.timestamp() + n * SECONDS / FILES,) * 2)
    (folder / "truth.json").write_text(json.dumps({
        "crossings": [{"from": lane, "at": stamp(when)} for when, lane in CROSSINGS]}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
