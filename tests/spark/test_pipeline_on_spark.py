"""Pipelines on Spark: what comes out, what is counted, what a restart does."""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts.server import free_port
from prometheus_client.parser import text_string_to_metric_families

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.pipeline import load
from slackwater.query import SelectQuery
from slackwater.spark.run import RunError, run_pipeline
from spark_feed import expected, feed, write_files

TEXT = """
name: plant
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 2}
steps:
  clean: {reorder: raw, policy: kslack(initial=100ms), arrival: arrival, source: key}
  peaks: {query: "SELECT key, MAX(value) AS peak, window_end AS at FROM clean
                  [RANGE 1 second, SLIDE 1 second] GROUP BY key"}
  high: {sql: "SELECT * FROM peaks WHERE peak > 2"}
sinks:
  clean: {from: clean, kind: parquet, path: out/clean}
  late: {from: clean.late, kind: json, path: out/late}
  bad: {from: clean.quarantined, kind: csv, path: out/bad}
  high: {from: high, kind: json, path: out/high}
  same: {from: high, kind: parquet, path: out/same}
metrics: {log: run.jsonl}
"""
KERNEL = Reorder("KSlack(initial=100ms)", Roles("time", "arrival"))


def rows_of(folder: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(folder.glob("batch_id=*/part-*"))
            for line in file.read_text().splitlines()]


def write(folder: Path, text: str = TEXT) -> Path:
    file = folder / "pipeline.yaml"
    file.write_text(text)
    return file


@pytest.fixture(scope="module")
def plant(tmp_path_factory, spark):
    """A pipeline that has run once over all but the last file."""
    folder = tmp_path_factory.mktemp("plant")
    table = feed(3000, seed=4)
    write_files(table, folder / "in", 4)
    (folder / "in" / "0003.parquet").rename(folder / "0003.parquet")
    heard = []
    numbers = run_pipeline(load(write(folder)), spark, until_done=True, keep_held=True,
                           each=heard.append)
    assert heard[-1] is numbers
    return folder, table, numbers


def test_rows_and_their_numbers(plant, spark):
    folder, table, numbers = plant
    truth = expected(KERNEL, table.slice(0, 2250), finish=False)
    count = {s: sum(len(v) for (_, status), v in truth.items() if status == s)
             for s in ("ready", "late", "quarantined")}
    assert count["late"] > 0
    assert count["quarantined"] > 0
    told = numbers.summary()
    assert {s: told["clean"][s] for s in count} == count
    assert (told["raw"]["in"], told["clean"]["in"], told["peaks"]["in"]) == (
        2250, 2250, count["ready"])
    high = rows_of(folder / "out" / "high")
    assert told["high"]["ready"] == len(high) == spark.read.parquet(
        str(folder / "out" / "same")).count()
    ready = spark.read.parquet(str(folder / "out" / "clean"))
    assert ready.count() == count["ready"]
    assert ready.columns == [*table.column_names, "batch_id"]
    late = rows_of(folder / "out" / "late")
    assert sorted((r["row"], r["_reason"]) for r in late) == sorted(
        (row, why) for (_, s), rows in truth.items() if s == "late" for row, why, _ in rows)
    bad = spark.read.option("header", True).csv(str(folder / "out" / "bad"))
    assert bad.count() == count["quarantined"]
    assert all("time" in r["_reason"] or "ahead" in r["_reason"] for r in bad.collect())
    assert 0 < told["clean"]["latency"]["p50"] <= told["clean"]["latency"]["p99"] < 5
    assert told["clean"]["buffer"] > 0
    assert told["clean"]["lag"] > 0
    health = {key: h for (stream, key), h in numbers.sources.items() if stream == "clean"}
    assert sum(h.rows for h in health.values()) == sum(count.values())
    assert sum(h.late for h in health.values()) == count["late"]
    assert set(health) == {f"k{i}" for i in range(5)}
    assert numbers.queries["main"].batches == 2
    assert numbers.queries["main"].state_rows > 0
    lines = [json.loads(line) for line in (folder / "run.jsonl").open()]
    assert [lines[0]["event"], lines[-1]["event"]] == ["start", "stop"]
    assert {line["query"] for line in lines if line["event"] == "batch"} == {"main"}


