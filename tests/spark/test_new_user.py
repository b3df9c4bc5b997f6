"""A new user's path: the tutorial, every command as it is written, from a wheel, on a real broker.

The wheel is built and installed into an environment of its own.  What it depends on is taken from
the environment of the tests, so that half a gigabyte need not be fetched each time;
SLACKWATER_CLEAN=1 installs everything from the package index, as a new user would.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from parts.jars import spark_kafka

from blocks import ROOT, blocks_of, said

TUTORIAL = ROOT / "docs" / "tutorial.md"
CLEAN = bool(os.environ.get("SLACKWATER_CLEAN"))
ENOUGH = 128 + 13
"""A pipe whose end, such as head, has had enough, and that was still being written into."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation",
                    "-w", str(folder), str(ROOT)], check=True, timeout=120)
    return next(folder.glob("slackwater-*.whl"))


@pytest.fixture(scope="module")
def settings_of_this_machine(tmp_path_factory) -> Path:
    """Where the archive lacks the connector of this Spark, the parts that the tests have."""
    folder = tmp_path_factory.mktemp("conf")
    jars = ",".join(str(jar) for jar in spark_kafka())
    (folder / "spark-defaults.conf").write_text(f"spark.jars {jars}\n")
    return folder


def test_the_tutorial_as_written(wheel, kafka, settings_of_this_machine, tmp_path):
    environment = {
        "PATH": os.environ["PATH"], "HOME": os.environ["HOME"], "COLUMNS": "200", "TZ": "UTC",
        "KAFKA": kafka.address, "SPARK_CONF_DIR": str(settings_of_this_machine),
        # one of the connector's own parts, fetched as the tutorial says; the others are there
        "KAFKA_CONNECTOR": "org.apache.commons:commons-pool2:2.12.1"}
    before = ""
    ran = []
    for block in blocks_of(TUTORIAL):
        if block.title is not None:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        if block.kind != "console" or block.reason is not None:
            continue
        for line, lines in block.commands():
            command = installed(line, wheel) if block.mark == "install" else line
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", f"{before}{command}"], cwd=tmp_path, text=True,
                capture_output=True, env=environment, timeout=900, check=False)
            printed = done.stdout + done.stderr
            assert done.returncode in (0, ENOUGH), f"{command}\n{printed}"
            assert said(lines, printed), f"{command}\nshould say {lines}, says\n{printed}"
            ran.append(line.split()[1])
            if line.startswith(". "):
                before = f"{line}\n"
    assert ran[-1] == "report"
    wants = ["profile", "tune", "query", "check", "run", "report"]
    assert [name for name in ran if name in wants] == wants
    report = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "plant" in report
    assert "9600" in report or "9,600" in report
    counts = [line for file in (tmp_path / "out" / "minutes").glob("batch_id=*/part-*")
              for line in file.read_text().splitlines()]
    assert len(counts) == 8 * 10, "a count for each press and minute"


def installed(line: str, wheel: Path) -> str:
    """The wheel in place of the index; with the dependencies at hand, unless all are wanted."""
    if not line.startswith("pip install"):
        return line
    if CLEAN:
        return f'pip install -q "{wheel}[spark,kafka]"'
    shared = sysconfig.get_path("purelib")
    link = ("import sysconfig, pathlib; pathlib.Path(sysconfig.get_path('purelib'), "
            f"'shared.pth').write_text('{shared}')")
    return f'pip install -q --no-deps "{wheel}" && python -c "{link}"'
