"""Settings that hold for every test."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, is_hypothesis_test, settings

os.environ["TZ"] = "UTC"
time.tzset()
os.environ.pop("COLUMNS", None)  # tables are as wide as where no terminal is, whatever is outside
# A test's JVM lives for minutes and runs many plans once each: the second of Java's two compilers
# would take half of its time for code that is then hardly used. With one compiler Java has room for
# a fifth of the code; all that these plans make does not fit in, and Spark then stops for good.
# What tests start inherits it.
os.environ.setdefault("SPARK_SUBMIT_OPTS",
                      "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m")

# Numba compiles on first use, so no deadline; the same examples on every machine and run.
settings.register_profile("default", deadline=None, derandomize=True, max_examples=100,
                          suppress_health_check=[HealthCheck.too_slow])
# `make fuzz` looks for new examples, SLACKWATER_FUZZ times as many as usual; what it finds is kept
# in .hypothesis, and printed so that it can be written down as an example of the test.
settings.register_profile("fuzz", settings.get_profile("default"), derandomize=False,
                          print_blob=True)
TIMES = int(os.environ.get("SLACKWATER_FUZZ", "0"))
settings.load_profile("fuzz" if TIMES else "default")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Under fuzz, a test's own number of examples is multiplied too."""
    for item in items if TIMES else ():
        test = getattr(item, "obj", None)
        if is_hypothesis_test(test):
            own = getattr(test, "_hypothesis_internal_use_settings", settings.default)
            test._hypothesis_internal_use_settings = settings(  # type: ignore[union-attr]
                own, max_examples=own.max_examples * TIMES)

RECORDINGS = Path(__file__).resolve().parents[2] / "shared" / "datasets" / "ooo"


@pytest.fixture(scope="session")
def recordings() -> list[Path]:
    """The recordings D-1…, which are not ours to ship: used where they lie beside the project."""
    files = sorted(RECORDINGS.glob("d-*.csv"))
    if not files:
        pytest.skip("the recordings D-1… (JOANNEUM RESEARCH, CC-BY-SA) are not beside the project")
    return files
