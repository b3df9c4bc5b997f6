"""Which changes a restart takes, and which it refuses, with the reason."""

from __future__ import annotations

import json
import struct
import zlib

import pyarrow as pa
import pytest

from slackwater import Reorder, Roles
from slackwater.core.errors import SnapshotError
from slackwater.core.state import bundle, unbundle
from slackwater.correlate import Correlate
from slackwater.pipeline import Pipeline, parse
from slackwater.pipeline.fingerprint import FORMAT, changes, query_plan, read_plan
from slackwater.query import SelectQuery
from slackwater.query.event.query import event_query
from slackwater.synchronise import FrontierSync

HEAD = struct.Struct("<4sHII")  # how a snapshot begins: magic, format, checksum, length of its head

TEXT = """
name: plant
sources:
  raw: {kind: kafka, servers: "a:1", topic: t, columns: {time: timestamp, device: string, v: double}}
steps:
  clean: {reorder: raw, policy: mean_plus, source: device}
  peaks: {query: "SELECT device, MAX(v) AS peak FROM clean [RANGE 3 s] GROUP BY device"}
sinks:
  out: {from: peaks, kind: parquet, path: out/peaks}
""".replace("mean_plus", "bsttda(n=100)")  # noqa: E501


def pipeline(text: str = TEXT) -> Pipeline:
    return parse(text, "p.yaml", {})


def stored(one: Pipeline) -> dict:
    plan = {"format": FORMAT, "slackwater": "0", "name": one.name, "id": "x", "shards": 2,
            "groups": {}, "queries": {q.name: query_plan(one, q) for q in one.queries}}
    return read_plan(json.loads(json.dumps(plan)))


def found(old: str, new: str) -> list[tuple[str, str | None]]:
    assert old in TEXT
    return [(c.where, c.refused) for c in
            changes(stored(pipeline()), pipeline(TEXT.replace(old, new)))]


def test_nothing_has_changed():
    assert list(changes(stored(pipeline()), pipeline())) == []


@pytest.mark.parametrize(("old", "new"), [
    ("a:1", "b:2"),
    ("topic: t", "topic: t, max_rows: 5, options: {kafka.security.protocol: SSL}"),
    ("topic: t", "topic: t, starting: latest"),
    ("name: plant", "name: plant\ntrigger: 5s\nmetrics: {port: 9400}\nspark: {a: b}"),
    ("FROM clean [RANGE 3 s]", "FROM  clean  [RANGE 3 s]"),
    ("path: out/peaks", "path: elsewhere"),
])
def test_what_does_not_touch_the_state_is_free(old, new):
    assert found(old, new) == []


@pytest.mark.parametrize(("old", "new", "where"), [
    ("bsttda(n=100)", "'bsttda(n=100, offset=1s)'", "steps.clean.policy"),
    ("source: device", "source: device, max_future_skew: 1h", "steps.clean.max_future_skew"),
    ("source: device", "source: device, quiet: 3s", "steps.clean.quiet"),
    ("  out:", "  two: {from: peaks, kind: console}\n  out:", "sinks.two"),
    ("  out:", "  two: {from: clean.late, kind: console}\n  out:", "sinks.two"),
])
def test_what_the_state_can_live_with_is_told(old, new, where):
    assert found(old, new) == [(where, None)]


@pytest.mark.parametrize(("old", "new", "where", "why"), [
    ("name: plant", "name: plan", "name", "another pipeline's"),
    ("topic: t", "topic: u", "sources.raw.topic", "offsets are of other rows"),
    ("v: double", "v: float", "sources.raw.columns", "offsets are of other rows"),
    ("bsttda(n=100)", "tide", "steps.clean.policy", "the policy has changed"),
    ("bsttda(n=100)", "bsttda(n=50)", "steps.clean.policy", "numbers per key"),
    ("source: device", "by: [device]", "steps.clean.by", "depends on it"),
    ("source: device", "source: device, quiet: null", "steps.clean.quiet", "clock would come"),
    ("RANGE 3 s", "RANGE 4 s", "steps.peaks.text", "of another step"),
    ("reorder: raw", "synchronise: raw", "steps.clean.kind", "of another step"),
])
def test_what_the_state_cannot_live_with_is_refused(old, new, where, why):
    if "synchronise" in new:
        told = [(c.where, c.refused) for c in changes(stored(pipeline()), pipeline(
            TEXT.replace(old, new).replace("policy: bsttda(n=100), ", "")))]
    else:
        told = found(old, new)
    assert (where, True) in [(w, r is not None and why in r) for w, r in told]


