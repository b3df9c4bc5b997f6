"""Readings of three lines of pressurised air, two sensors each; line B leaks from 60 s to 90 s.

    python generate.py FOLDER

Radio delays of 50 ms and more, one sensor that stalls for 4 s and then sends what it held, three
lines of rubbish.  What was made to happen is written to truth.json.
"""

from __future__ import annotations

import json
import os
import random
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

START = datetime(2024, 5, 6, 8, tzinfo=UTC)
LINES, SECONDS, FILES = ("A", "B", "C"), 150, 6
LEAK = ("B", 60, 90)


def readings(rng: random.Random) -> list[tuple[float, dict]]:
    """Each with the second at which it was received, in that order."""
    found = []
    for at in range(SECONDS * 5):
        second = at / 5
        for line in LINES:
            pressure = 7 + 0.3 * rng.random()
            for end in ("in", "out"):
                leaking = line == LEAK[0] and LEAK[1] <= second < LEAK[2] and end == "out"
                delay = 0.05 + rng.expovariate(1 / 0.08)
                if (line, end) == ("C", "in") and 100 <= second < 104:
                    delay += 104 - second  # it had no connection, and sends what it held
                found.append((second + delay, {
                    "time": stamp(second + 0.01 * (end == "out")), "received": None, "line": line,
                    "sensor": f"{line}-{end}", "end": end,
                    "bar": round(pressure - (0.9 if leaking else 0.02), 3)}))
    found.sort(key=lambda r: r[0])
    for n, (second, row) in enumerate(found):
        row["received"] = stamp(second + n * 1e-6)
    return found


def stamp(second: float) -> str:
    return (START + timedelta(seconds=second)).isoformat(timespec="microseconds")


def main(folder: Path) -> None:
    rows = [json.dumps(row) for _, row in readings(random.Random(3))]
    for n, rubbish in enumerate(("reset by peer", '{"time": "2024-05-', '{"bar": "high"}')):
        rows.insert(900 * (n + 1), rubbish)
    data = folder / "data"
    data.mkdir(parents=True, exist_ok=True)
    size = -(-len(rows) // FILES)
    for n in range(FILES):
        file = data / f"readings-{n}.json"
        file.write_text("\n".join(rows[n * size:(n + 1) * size]) + "\n")
        os.utime(file, (START.timestamp() + n * SECONDS / FILES,) * 2)
    line, first, last = LEAK
    truth = {"line": line, "windows": [stamp(s) for s in range(first + 10, last + 10, 10)]}
    (folder / "truth.json").write_text(json.dumps(truth) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
