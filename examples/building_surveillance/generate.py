"""Doors that are opened by badge, and cameras that see people in front of them.

    python generate.py FOLDER

Neither clock is exact: a door's controller knows the time of an opening to 0.5 s, a camera that of
a movement to 1 s.  Camera 3 is down in the third minute.  What was made to happen is written to
truth.json.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 8, tzinfo=UTC)
DOORS, SECONDS, FILES = 4, 300, 5
TAILGATES = (7, 31)  # the numbers of openings with two people before the door
OPENING_EVERY = 6


def main(folder: Path) -> None:
    rng = random.Random(11)
    doors, cameras, pairs = [], [], []
    for n in range(SECONDS // OPENING_EVERY):
        second, door = n * OPENING_EVERY + rng.random() * 2, rng.randrange(DOORS)
        row = around(rng, second, 0.5, door=f"door-{door}", badge=f"badge-{rng.randrange(40)}")
        doors.append(row)
        down = door == 3 and 120 <= second < 180
        people = 2 if n in TAILGATES else 1
        if not down:
            cameras.append(around(rng, second + 0.5, 1.0, place=f"door-{door}",
                                  camera=f"camera-{door}", people=people))
            pairs.append({"door": row["door"], "badge": row["badge"], "people": people})
    for second in range(0, SECONDS, 2):  # cameras also see that there is nobody, at other places
        for camera in range(DOORS):
            if not (camera == 3 and 120 <= second < 180):
                cameras.append(around(rng, second + 0.1 * camera, 1.0, place=f"hall-{camera}",
                                      camera=f"camera-{camera}", people=0))
    in_turn(cameras)
    for name, rows in (("doors", doors), ("cameras", cameras)):
        write(folder / "data" / name, sorted(rows, key=lambda r: (r["received"], r["time_max"])))
    (folder / "truth.json").write_text(json.dumps({"pairs": pairs}) + "\n")


def around(rng: random.Random, second: float, width: float, **what: object) -> dict:
    """An interval that holds the moment, received up to 3 s after it."""
    first = second - rng.random() * width
    return {"time_min": stamp(first), "time_max": stamp(first + width),
            "received": stamp(first + width + 0.1 + rng.random() * 3), **what}


def in_turn(rows: list[dict]) -> None:
    """Each camera sends one after the other."""
    last: dict[object, str] = {}
    for row in sorted(rows, key=lambda r: r["time_max"]):
        row["received"] = last[row["camera"]] = max(row["received"], last.get(row["camera"], ""))


def write(folder: Path, rows: list[dict]) -> None:
    """Five files of a minute each, by the time of receipt; the last has what came after."""
    folder.mkdir(parents=True, exist_ok=True)
    for n in range(FILES):
        first, last = stamp(n * 60 if n else -60), stamp((n + 1) * 60 if n < FILES - 1 else 9999)
        file = folder / f"{n}.json"
        mine = [row for row in rows if first <= row["received"] < last]
        file.write_text("".join(json.dumps(row) + "\n" for row in mine))
        os.utime(file, (START.timestamp() + n * 60,) * 2)


def stamp(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="microseconds")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
