"""Settings that hold for every test."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

os.environ["TZ"] = "UTC"
time.tzset()

# Numba compiles on first use, so no deadline; the same examples on every machine and run.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=100,
                          suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("default")

RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "datasets" / "ooo"


@pytest.fixture(scope="session")
def recordings() -> list[Path]:
    """The recordings D-1…, which are not ours to ship: used where they lie beside the project."""
    files = sorted(RECORDINGS.glob("d-*.csv"))
    if not files:
        pytest.skip("the recordings D-1… (JOANNEUM RESEARCH, CC-BY-SA) are not beside the project")
    return files
