"""Another number of state partitions changes nothing in the results: 2, then 8, then 3."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest
from parts.drain import drain

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.pipeline import load
from slackwater.spark import correlate, reorder
from slackwater.spark.run import run_pipeline
from slackwater.spark.run.partitions import migrate_state
from slackwater.spark.run.query_log import QueryLog
from slackwater.spark.run.state import read_state
from slackwater.spark.session.versions import BEFORE_4_2
from spark_feed import feed, write_files

TEXT = """
name: grow
sources:
  raw: {kind: files, path: in, format: parquet, max_files_per_batch: 1}
steps:
  once: {dedupe: raw, by: [row], arrival: arrival, within: 1 s}
  tide: {reorder: raw, policy: Tide, arrival: arrival, source: key, by: [key]}
  merged: {synchronise: raw, source: side, arrival: arrival, by: [key], max_delay: 1 s}
  sums: {query: "SELECT key, SUM(value) AS v, COUNT(*) AS n, window_end AS at FROM tide
                 [RANGE 400 ms, SLIDE 100 ms] GROUP BY key"}
  rises: {query: "EVENT SEQ(low a, high b) WHERE [key] WITHIN 50 ms", from: raw, type: side,
          arrival: arrival, slack: 200 ms, by: [key]}
  total: {query: "SELECT COUNT(*) AS n, window_end AS at FROM raw [RANGE 1 s, SLIDE 1 s]",
          arrival: arrival, slack: 300 ms}
sinks:
  once: {from: once, kind: json, path: out/once}
  twice: {from: once.late, kind: json, path: out/twice}
  tide: {from: tide, kind: json, path: out/tide}
  late: {from: tide.late, kind: json, path: out/late}
  merged: {from: merged, kind: json, path: out/merged}
  sums: {from: sums, kind: json, path: out/sums}
  rises: {from: rises, kind: json, path: out/rises}
  total: {from: total, kind: json, path: out/total}
"""
SINCE_4_2 = pytest.mark.skipif(
    BEFORE_4_2, reason="Spark can repartition a state since 4.2")
STREAMS = ("once", "twice", "tide", "late", "merged", "sums", "rises", "total")

def table() -> pa.Table:
    """A feed in which rows come twice now and then."""
    rows = feed(1500, keys=12, seed=5, poison=False)
    side = pa.array(["low" if r % 3 else "high" for r in rows["row"].to_pylist()])
    rows = rows.append_column("side", side)
    return rows.take(pa.array([i for i in range(1500) for _ in range(1 + (i % 50 == 0))]))


def stages(folder, go, change=None):
    """Run over three files: at once, or one by one, with a `change` of the checkpoint between."""
    folder.mkdir()
    write_files(table(), folder / "in", 3)
    files = sorted((folder / "in").iterdir())
    later = [] if change is None else files[1:]
    for file in later:
        file.rename(folder / file.name)
    go()
    for file, partitions in zip(later, (8, 3), strict=change is not None):
        change(partitions)
        (folder / file.name).rename(file)
        go()


def plain(rows):
    return sorted(json.dumps(r, sort_keys=True, default=str) for r in rows)


@SINCE_4_2
def test_a_pipeline_of_all_kernels_goes_on_with_other_partitions(spark, tmp_path):
    found, moved = [], []
    for name in ("undisturbed", "moved"):
        file, point = tmp_path / name / "grow.yaml", tmp_path / name / ".slackwater" / "grow"

        def go(file=file):
            file.write_text(TEXT)
            run_pipeline(load(file), spark, until_done=True, keep_held=True)

        def change(partitions, point=point):
            moved.append(migrate_state(spark, str(point), partitions)[0])

        stages(tmp_path / name, go, change if name == "moved" else None)
        found.append({s: plain(json.loads(line)
                               for part in (tmp_path / name / "out" / s).glob("*/part-*")
                               for line in part.read_text().splitlines()) for s in STREAMS})
        steps = read_state(spark, str(point))
        assert max(s.partition for s in steps) == (2 if name == "moved" else 1)
        found[-1]["held"] = sorted((s.step, s.shard, s.held) for s in steps)
    assert all(found[0].values()), "every stream has rows"
    for stream, rows in found[0].items():
        assert rows == found[1][stream], stream
    assert [(m.query, m.before, m.after) for m in moved] == [("main", 2, 8), ("main", 8, 3)]
    assert moved[0].steps["tide"] == 8
    assert moved[0].steps["total"] == 1, "without a key it cannot be divided, and says so"


@SINCE_4_2
def test_operators_go_on_with_other_partitions(spark, tmp_path):
    found = []
    for name in ("undisturbed", "moved"):
        out, folder = {"reorder": [], "pairs": []}, tmp_path / name

        def go(out=out, folder=folder):
            source = spark.readStream.schema(
                "row bigint, time timestamp, arrival timestamp, key string, value double, "
                "side string").option("maxFilesPerTrigger", 1).parquet(str(folder / "in"))
            low, high = (source.where(f"side = '{side}'") for side in ("low", "high"))
            dfs = {"reorder": reorder(source, "kslack(initial=100ms)", arrival="arrival",
                                      by="key", quiet=None),
                   "pairs": correlate(low, high, within="4 ms", time_min="time", time_max="time",
                                      arrival="arrival", max_delay="1 s")}
            for what, df in dfs.items():
                for batch in drain(df, folder / what):
                    out[what] += [r.asDict(recursive=True) for r in batch]

        def change(partitions, folder=folder):
            for what in ("reorder", "pairs"):
                migrate_state(spark, str(folder / what), partitions)

        stages(folder, go, change if name == "moved" else None)
        found.append({what: plain(rows) for what, rows in out.items()})
    assert all(found[0].values())
    assert found[0] == found[1]
    _refuses(spark, tmp_path / "moved" / "reorder")


def _refuses(spark, point):
    """What is left when a run or a migration was killed is named, and the way on."""
    log = QueryLog(spark, str(point))
    assert (log.partitions, log.pending) == (3, False)
    migrate_state(spark, str(point), 4)
    commit = point / "commits" / str(log.planned)
    commit.unlink()
    commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
    with pytest.raises(SnapshotError, match="a change to 4 partitions was interrupted"):
        migrate_state(spark, str(point), 5)
    assert migrate_state(spark, str(point), 4)[0].after == 4
    assert not log.pending
    before = point / "offsets" / str(log.planned)
    (point / "offsets" / str(log.planned + 1)).write_bytes(before.read_bytes())
    with pytest.raises(SnapshotError, match="is planned and not done") as told:
        migrate_state(spark, str(point), 6)
    assert "--until-done --keep-held" in str(told.value)
    with pytest.raises(ConfigError, match="no such checkpoint"):
        migrate_state(spark, str(point / "nowhere"), 2)


def test_shards_are_spread_evenly(spark):
    from slackwater.spark.runner.packing import shard_labels

    for shards, group in ((8, 0), (16, 3), (11, 1)):
        labels = spark.createDataFrame([(label,) for label in shard_labels(shards, group)],
                                       "label int")
        hashes = [r[0] for r in labels.selectExpr("hash(label)").collect()]
        for partitions in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, shards):
            counts = [0] * partitions
            for value in hashes:
                counts[value % partitions] += 1
            assert max(counts) - min(counts) <= 1, (shards, partitions)