def test_steps_come_and_go():
    """Each has a state of its own; a query apart is what it was, or another."""
    plan = stored(pipeline())
    less = pipeline(TEXT.replace("from: peaks", "from: clean"))
    assert [(c.where, c.refused) for c in changes(plan, less)] == [("steps.peaks", None)]
    assert [(c.where, c.refused) for c in changes(stored(less), pipeline())] == [
        ("steps.peaks", None)]
    apart = TEXT.replace("sinks:", "  top: {sql: SELECT max(peak) FROM peaks}\nsinks:").replace(
        "from: peaks", "from: top")
    assert [(c.where, c.refused) for c in changes(plan, pipeline(apart))] == [
        ("query top", None), ("query main", None)]
    changed = pipeline(TEXT.replace("RANGE 3 s", "RANGE 4 s"))
    assert any(c.refused for c in changes(plan, changed))


def test_another_release_and_a_damaged_file():
    with pytest.raises(SnapshotError, match="another release"):
        read_plan({"format": FORMAT + 1, "slackwater": "9.0"})
    with pytest.raises(SnapshotError, match="damaged"):
        read_plan([1])


SCHEMA = pa.schema([("time", pa.timestamp("us", "UTC")), ("type", pa.string()),
                    ("source", pa.string()), ("v", pa.float64())])
ROLES = Roles("time", source="source", type="type")
KERNELS = [
    Reorder("tide", ROLES), Reorder("bsttda", ROLES), Reorder("DropRatio(ratio=1%)", ROLES),
    FrontierSync(ROLES), SelectQuery("SELECT MAX(v) AS m FROM s [RANGE 3 s]", SCHEMA, ROLES),
    event_query("EVENT SEQ(A a, B b) WITHIN 3 s", ROLES),
    Correlate(within="1s"),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: f"{type(k).__name__}")
def test_a_snapshot_of_another_version_is_refused(kernel):
    """Every layer of it: an older and a newer layout, another format, a damaged byte."""
    snapshot = kernel.start().snapshot()
    kernel.restore(snapshot)
    index, store = unbundle(snapshot)
    _, form, _, length = HEAD.unpack_from(index)
    head = json.loads(index[HEAD.size:HEAD.size + length])
    body = index[HEAD.size + length:]
    for version in (head["version"] - 1, head["version"] + 1):
        text = json.dumps({**head, "version": version}).encode()
        other = HEAD.pack(b"SLKW", form, zlib.crc32(text + body), len(text)) + text + body
        with pytest.raises(SnapshotError, match="of another version"):
            kernel.restore(bundle(other, store))
    with pytest.raises(SnapshotError, match="of another release"):
        kernel.restore(snapshot[:4] + bytes([form + 1]) + snapshot[5:])
    with pytest.raises(SnapshotError, match="damaged"):
        kernel.restore(snapshot[:-1] + bytes([snapshot[-1] ^ 1]))


def test_a_restored_policy_uses_its_new_parameter():
    """A restart with a changed parameter is not only taken: it has an effect."""
    at = 1_700_000_000_000_000
    rows = pa.record_batch({"time": [at], "arrival": [at]})
    roles = Roles("time", "arrival", unit="us")
    old, new = Reorder("static(buffer=1s)", roles), Reorder("static(buffer=5s)", roles)
    logic = old.start()
    logic.push(rows)
    later = pa.record_batch({"time": [at + 2_000_000], "arrival": [at + 2_000_000]})
    assert old.restore(logic.snapshot()).push(later).ready.num_rows == 1
    assert new.restore(logic.snapshot()).push(later).ready.num_rows == 0
