"""End to end: 20,000 events a second from a real Kafka broker, by windows, into a Delta table.

A producer sends events as a fleet of devices would: most at once, some after a stall of their
device.  The same topic goes once through `slackwater run` (reorder, window, Delta) and once through
Spark alone with a fixed watermark, each live, in a process of its own.  What is measured is the
time from the end of a window to the commit that has its result, and how many events are missing.

    python -m benchmarks kafka_to_delta
    python -m benchmarks.pipelines.kafka_to_delta --seconds 60 --picture docs/kafka.png
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from parts.gateway_server import COMMAND
from parts.jars import spark_kafka
from parts.kafka_broker import KafkaBroker
from parts.server import wait_until

from benchmarks.result import Result

RATE, SECONDS, DEVICES, PARTITIONS = 20_000, 180, 100, 4
SPAN, WATERMARK = 5, 10  # seconds
PIPELINE = """
name: kafka-to-delta
spark: {{spark.jars: "{jars}"}}
sources:
  raw: {{kind: kafka, servers: "{servers}", topic: events, starting: latest,
        columns: {{time: timestamp, device: string, value: double}}}}
steps:
  clean: {{reorder: raw, policy: tide(loss=0.1%), source: device}}
  peaks: {{query: "SELECT COUNT(*) AS n, MAX(value) AS top, window_end FROM clean
                   [RANGE {span} s, SLIDE {span} s]"}}
sinks:
  peaks: {{from: peaks, kind: delta, path: ours}}
"""
PLAIN = '''
import sys
from deltalake import write_deltalake
from pyspark.sql import functions as F
from slackwater.spark import local_session

servers, jars, out, span, delay = sys.argv[1:]
spark = local_session("plain", extra={"spark.jars": jars})
rows = (spark.readStream.format("kafka").option("kafka.bootstrap.servers", servers)
        .option("subscribe", "events").option("maxOffsetsPerTrigger", 200_000).load()
        .select(F.from_json(F.col("value").cast("string"),
                            "time timestamp, device string, value double").alias("e"))
        .select("e.*"))
found = (rows.withWatermark("time", f"{delay} seconds").groupBy(F.window("time", f"{span} seconds"))
         .agg(F.count("*").alias("n"), F.max("value").alias("top"))
         .select("n", "top", F.col("window.end").alias("window_end")))


def write(batch, number):
    table = batch.toArrow()
    if table.num_rows:
        write_deltalake(out, table, mode="append")


query = (found.writeStream.foreachBatch(write).outputMode("append")
         .option("checkpointLocation", out + ".checkpoint").start())
print("started", flush=True)
query.awaitTermination()
'''


def schedule(seconds: int, seed: int = 3) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Event time, sending time (seconds from the start) and device, in sending order."""
    rng = np.random.default_rng(seed)
    n = RATE * seconds
    event, device = np.sort(rng.uniform(0, seconds, n)), rng.integers(0, DEVICES, n)
    sent = event + rng.lognormal(-3.0, 0.6, n)
    for d in range(DEVICES):  # each stalls every minute or so, for four seconds on average
        mine = np.flatnonzero(device == d)
        for begin in np.cumsum(rng.exponential(60, 40)):
            end = begin + rng.exponential(4.0)
            held = mine[(sent[mine] >= begin) & (sent[mine] < end)]
            sent[held] = end + rng.uniform(0, 0.2, len(held))
    order = np.argsort(sent, kind="stable")
    return event[order], sent[order], device[order]


def produce(broker: KafkaBroker, seconds: int) -> float:
    """Send the events at their time; the wall clock at which their time was 0."""
    from confluent_kafka import Producer

    event, sent, device = schedule(seconds)
    producer = Producer({"bootstrap.servers": broker.address, "linger.ms": 20, "log_level": 0,
                         "queue.buffering.max.messages": 2_000_000})
    begin = (time.time() // SPAN + 1) * SPAN
    for i in range(len(event)):
        if i % 200 == 0:
            pause = begin + sent[i] - time.time()
            if pause > 0.005:
                producer.poll(0)
                time.sleep(pause)
        at = begin + event[i]
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(at))
        producer.produce("events", f'{{"time":"{stamp}.{int(at * 1000) % 1000:03d}Z",'
                         f'"device":"d{device[i]}","value":{i % 997}.5}}'.encode(),
                         partition=int(device[i]) % PARTITIONS)
    producer.flush(60)
    return begin


def results(table: Path) -> list[tuple[float, float, int]]:
    """Window end, time of the commit, and events counted, of every result in the table."""
    import pyarrow.parquet as pq

    found = []
    for log in sorted((table / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        for line in lines:
            if "add" in line:
                rows = pq.read_table(table / line["add"]["path"]).to_pylist()
                found += [(row["window_end"].timestamp(), log.stat().st_mtime, row["n"])
                          for row in rows]
    return found


def measured(table: Path, begin: float, seconds: int) -> tuple[np.ndarray, float]:
    """Seconds from window end to commit, without the first third; share of events missing."""
    event, _, _ = schedule(seconds)
    true = np.bincount((event // SPAN).astype(int))
    rows = results(table)
    counted = dict.fromkeys(range(len(true)), 0)
    for end, _, n in rows:
        counted[round((end - begin) / SPAN) - 1] += n
    first, last = len(true) // 3, max(k for k, n in counted.items() if n)
    judged = list(range(first, last))
    waits = np.array([at - end for end, at, _ in rows
                      if first <= round((end - begin) / SPAN) - 1 < last])
    return waits, 1 - sum(counted[k] for k in judged) / true[judged].sum()


def live(words: list[str], broker: KafkaBroker, folder: Path, ready: str, seconds: int) -> float:
    """Run a job while events are sent; the wall clock of time 0."""
    log = folder / "job.log"
    with log.open("wb") as out:
        job = subprocess.Popen(words, stdout=out, stderr=subprocess.STDOUT, cwd=folder)
    try:
        wait_until(lambda: ready in log.read_text(), 120, "the job to start")
        time.sleep(15)  # its first micro-batches load and compile
        begin = produce(broker, seconds)
        time.sleep(3 * WATERMARK)
    finally:
        job.send_signal(signal.SIGINT)
        job.wait(60)
    return begin


def run(seconds: int = SECONDS, picture: Path | None = None) -> list[Result]:
    folder = Path(tempfile.mkdtemp(prefix="slackwater-kafka-"))
    broker = KafkaBroker(folder / "kafka")
    broker.start()
    try:
        broker.create("events", PARTITIONS)
        jars = ",".join(map(str, spark_kafka()))
        (folder / "pipeline.yaml").write_text(
            PIPELINE.format(jars=jars, servers=broker.address, span=SPAN))
        (folder / "plain.py").write_text(PLAIN)
        found = {}
        for name, words, ready in (
                ("plain", [sys.executable, "plain.py", broker.address, jars, "plain", str(SPAN),
                           str(WATERMARK)], "started"),
                ("ours", [*COMMAND, "run", "pipeline.yaml"], " runs: ")):
            begin = live(words, broker, folder, ready, seconds)
            found[name] = measured(folder / name, begin, seconds)
        if picture is not None:
            draw(found, picture)
        detail = "; ".join(f"{name}: {100 * missing:.3f} % of events missing"
                           for name, (_, missing) in found.items())
        return [Result(f"Kafka → window → Delta, {RATE:,}/s, latency {label} (s)",
                       float(np.quantile(found["ours"][0], q)), f"Spark, watermark {WATERMARK} s",
                       float(np.quantile(found["plain"][0], q)), detail=detail)
                for label, q in (("median", 0.5), ("p95", 0.95), ("max", 1.0))]
    finally:
        broker.stop()
        shutil.rmtree(folder, ignore_errors=True)


def draw(found: dict[str, tuple[np.ndarray, float]], file: Path) -> None:
    """Latency quantiles side by side."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    for name, label, colour in (("plain", f"Spark, watermark {WATERMARK} s", "#888888"),
                                ("ours", "Slackwater, Tide(loss=0.1%)", "#0077aa")):
        waits, missing = found[name]
        axes.plot(np.sort(waits), np.arange(1, len(waits) + 1) / len(waits), color=colour,
                  label=f"{label}: {100 * missing:.2f} % of events missing")
    axes.set(xlabel="seconds from the end of a window to its result in the table",
             ylabel="share of the results", xlim=(0, None), ylim=(0, 1.02))
    axes.legend(loc="lower right")
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=SECONDS)
    parser.add_argument("--picture", type=Path)
    given = parser.parse_args()
    os.environ.setdefault("TZ", "UTC")
    for result in run(given.seconds, given.picture):
        print(f"{result.name}: {result.ours_s:.2f} against {result.reference_s:.2f} "
              f"({result.detail})")
