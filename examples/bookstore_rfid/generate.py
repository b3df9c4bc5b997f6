"""Readings of RFID tags in a bookstore: shelf, till, exit; a few books skip the till.

    python generate.py FOLDER

The till's reader is often late, up to 20 s, so that the exit is heard of first.  What was made to
happen is written to truth.json.
"""

from __future__ import annotations

import csv
import json
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 8, tzinfo=UTC)
BOOKS, FILES = 300, 5
STOLEN = {17, 89, 141, 203, 260}
COLUMNS = ("time", "received", "type", "id", "reader")


def readings(rng: random.Random) -> list[tuple[float, tuple]]:
    found = []

    def read(second: float, kind: str, book: int, reader: str, slow: float) -> None:
        received = second + 0.2 + rng.random() * slow
        found.append((received, (stamp(second), stamp(received), kind, book, reader)))

    for book in range(BOOKS):
        taken = book * 12 + rng.random() * 60
        read(taken, "SHELF", book, f"shelf-{book % 9}", 2)
        paid = taken + 60 + rng.random() * 600
        if book % 11 == 0:
            continue  # put back
        if book not in STOLEN:
            read(paid, "CHECKOUT", book, f"till-{book % 3}", 20)
        read(paid + 5 + rng.random() * 60, "EXIT", book, f"door-{book % 2}", 2)
    # after closing, one test tag is read: it tells that time has passed
    read(BOOKS * 12 + 3600, "SHELF", -1, "shelf-0", 0)
    return sorted(found)


def stamp(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="microseconds")


def main(folder: Path) -> None:
    rows = [row for _, row in readings(random.Random(7))]
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // FILES)
    for n in range(FILES):
        path = data / f"readings-{n}.csv"
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(COLUMNS)
            writer.writerows(rows[n * size:(n + 1) * size])
        os.utime(path, (START.timestamp() + n * 900,) * 2)
    (folder / "truth.json").write_text(json.dumps({"books": sorted(STOLEN)}) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