def test_what_was_held_goes_on_after_a_restart(plant, spark):
    folder, table, _ = plant
    (folder / "0003.parquet").rename(folder / "in" / "0003.parquet")
    told: list[str] = []
    # a parameter that the state can live with: it is told, and the run goes on
    changed = TEXT.replace("kslack(initial=100ms)", "'kslack(initial=100ms, scale=0.8)'")
    run_pipeline(load(write(folder, changed)), spark, until_done=True, keep_held=True,
                 started=told.extend)
    assert [line.partition(":")[0] for line in told] == ["steps.clean.policy"]
    truth = expected(KERNEL, table, finish=False)
    ready = [row for (_, s), rows in truth.items() if s == "ready" for row, _, _ in rows]
    out = spark.read.parquet(str(folder / "out" / "clean")).select("row").collect()
    assert sorted(r.row for r in out) == sorted(ready)
    logic = KERNEL.start()
    clean = logic.push(table.combine_chunks().to_batches()[0]).ready
    seen = clean.drop_columns(["_reason", "_released", "arrival"]).append_column(
        "_arrival", clean["_released"])
    query = SelectQuery("SELECT key, MAX(value) AS peak, window_end AS at FROM clean "
                        "[RANGE 1 second, SLIDE 1 second] GROUP BY key", seen.schema,
                        Roles("time", "_arrival"), slack="0s")
    peaks = query.start().push(seen).ready.to_pylist()
    want = sorted((p["key"], p["peak"], p["at"].isoformat()) for p in peaks if p["peak"] > 2)
    got = sorted((r["key"], r["peak"], r["at"].replace(".000000Z", "+00:00"))
                 for r in rows_of(folder / "out" / "high"))
    assert got == want
    assert len(want) > 3


@pytest.mark.parametrize(("old", "new", "why"), [
    ("kslack(initial=100ms)", "tide", "the policy has changed"),
    ("RANGE 1 second", "RANGE 2 seconds", "the stored state is of another step"),
    ("path: in,", "path: in2,", "the stored offsets are of other rows"),
])
def test_a_change_that_the_state_cannot_live_with(plant, spark, old, new, why):
    folder, _, _ = plant
    (folder / "in2").mkdir(exist_ok=True)
    before = sorted(str(p) for p in (folder / "out").rglob("*"))
    with pytest.raises(SnapshotError, match=why) as refused:
        run_pipeline(load(write(folder, TEXT.replace(old, new))), spark, until_done=True)
    assert "--fresh" in str(refused.value)
    assert "→" in str(refused.value)
    assert sorted(str(p) for p in (folder / "out").rglob("*")) == before


def test_begin_anew(plant, spark):
    folder, table, _ = plant
    with pytest.raises(ConfigError, match="the output of another run"):
        run_pipeline(load(write(folder)), spark, until_done=True, keep_held=True, fresh=True)
    numbers = run_pipeline(load(write(folder, TEXT.replace("path: out/", "path: new/"))), spark,
                           until_done=True, keep_held=True, fresh=True)
    assert numbers.summary()["raw"]["in"] == table.num_rows
    assert (folder / ".slackwater" / "plant.old-1" / "slackwater.json").exists()


def test_a_state_of_another_kernel_is_refused(plant, spark):
    """Even where the file that says who wrote the checkpoint has nothing against it."""
    folder, table, _ = plant
    write_files(table.slice(0, 50), folder / "in3", 1)
    (folder / "in3" / "0000.parquet").rename(folder / "in" / "0009.parquet")
    text = (TEXT.replace("path: out/", "path: new/").replace("kind: csv", "kind: json")
            .replace("kslack(initial=100ms)", "static(buffer=1s)"))
    stored = folder / ".slackwater" / "plant" / "slackwater.json"
    kept = stored.read_text()
    stored.write_text(kept.replace("kslack(initial=100ms)", "static(buffer=1s)"))
    try:
        with pytest.raises(RunError) as failed:
            run_pipeline(load(write(folder, text)), spark, until_done=True, keep_held=True)
    finally:
        stored.write_text(kept)
    assert str(failed.value).splitlines()[0].endswith(
        "restore reorder: the policy has changed since the snapshot")
    assert "expected: KSlack" in str(failed.value)


