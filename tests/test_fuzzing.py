"""Property tests are the same on every run, except where new examples are looked for."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def examples(test: str, fuzz: str | None) -> int:
    """How many examples a property test looked at."""
    env = {k: v for k, v in os.environ.items() if k != "SLACKWATER_FUZZ"}
    if fuzz is not None:
        env["SLACKWATER_FUZZ"] = fuzz
    ran = subprocess.run([sys.executable, "-m", "pytest", "-q", "--hypothesis-show-statistics",
                          "-p", "no:cacheprovider", "-m", "hypothesis", test],
                         cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return int(re.findall(r"(\d+) passing", ran.stdout)[0])


def test_fuzz_looks_at_more_examples():
    usual = "tests/core/test_durations.py::test_microseconds_survive_as_text_exactly"
    assert examples(usual, None) == 100
    assert examples(usual, "3") == 300


def test_also_where_a_test_has_a_number_of_its_own():
    own = "tests/core/test_durations.py::test_parts_add_up"
    assert (examples(own, None), examples(own, "2")) == (50, 100)
