"""MATCH_RECOGNIZE as Spark runs it, shard by shard and in batch, without a session."""

from __future__ import annotations

import pickle

import numpy as np
import pyarrow as pa
import pytest
from pyspark import cloudpickle
from pyspark.sql import Row

from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.core.state.ipc import ipc_batch, ipc_bytes
from slackwater.pipeline import parse
from slackwater.query import make_query
from slackwater.spark.run.wiring import wire
from slackwater.spark.runner.batch import _run_through
from slackwater.spark.runner.operator_spec import operator_spec, output_schema
from slackwater.spark.runner.shard import ShardRun
from slackwater.spark.runner.shard_state import Head
from slackwater.spark.sources.ticks import FINISH

SECOND = 1_000_000
START = 1_700_000_000 * SECOND
QUERY = """SELECT * FROM raw MATCH_RECOGNIZE (PARTITION BY room ORDER BY time, row
    MEASURES FIRST(row) AS begun, LAST(up.row) AS ended, AVG(v) AS mean
    PATTERN (a up+) WITHIN 2 seconds DEFINE up AS up.v > PREV(up.v))"""
TEXT = f"""
name: plant
sources:
  raw: {{kind: kafka, servers: "a:1", topic: t,
        columns: {{row: long, time: timestamp, room: string, v: long}}}}
steps:
  clean: {{reorder: raw, policy: "static(buffer=5s)", by: [room], quiet: 2s}}
  direct: {{query: "{QUERY}", slack: 5s, quiet: 2s}}
  after: {{query: "{QUERY.replace('FROM raw', 'FROM clean')}"}}
sinks:
  o: {{from: after, kind: console}}
"""


@pytest.fixture(scope="module")
def wired():
    pipeline = parse(TEXT, "p.yaml", {})
    schema = next(s for n, s in pipeline.schemas.items() if str(n) == "raw")
    wanted = {name: frozenset(("ready", "late", "quarantined")) for name in ("direct", "after")}
    return wire(list(pipeline.steps.values()), {"raw": schema}, wanted, 1, {}), schema


def events(schema: pa.Schema, rows: int = 400) -> pa.RecordBatch:
    rng = np.random.default_rng(3)
    time = START + np.sort(rng.integers(0, 40 * SECOND, rows))
    arrival = time + rng.integers(0, 3 * SECOND, rows)
    order, stamp = np.argsort(arrival, kind="stable"), pa.timestamp("us", "UTC")
    columns = {"row": pa.array(np.arange(rows)[order]),
               "time": pa.array(time[order]).cast(stamp),
               "room": pa.array([f"r{k}" for k in rng.integers(0, 4, rows)]),
               "v": pa.array(rng.integers(0, 50, rows)),
               "_arrival": pa.array(arrival[order]).cast(stamp),
               "_raw": pa.nulls(rows, pa.string())}
    return pa.RecordBatch.from_arrays([columns[f.name] for f in schema], schema=schema)


def matches(rows: list[dict]) -> list[tuple]:
    return sorted((r["room"], r["begun"], r["ended"], r["mean"]) for r in rows)


def expected(batch: pa.RecordBatch) -> list[tuple]:
    logic = make_query(QUERY, batch.schema, Roles("time", "_arrival"), slack="5s").start()
    outs = [logic.push(batch), logic.finish()]
    assert not any(out.late.num_rows for out in outs)
    return matches([r for out in outs for r in out.ready.to_pylist()])


@pytest.mark.parametrize("every", [7, 60, 400])
def test_a_step_of_a_pipeline_in_micro_batches(wired, every):
    groups, schema = wired
    batch = events(schema)
    found: dict[str, list[dict]] = {"direct": [], "after": []}
    for group in groups.groups:
        head, store, first = Head(len(group.labels)), MemoryStore(), group.parts[0].name

        def step(rows, group=group, store=store):
            nonlocal head
            head = Head.from_text(head.to_text())
            for out in list(ShardRun(group, head, store).run(rows)):
                if out.blob is not None and out.stream in found:
                    assert out.status == "ready"
                    found[out.stream] += ipc_batch(out.blob).to_pylist()

        for at in range(0, batch.num_rows, every):
            some = batch.slice(at, every)
            clock = some["_arrival"][-1].cast(pa.int64()).as_py()
            step([Row(shard=0, step=first, input=0, part=0, chunk=0, blob=ipc_bytes(some),
                      clock=None),
                  Row(shard=0, step=first, input=0, part=0, chunk=-1, blob=None, clock=clock)])
        step([Row(shard=0, step=None, input=FINISH, part=-1, chunk=0, blob=None, clock=0)])
        assert not any(head.held.values())
    assert matches(found["direct"]) == expected(batch)
    assert matches(found["after"]) == expected(batch)


def test_a_batch_on_a_worker(wired):
    _, schema = wired
    batch = events(schema)
    kernel = make_query(QUERY, schema, Roles("time", "_arrival"), slack="5s")
    spec = operator_spec(pickle.loads(cloudpickle.dumps(kernel)), schema, None, "query")
    output = output_schema(spec, [schema])
    rows = [r for out in _run_through(spec, schema, output)(iter([batch])) for r in out.to_pylist()]
    assert {r["_status"] for r in rows} == {"ready"}
    assert matches(rows) == expected(batch)
