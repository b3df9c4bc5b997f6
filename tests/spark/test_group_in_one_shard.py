"""Steps that run together: whatever the cuts, the ticks and the restarts, each row has one fate."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

from slackwater.core import keyed
from slackwater.core.errors import ConfigError
from slackwater.core.kernel import MemoryStore
from slackwater.core.state.ipc import ipc_batch, ipc_bytes
from slackwater.pipeline import parse
from slackwater.spark.run.build import Builder
from slackwater.spark.run.wiring import wire
from slackwater.spark.runner.shard import ShardRun
from slackwater.spark.runner.shard_state import Head
from slackwater.spark.sources.ticks import FINISH, TICK

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
TEXT = """
name: plant
sources:
  raw: {kind: kafka, servers: "a:1", topic: t,
        columns: {row: long, time: timestamp, room: string, kind: string, v: long}}
steps:
  clean: {reorder: raw, policy: "bsttda(n=20)", by: [room], quiet: 2s}
  by_room: {query: "SELECT room, window_end AS at, COUNT(*) AS n FROM clean
                    [RANGE 1 s, SLIDE 1 s] GROUP BY room"}
  all: {query: "SELECT window_end AS at, COUNT(*) AS n, SUM(v) AS v FROM clean [RANGE 2 s, SLIDE 2 s]"}
  twice: {query: "SELECT window_end AS at, SUM(n) AS n FROM by_room [RANGE 4 s, SLIDE 4 s]", time: at}
  visits: {query: "SELECT room, window_end AS at, COUNT(*) AS n FROM clean [SESSION 300 ms] GROUP BY room"}
  rushes: {query: "SELECT window_start, window_end, SUM(n) AS n FROM visits [SESSION 100 ms]", time: at}
  pairs: {query: "EVENT SEQ(A a, B b) WHERE a.room = b.room WITHIN 500 ms RETURN a.row AS a, b.row AS b",
          from: clean, type: kind}
  again: {reorder: clean.late, policy: static(buffer=1h), quiet: 2s}
sinks:
  o: {from: clean, kind: console}
"""  # noqa: E501
STREAMS = ("clean", "by_room", "all", "twice", "visits", "rushes", "pairs", "again")


def group():
    pipeline = parse(TEXT, "p.yaml", {})
    schema = next(s for n, s in pipeline.schemas.items() if str(n) == "raw")
    wanted = {name: frozenset(("ready", "late", "quarantined")) for name in STREAMS}
    wired = wire(list(pipeline.steps.values()), {"raw": schema}, wanted, 4, {})
    assert len(wired.groups) == 1
    return wired.groups[0], schema


GROUP, SCHEMA = group()


def test_steps_that_follow_take_a_micro_batch_whole(monkeypatch):
    """In few pieces, that is: a piece per row is a hundred times as slow."""
    pieces = 0

    class Counted(keyed.Keyed):
        def __init__(self, *parts):
            nonlocal pieces
            pieces += 1
            super().__init__(*parts)

    monkeypatch.setattr(keyed, "Keyed", Counted)
    batch = events(1)
    run(batch, [100, 200], restart=False, ticks=False, parts=1)
    assert len(STREAMS) <= pieces < batch.num_rows


def test_a_group_is_sharded_by_what_all_its_steps_keep_apart():
    assert len(GROUP.labels) == 1  # `all` brings the rooms together
    text = TEXT.replace("  all: {query:", "  all: {sql: SELECT 1 FROM clean}\n  no: {query:")
    pipeline = parse(text, "p.yaml", {})
    steps = [pipeline.steps[n] for n in ("clean", "by_room", "pairs")]
    wired = wire(steps, {"raw": SCHEMA}, {}, 4, {})
    assert [len(g.labels) for g in wired.groups] == [4]
    assert wired.groups[0].parts[0].spec.inputs[0].shard_by == ("room",)


def events(seed: int, rows: int = 300) -> pa.RecordBatch:
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(60_000, rows) + np.where(rng.random(rows) < 0.02, 5 * SECOND, 0)
    time = START + np.cumsum(gaps).astype(np.int64)
    delay = rng.exponential(200_000, rows) + np.where(rng.random(rows) < 0.1, 4 * SECOND, 0)
    delay[:8] = 0  # every room is heard of at the start: where its first row is older than what was
    # promised of all rooms, it is late, and what was promised depends on the cuts
    order = np.argsort(time + delay.astype(np.int64), kind="stable")
    room = rng.integers(0, 8, rows)
    room[:8] = np.arange(8)
    stamp = pa.timestamp("us", "UTC")
    return pa.RecordBatch.from_arrays([
        pa.array(np.arange(rows)[order]), pa.array(time[order]).cast(stamp),
        pa.array([f"r{k}" for k in room]),
        pa.array([("A", "B", "C")[k] for k in rng.integers(0, 3, rows)]),
        pa.array(rng.integers(0, 100, rows)),
        pa.array(np.sort(time + delay.astype(np.int64))).cast(stamp),
        pa.nulls(rows, pa.string())], schema=SCHEMA)


def run(batch: pa.RecordBatch, cuts: list[int], *, restart: bool, ticks: bool,
        parts: int) -> dict[tuple[str, str], list[dict]]:
    """Micro-batches that end at cuts, each in some partitions, at different places of the input."""
    head, store = Head(1), MemoryStore()
    found: dict[tuple[str, str], list[dict]] = {}

    def step(rows: list[Row]) -> None:
        nonlocal head
        if restart:
            head = Head.from_text(head.to_text())
        for out in list(ShardRun(GROUP, head, store).run(rows)):
            if out.blob is not None:
                found.setdefault((out.stream, out.status), []).extend(
                    ipc_batch(out.blob).to_pylist())

    for first, last in zip([0, *cuts], [*cuts, batch.num_rows], strict=True):
        mine = batch.slice(first, last - first)
        rows = []
        for part in range(parts):
            some = mine.take(pa.array(np.arange(part, mine.num_rows, parts)))
            if some.num_rows:
                clock = some["_arrival"][-1].cast(pa.int64()).as_py()
                rows += [Row(shard=0, step="clean", input=0, part=part, chunk=0,
                             blob=ipc_bytes(some), clock=None),
                         Row(shard=0, step="clean", input=0, part=part, chunk=-1, blob=None,
                             clock=clock)]
        if ticks:
            rows.append(Row(shard=0, step=None, input=TICK, part=-1, chunk=0, blob=None,
                            clock=last * SECOND))
        step(rows)
    step([Row(shard=0, step=None, input=FINISH, part=-1, chunk=0, blob=None, clock=0)])
    assert not any(head.held.values())
    return found


def plain(found: dict) -> dict:
    """Without what depends on when a micro-batch ended."""
    dull = ("_released", "_reason", "match_id", "events")
    return {name: sorted(str({k: v for k, v in r.items() if k not in dull}) for r in rows)
            for name, rows in found.items()}


@settings(max_examples=12)
@given(seed=st.integers(0, 10_000), every=st.sampled_from([7, 40, 100, 300]),
       restart=st.booleans(), ticks=st.booleans(), parts=st.sampled_from([1, 2, 3]))
def test_one_fate(seed, every, restart, ticks, parts):
    batch = events(seed)
    cuts = list(range(every, batch.num_rows, every))
    found = run(batch, cuts, restart=restart, ticks=ticks, parts=parts)
    fates = [r["row"] for status in ("ready", "late", "quarantined")
             for r in found.get(("clean", status), [])]
    assert sorted(fates) == list(range(batch.num_rows)), "each row once"
    ready = found["clean", "ready"]
    for name in ("by_room", "all", "twice", "visits", "rushes", "pairs"):
        assert (name, "late") not in found, f"ready in clean, and late in {name}"
        assert (name, "quarantined") not in found
    for name in ("by_room", "all", "twice", "visits", "rushes"):
        assert sum(r["n"] for r in found[name, "ready"]) == len(ready)
    assert sum(r["v"] for r in found["all", "ready"]) == sum(r["v"] for r in ready)
    assert len(found.get(("again", "ready"), [])) == len(found.get(("clean", "late"), []))
    whole = run(batch, [], restart=False, ticks=False, parts=1)
    assert plain(found) == plain(whole)


TWO = """
name: two
sources:
  a: {kind: kafka, servers: "a:1", topic: a, columns: {time_max: timestamp, time_min: timestamp}}
  b: {kind: kafka, servers: "a:1", topic: b, columns: {time_max: timestamp, time_min: timestamp}}
steps:
  one: {reorder: a, policy: static(buffer=1s), time: time_max, quiet: 2s}
  two: {reorder: b, policy: static(buffer=1s), time: time_max, quiet: 2s}
  near: {correlate: [one, two], within: 1s}
sinks:
  o: {from: near, kind: console}
"""


def test_a_silent_source_does_not_wait_for_a_busy_one():
    """Each input has caught up, or not, by itself; and pairs of what both have released are found.
    """
    pipeline = parse(TWO, "p.yaml", {})
    schema = next(s for n, s in pipeline.schemas.items() if str(n) == "a")
    wanted = {name: frozenset(("ready", "late")) for name in ("one", "two", "near")}
    (group,) = wire(list(pipeline.steps.values()), {"a": schema, "b": schema}, wanted, 4, {}).groups
    assert len(group.labels) == 1
    head, store, found = Head(1), MemoryStore(), []

    def step(tick: int, **rows: list[int]) -> None:
        told = [Row(shard=0, step=None, input=TICK, part=-1, chunk=0, blob=None, clock=tick)]
        for name, seconds in rows.items():
            stamp = pa.array([START + s * SECOND for s in seconds], pa.timestamp("us", "UTC"))
            batch = pa.RecordBatch.from_arrays(
                [stamp, stamp, stamp, pa.nulls(len(stamp), pa.string())], schema=schema)
            told += [Row(shard=0, step=name, input=0, part=0, chunk=0, blob=ipc_bytes(batch),
                         clock=None),
                     Row(shard=0, step=name, input=0, part=0, chunk=-1, blob=None,
                         clock=START + seconds[-1] * SECOND)]
        found.extend((r.stream, r.status, r.rows) for r in ShardRun(group, head, store).run(told)
                     if r.blob is not None)

    step(0, one=[5], two=[5])
    assert found == []
    for later in range(1, 6):  # the source of `one` has nothing more to give
        step(later * 2 * SECOND, two=[5 + later * 2])
    assert ("one", "ready", 1) in found
    assert ("near", "ready", 1) in found
    assert not [f for f in found if f[1] == "late"]


def test_a_query_apart_brings_no_keys_together():
    """It has no merge; one that keeps the keys of what it follows apart needs none."""
    text = TEXT.replace("sinks:", """
  top: {sql: SELECT max(n) FROM by_room}
  sum: {sql: SELECT max(n) FROM all}
sinks:""")
    pipeline = parse(text, "p.yaml", {})
    builder = Builder(None, pipeline, None, None)
    builder._check_order(pipeline.steps["by_room"])
    with pytest.raises(ConfigError, match="brings the keys of 'clean' together"):
        builder._check_order(pipeline.steps["all"])
