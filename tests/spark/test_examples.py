"""The example pipelines: their generated data in, the output that is checked in beside them out."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from datetime import datetime
from pathlib import Path

import pytest

from slackwater.pipeline import load
from slackwater.spark.run import run_pipeline

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
NAMES = ["air_leak", "connected_cars", "bookstore_rfid", "building_surveillance"]


def rows_of(folder: Path) -> list[dict]:
    rows = [json.loads(line) for file in folder.glob("batch_id=*/part-*")
            for line in file.read_text().splitlines()]
    return sorted(rows, key=lambda r: json.dumps(r, sort_keys=True))


def expected_rows(file: Path) -> list[dict]:
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return sorted(rows, key=lambda r: json.dumps(r, sort_keys=True))


@pytest.fixture(scope="module", params=NAMES)
def example(request, tmp_path_factory, spark):
    """An example's folder, copied, with its data generated and its pipeline run."""
    folder = tmp_path_factory.mktemp("example") / request.param
    shutil.copytree(EXAMPLES / request.param, folder,
                    ignore=shutil.ignore_patterns("data", "out", ".slackwater", "__pycache__"))
    runpy.run_path(str(folder / "generate.py"))["main"](folder)
    # fewer micro-batches: however the input is cut, the output is the same
    file = folder / "pipeline.yaml"
    file.write_text(re.sub("max_files_per_batch: .", "max_files_per_batch: 4", file.read_text()))
    numbers = run_pipeline(load(folder / "pipeline.yaml"), spark, until_done=True)
    return request.param, folder, numbers.summary(), json.loads((folder / "truth.json").read_text())


def test_example(example):
    name, folder, numbers, truth = example
    files = sorted((folder / "expected").glob("*.jsonl"))
    assert files
    for file in files:
        assert rows_of(folder / "out" / file.stem) == expected_rows(file), file.stem
    CHECKS[name](folder, numbers, truth)


def air_leak(folder: Path, numbers: dict, truth: dict) -> None:
    """The windows in which a leak was made, and no others; rubbish and late rows are kept."""
    found = rows_of(folder / "out" / "leaks")
    assert {r["line"] for r in found} == {truth["line"]}
    assert [r["at"][:19] for r in found] == [w[:19] for w in truth["windows"]]
    assert numbers["ordered"]["quarantined"] == 3
    assert len(rows_of(folder / "out" / "bad")) == 3
    assert numbers["ordered"]["late"] == len(rows_of(folder / "out" / "late"))


def connected_cars(folder: Path, numbers: dict, truth: dict) -> None:
    """Every crossing, from the lane where it began, and nothing else."""
    def seconds(stamp: str) -> float:
        return datetime.fromisoformat(stamp).timestamp()

    found = [(r["was_on"], seconds(r["at"])) for r in rows_of(folder / "out" / "crossings")]
    for crossing in truth["crossings"]:
        lane, when = crossing["from"], seconds(crossing["at"])
        mine = [f for f in found if f[0] == lane and when + 2 <= f[1] < when + 4]
        assert mine
        found = [f for f in found if f not in mine]
    assert not found
    assert numbers["ordered"]["late"] == 0


def bookstore_rfid(folder: Path, numbers: dict, truth: dict) -> None:
    """The stolen books, and no others."""
    assert sorted(r["book"] for r in rows_of(folder / "out" / "stolen")) == truth["books"]
    assert numbers["stolen"]["late"] == 0


def building_surveillance(folder: Path, numbers: dict, truth: dict) -> None:
    """Who was seen at which door."""
    found = sorted((r["door"], r["badge"], r["people"]) for r in rows_of(folder / "out" / "seen"))
    assert found == sorted((p["door"], p["badge"], p["people"]) for p in truth["pairs"])
    assert len(rows_of(folder / "out" / "tailgating")) == 2
    # a camera is waited for once it has been heard of: its first rows may find others gone
    assert numbers["wall"]["late"] < 10


CHECKS = {f.__name__: f for f in (air_leak, connected_cars, bookstore_rfid, building_surveillance)}
