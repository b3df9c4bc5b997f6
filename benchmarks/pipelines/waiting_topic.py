"""Five million rows wait in a topic when a pipeline starts: how much memory it takes, how soon.

A real broker, `slackwater run` in a process of its own, default settings but for the archives of
Spark's Kafka connector.  What counts are ratios: the peak of each kind of process to two GiB, and
the number of the micro-batch that brings the first results to the second one.

    python -m benchmarks waiting_topic
    python -m benchmarks.pipelines.waiting_topic 200000      # fewer rows
"""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from parts.gateway_server import COMMAND
from parts.jars import spark_kafka
from parts.kafka_broker import KafkaBroker

from benchmarks.memory import PeakMemory
from benchmarks.result import Result

ROWS, BYTES, PARTITIONS = 5_000_000, 240, 3
LIMIT = 2 << 30
PATIENCE = 3600.0
PIPELINE = """
name: waiting
spark: {{spark.jars: "{jars}"}}
sources:
  raw: {{kind: kafka, servers: "{servers}", topic: waiting,
        columns: {{time: timestamp, device: string, value: double, payload: string}}}}
steps:
  clean: {{reorder: raw, by: [device]}}
  peaks: {{query: "SELECT device, MAX(value) AS peak, COUNT(*) AS n FROM clean
                   [RANGE 10 s, SLIDE 10 s] GROUP BY device"}}
sinks:
  clean: {{from: clean, kind: delta, path: out/clean}}
  late: {{from: clean.late, kind: parquet, path: out/late}}
  bad: {{from: clean.quarantined, kind: parquet, path: out/bad}}
  peaks: {{from: peaks, kind: parquet, path: out/peaks}}
"""


def values(rows: int) -> Iterator[bytes]:
    """JSON of the size asked for: events of a few devices, up to three seconds out of order."""
    rng = random.Random(1)
    begin = 1_700_000_000
    fill = "".join(rng.choices("0123456789abcdef", k=BYTES * 64))
    for i in range(rows):
        at = begin * 1000 + i // 10 - rng.randrange(3000)
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at // 1000))
        head = (f'{{"time":"{stamp}.{at % 1000:03d}Z","device":"d{i % 16}","value":{i % 997}.5,'
                '"payload":"')
        left = BYTES - len(head) - 2
        start = (i * 7) % (len(fill) - left)
        yield f'{head}{fill[start:start + left]}"}}'.encode()


def run(rows: int = ROWS) -> list[Result]:
    folder = Path(tempfile.mkdtemp(prefix="slackwater-waiting-"))
    broker = KafkaBroker(folder / "kafka")
    broker.start()
    try:
        broker.create("waiting", PARTITIONS)
        # in turn, as producers do: a partition that is written after another has come later, too
        broker.send("waiting", values(rows), in_turn=PARTITIONS, patience=600)
        file = folder / "pipeline.yaml"
        file.write_text(PIPELINE.format(jars=",".join(map(str, spark_kafka())),
                                        servers=broker.address))
        begin = time.monotonic()
        with (folder / "run.log").open("wb") as log:
            process = subprocess.Popen([*COMMAND, "run", str(file), "--until-done", "--json"],
                                       stdout=subprocess.PIPE, stderr=log, env=dict(os.environ))
            memory = PeakMemory(process.pid)
            memory.start()
            said, _ = process.communicate(timeout=PATIENCE)
            memory.stop()
        took = time.monotonic() - begin
        if process.returncode != 0:
            raise RuntimeError((folder / "run.log").read_text()[-4000:])
        streams = json.loads(said)["streams"]
        fates = sum(streams["clean"][name] for name in ("ready", "late", "quarantined"))
        assert fates == rows, f"every row has one fate: {streams}"
        first = first_batch(folder / "out" / "clean")
        detail = f"{rows / 1e6:g} M rows of {BYTES} bytes in {took:.0f} s"
        return [*(Result(f"peak memory of the {kind}, {rows / 1e6:g} M rows waiting (GiB)",
                         size / 2**30, "the limit", LIMIT / 2**30, limit=1.0, detail=detail)
                  for kind, size in sorted(memory.peaks.items())),
                Result("micro-batches until the first results", first + 1, "two", 2, limit=1.0)]
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def first_batch(table: Path) -> int:
    """The number of the micro-batch that wrote the first rows, out of the table's log."""
    logs = sorted((table / "_delta_log").glob("*.json"))
    lines = (json.loads(line) for line in itertools.chain.from_iterable(
        log.read_text().splitlines() for log in logs))
    return min(line["txn"]["version"] for line in lines if "txn" in line)


if __name__ == "__main__":
    for result in run(*(int(word) for word in sys.argv[1:2])):
        print(f"{result.name}: {result.ours_s:.2f}, ratio {result.ratio:.2f} ({result.detail})")