def test_a_sink_that_fails_stops_everything(tmp_path, spark):
    table = feed(200)
    write_files(table, tmp_path / "in", 1)
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "clean").write_text("a file, where a folder should be")
    with pytest.raises(RunError) as failed:
        run_pipeline(load(write(tmp_path)), spark, until_done=True, keep_held=True)
    assert "the sink 'clean' failed" in str(failed.value)
    assert "at org.apache" not in str(failed.value)
    assert not [q for q in spark.streams.active if (q.name or "").startswith("plant.")]
    assert json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])["event"] == "failed"
    assert list((tmp_path / "out" / "bad").glob("batch_id=0/part-*")), "the others had their rows"
    (tmp_path / "out" / "clean").unlink()
    numbers = run_pipeline(load(write(tmp_path)), spark, until_done=True)
    told = numbers.summary()["clean"]
    clean = pq.read_table(tmp_path / "out" / "clean", partitioning=None)
    bad = [line for file in (tmp_path / "out" / "bad").glob("batch_id=*/part-*")
           for line in file.read_text().splitlines()[1:]]
    late = rows_of(tmp_path / "out" / "late")
    assert (clean.num_rows, len(late), len(bad)) == (
        told["ready"], told["late"], told["quarantined"]), "and have them once"
    assert clean.num_rows + len(late) + len(bad) == table.num_rows


def test_a_few_rows_are_one_file(tmp_path, spark):
    """Though two tasks have made them, each of its own keys."""
    write_files(feed(200, keys=12), tmp_path / "in", 1)
    file = write(tmp_path, """
name: few
sources:
  raw: {kind: files, path: in, format: parquet}
steps:
  clean: {reorder: raw, arrival: arrival, by: [key]}
sinks:
  clean: {from: clean, kind: json, path: clean}
""")
    run_pipeline(load(file), spark, until_done=True)
    batches = [len(list(folder.glob("part-*"))) for folder in (tmp_path / "clean").iterdir()]
    assert set(batches) == {1}


def test_sql_that_spark_refuses(tmp_path, spark):
    write_files(feed(200), tmp_path / "in", 1)
    with pytest.raises(ConfigError, match=r"steps\.high\.sql"):
        run_pipeline(load(write(tmp_path, TEXT.replace("peak > 2", "peek > 2"))), spark,
                     until_done=True, keep_held=True)
    assert not (tmp_path / "out").exists()


def test_lines_that_cannot_be_read_are_kept(tmp_path, spark):
    data = tmp_path / "in"
    data.mkdir()
    (data / "a.json").write_text('{"time": "2024-01-01T00:00:01Z", "v": 1}\nrubbish\n'
                                 '{"time": "2024-01-01T00:00:00Z", "v": "x"}\n'
                                 '{"time": null, "v": 3}\n')
    (data / "b.csv").write_text("time,v\n2024-01-01T00:00:02Z,2\n2024-01-01T00:00:03Z,3,4\n")
    text = """
name: lines
sources:
  a: {kind: files, path: in/*.json, format: json, columns: {time: timestamp, v: int}}
  b: {kind: files, path: in/*.csv, format: csv, columns: {time: timestamp, v: int}}
steps:
  one: {reorder: a, quiet: null}
  two: {reorder: b, quiet: null}
  spans: {sql: "SELECT interval '1' month AS span FROM one"}
sinks:
  one: {from: one.quarantined, kind: json, path: out/one}
  two: {from: two.quarantined, kind: json, path: out/two}
  all: {from: b, kind: json, path: out/all}
  spans: {from: spans, kind: json, path: out/spans}
"""
    numbers = run_pipeline(load(write(tmp_path, text)), spark, until_done=True).summary()
    assert (numbers["a"]["in"], numbers["a"]["unreadable"], numbers["one"]["quarantined"]) == (
        4, 2, 3)
    one = rows_of(tmp_path / "out" / "one")
    assert sorted(str(r["_raw"]) for r in one) == [
        "None", "rubbish", '{"time": "2024-01-01T00:00:00Z", "v": "x"}']
    assert all(r["time"] is None and r["_arrival"] for r in one)
    two = rows_of(tmp_path / "out" / "two")
    assert [r["_raw"] for r in two] == ["2024-01-01T00:00:03Z,3,4"]
    assert len(rows_of(tmp_path / "out" / "all")) == 2
    # a type that PySpark has no values for stops no query, though a few rows are to be shown
    assert len(rows_of(tmp_path / "out" / "spans")) == 1


