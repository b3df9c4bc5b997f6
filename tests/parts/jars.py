"""Java archives that the tests need, fetched once into the git-ignored cache folder.

Spark carries Ivy, which knows where the public archives are: neither Maven nor a script of our own
is needed.  Without a network nothing is fetched, and the tests that need it are skipped.
"""

from __future__ import annotations

import fcntl
import subprocess
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from parts.java import java

CACHE = Path(__file__).resolve().parents[2] / ".cache"
KAFKA = "4.1.1"


class NotHad(Exception):  # noqa: N818  (it reads as what it says: the part was not to be had)
    """A part that cannot be had on this machine; the text names it."""


@dataclass(frozen=True)
class Archive:
    """Maven coordinates, with what the archive depends on or without."""

    group: str
    name: str
    version: str
    whole: bool = False


@cache
def kafka_server() -> Path:
    """A folder with all that a Kafka broker needs on its class path."""
    return _fetched(f"kafka/{KAFKA}", [[
        Archive("org.apache.kafka", "kafka_2.13", KAFKA, whole=True),
        # without a binding the broker would fail in silence
        Archive("org.slf4j", "slf4j-simple", "1.7.36"),
    ]])


@cache
def spark_kafka() -> list[Path]:
    """Spark's Kafka connector and Avro functions, for ``spark.jars``.

    Of this Spark's version where the archive has it; else the newest that it has, which works
    with this Spark (the tests say so).
    """
    from pyspark import __version__ as own

    common = [
        Archive("org.apache.kafka", "kafka-clients", "3.9.1"),
        Archive("org.apache.commons", "commons-pool2", "2.12.1"),
    ]
    near = "4.1.3" if own.startswith("4.1.") else "4.2.0"
    choices = [(own, own, own), (near, near, near), (near, "4.0.0", "4.1.1")]
    folder = _fetched(f"spark-kafka/{own}", [[
        Archive("org.apache.spark", "spark-sql-kafka-0-10_2.13", connector),
        Archive("org.apache.spark", "spark-token-provider-kafka-0-10_2.13", token),
        Archive("org.apache.spark", "spark-avro_2.13", avro), *common,
    ] for connector, token, avro in choices])
    return sorted(folder.glob("*.jar"))


_failed: dict[str, str] = {}  # a machine without a network is asked once


def _fetched(name: str, choices: list[list[Archive]]) -> Path:
    """The folder of the first choice that can be had as a whole."""
    folder = CACHE / name
    if any(folder.glob("*.jar")):
        return folder
    if name in _failed:
        raise NotHad(_failed[name])
    folder.parent.mkdir(parents=True, exist_ok=True)
    said = ""
    with (CACHE / "fetch.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one run at a time: Ivy's own cache is not for two
        if any(folder.glob("*.jar")):
            return folder
        for archives in choices:
            with tempfile.TemporaryDirectory(dir=CACHE) as temporary:
                said = _retrieve(archives, Path(temporary))
                if not said:
                    # whole or not at all
                    (Path(temporary) / "jars").rename(folder)
                    return folder
    _failed[name] = f"{name}: its Java archives could not be fetched ({said})"
    raise NotHad(_failed[name])


def _retrieve(archives: list[Archive], folder: Path) -> str:
    """Fetch into folder/jars; why not, or nothing."""
    import pyspark

    wanted = "\n".join(
        f'<dependency org="{a.group}" name="{a.name}" rev="{a.version}" conf="default" '
        f'transitive="{str(a.whole).lower()}"/>' for a in archives)
    (folder / "ivy.xml").write_text(
        '<ivy-module version="2.0"><info organisation="slackwater" module="parts"/>'
        f'<dependencies>{wanted}</dependencies></ivy-module>')
    ivy = next((Path(pyspark.__file__).parent / "jars").glob("ivy-*.jar"))
    command = [
        java(), "-jar", str(ivy), "-ivy", str(folder / "ivy.xml"), "-cache", str(CACHE / "ivy"),
        "-types", "jar", "bundle",
        "-retrieve", str(folder / "jars" / "[artifact]-[revision].[ext]")]
    try:
        run = subprocess.run(command, capture_output=True, text=True, timeout=180, check=False)
    except subprocess.TimeoutExpired:
        return "no answer in 180 s"
    if run.returncode == 0 and any((folder / "jars").glob("*.jar")):
        return ""
    lines = [line.strip() for line in run.stdout.splitlines() if "not found" in line]
    return "; ".join(lines[-3:]) or f"Ivy ended with {run.returncode}"
