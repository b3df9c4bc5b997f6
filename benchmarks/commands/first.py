"""How long the first commands of a user take, on a few rows: each in a process of its own.

`make setup` has compiled the kernels; here they are copied to a folder of their own, so that the
first run of each command finds them as it does on a fresh machine.  The limits are what a person
takes for "at once" (1 s), and for "it has started" (3 s).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.result import Result
from slackwater.core.compiled import cache_folder

ROWS = "time,arrival,device,type,temp\n" + "".join(
    f"2026-01-01T00:00:{i % 60:02}Z,2026-01-01T00:00:{i % 60:02}.{i % 7}00Z,d{i % 3},"
    f"{'AB'[i % 2]},{20 + i % 9}\n" for i in range(60))
COMMANDS = {
    "evaluate": ["evaluate", "{file}", "--policy", "tide,bsttda"],
    "SELECT": ["query", "SELECT device, MAX(temp) AS top FROM s [RANGE 10 s, SLIDE 5 s] "
               "GROUP BY device", "--data", "{file}"],
    "EVENT": ["query", "EVENT SEQ(A a, B b) WHERE [device] WITHIN 10 seconds", "--data", "{file}"],
}


def run() -> list[Result]:
    compiled = cache_folder()
    assert compiled is not None
    command = Path(sys.executable).with_name("slackwater")
    results = []
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "rows.csv"
        file.write_text(ROWS)
        home = Path(folder) / "numba"
        shutil.copytree(compiled, home / "slackwater")
        env = {**os.environ, "NUMBA_CACHE_DIR": str(home)}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # a user's Python keeps what it has compiled
        for name, words in COMMANDS.items():
            times = []
            for _ in range(4):
                begin = time.perf_counter()
                subprocess.run([str(command), *(w.format(file=file) for w in words)], env=env,
                               check=True, capture_output=True)
                times.append(time.perf_counter() - begin)
            results += [Result(f"{name}, first", times[0], "three seconds", 3.0, limit=1.0),
                        Result(f"{name}, again", min(times[1:]), "one second", 1.0, limit=1.0)]
    return results