def test_continuous_until_it_is_stopped(tmp_path, spark):
    """A port that answers, quiet keys that leave, a stop from outside; late rows have a step."""
    write_files(feed(600, poison=False), tmp_path / "in", 2)
    text = f"metrics: {{port: {free_port()}}}" + """
name: live
trigger: 300ms
sources:
  raw: {kind: files, path: in, format: parquet}
steps:
  clean: {reorder: raw, policy: kslack(initial=10ms), arrival: arrival, quiet: 1s}
  why: {sql: "SELECT row, _reason FROM clean.late"}
  again: {reorder: clean.late, policy: static(buffer=0s), quiet: 1s}
sinks:
  clean: {from: clean, kind: json, path: out/clean}
  why: {from: why, kind: json, path: out/why}
  again: {from: again, kind: json, path: out/again}
"""
    pipeline = load(write(tmp_path, text))
    stop = threading.Event()
    found: list[str] = []
    refusals: list[str] = []

    def look() -> None:
        deadline = time.monotonic() + 120
        while not (tmp_path / ".slackwater" / "live" / "slackwater.json").exists():
            time.sleep(0.1)
        with pytest.raises(ConfigError) as refused:
            run_pipeline(pipeline, spark, until_done=True, keep_held=True)
        refusals.append(str(refused.value))
        while time.monotonic() < deadline and not found:
            rows = rows_of(tmp_path / "out" / "clean")
            late = rows_of(tmp_path / "out" / "why")
            if late and len(rows) + len(late) == 600:
                url = f"http://127.0.0.1:{pipeline.metrics.port}/metrics"
                with urllib.request.urlopen(url, timeout=10) as answer:
                    text = answer.read().decode()
                if ready_rows(text, "clean") == len(rows):
                    found.append(text)
            time.sleep(0.3)
        stop.set()

    looker = threading.Thread(target=look)
    looker.start()
    run_pipeline(pipeline, spark, stop=stop)
    looker.join()
    assert "another run has this checkpoint" in refusals[0]
    assert found, "all rows must leave: quiet keys' too"
    why = rows_of(tmp_path / "out" / "why")
    again = rows_of(tmp_path / "out" / "again")
    assert {r["row"] for r in again} <= {r["row"] for r in why}
    assert all("behind the watermark" in r["_reason"] for r in why)


def ready_rows(text: str, stream: str) -> float | None:
    """What the metrics say of a stream."""
    labels = {"pipeline": "live", "stream": stream, "outcome": "ready"}
    return next((one.value for family in text_string_to_metric_families(text)
                 for one in family.samples
                 if (one.name, one.labels) == ("slackwater_rows_total", labels)), None)


def test_two_sources_and_a_query_over_both(tmp_path, spark):
    base = 1_700_000_000_000_000
    for name, shift in (("doors", 0), ("lamps", 300_000)):
        table = pa.table({
            "id": range(20), "room": [f"r{i % 3}" for i in range(20)],
            "time_min": pa.array([base + i * 10_000_000 + shift for i in range(20)],
                                 pa.timestamp("us", "UTC")),
            "time_max": pa.array([base + i * 10_000_000 + shift + 100_000 for i in range(20)],
                                 pa.timestamp("us", "UTC")),
            "received": pa.array([base + i * 10_000_000 + 1_000_000 for i in range(20)],
                                 pa.timestamp("us", "UTC"))})
        write_files(table, tmp_path / name, 2)
    text = """
name: pairs
sources:
  doors: {kind: files, path: doors, format: parquet}
  lamps: {kind: files, path: lamps, format: parquet}
steps:
  asked: {query: "SELECT d.id AS door, l.id AS lamp FROM doors d, lamps l
                  WHERE |@d - @l| <= 1 second AND d.room = l.room", arrival: received}
  plain: {correlate: [doors, lamps], within: 1s, by: room, arrival: received}
sinks:
  asked: {from: asked, kind: json, path: out/asked}
  plain: {from: plain, kind: json, path: out/plain}
"""
    run_pipeline(load(write(tmp_path, text)), spark, until_done=True, keep_held=True)
    asked = sorted((r["door"], r["lamp"]) for r in rows_of(tmp_path / "out" / "asked"))
    plain = sorted((r["id_left"], r["id_right"]) for r in rows_of(tmp_path / "out" / "plain"))
    assert asked == plain == [(i, i) for i in range(20)]
