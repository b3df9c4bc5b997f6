"""Every method against the oracle: streams, delays, time-outs, failures, joins, leaves, cuts."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.synchronise import (
    FrontierSync,
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    TreeSync,
)
from tests.synchronise.sync_oracle import Oracle

METHODS = [TreeSync, MergedTreeSync, RedBlackSync, LinkedListSync, IndexedListSync, FrontierSync]
BASE = 1_700_000_000_000_000
NAMES = "abcde"
ROLES = Roles("time", "arrival", source="source", unit="us")
SCHEMA = pa.schema([("time", pa.int64()), ("arrival", pa.int64()), ("source", pa.string()),
                    ("n", pa.int64())])


@st.composite
def scripts(draw, in_order=False, plain=False):
    """A list of steps: rows (time, source, arrival), ticks, joins, leaves."""
    steps, clock = [], 50
    shown = dict.fromkeys(NAMES, 0)
    for _ in range(draw(st.integers(1, 50))):
        kind = draw(st.integers(0, 19)) if not plain else 10
        clock += draw(st.integers(0, 4))
        if kind == 0:
            steps.append(("tick", clock + draw(st.integers(0, 15))))
            clock = steps[-1][1]
        elif kind == 1:
            steps.append(("add", draw(st.sampled_from(NAMES))))
        elif kind == 2:
            steps.append(("remove", draw(st.sampled_from(NAMES))))
        else:
            source = draw(st.sampled_from(NAMES))
            if in_order or draw(st.booleans()):
                shown[source] += draw(st.integers(0 if not in_order else 1, 8))
                time = shown[source]
            else:
                time = draw(st.integers(0, 60))
            steps.append(("row", time, source, clock + draw(st.integers(-1, 1))))
    return steps


configs = st.fixed_dictionaries({
    "sources": st.sampled_from([None, ("a", "b"), ("a", "b", "c", "d", "e"), ()]),
    "max_delay": st.sampled_from([None, 0, 5, 20]),
    "max_failures": st.sampled_from([None, 1, 2, 4]),
    "blame": st.sampled_from(["missing", "producer"]),
})


def expected(steps, config, lazy):
    oracle = Oracle(config["sources"] if config["sources"] is None else list(config["sources"]),
                    config["max_delay"], config["max_failures"], config["blame"], lazy)
    told = []  # per step: list of (n, timed out)
    n = 0
    for step in steps:
        if step[0] == "row":
            _, time, source, arrival = step
            told.append(oracle.push(n, time, source, arrival))
            n += 1
        elif step[0] == "tick":
            told.append(oracle.tick(step[1]))
        elif step[0] == "add":
            told.append(oracle.add(step[1]))
        else:
            told.append(oracle.remove(step[1]) if step[1] in oracle.book else [])
    told.append(oracle.finish())
    return told, oracle


def in_arrival_order(steps):
    """Rows whose arrivals do not go back: a batch is sorted by them when it is pushed."""
    clock, found = None, []
    for step in steps:
        if step[0] == "row":
            clock = step[3] if clock is None else max(clock, step[3])
            step = (*step[:3], clock)
        found.append(step)
    return found


def batch_of(rows):
    return pa.RecordBatch.from_pylist(
        [{"time": BASE + t, "arrival": BASE + a, "source": s, "n": n} for n, t, s, a in rows],
        SCHEMA)


def replay(logic, steps, cuts, config=None):
    """Outputs in order: (n, reason) ready, n late; rows go in batches that end at cuts."""
    ready, late, stamps, rows, n = [], [], [], [], 0
    known = set(config["sources"] or ()) if config else set()

    def keep(out):
        ready.extend(zip(out.ready["n"].to_pylist() if out.ready.num_rows else [],
                         [r is not None for r in out.ready["_reason"].to_pylist()], strict=True))
        stamps.extend(out.ready["_released"].cast(pa.int64()).to_pylist())
        if out.late.num_rows:
            late.extend(out.late["n"].to_pylist())

    def flush():
        nonlocal rows
        if rows:
            keep(logic.push(batch_of(rows)))
            rows = []

    for i, step in enumerate(steps):
        if step[0] == "row":
            rows.append((n, *step[1:]))
            known.add(step[2])
            n += 1
        else:
            flush()
            if step[0] == "tick":
                keep(logic.tick(BASE + step[1]))
            elif step[0] == "add":
                known.add(step[1])
                keep(logic.add_source(step[1]))
            elif step[1] in known:
                keep(logic.remove_source(step[1]))
        cut = cuts(i)
        if cut:
            flush()
        if cut == 2:
            logic = logic.config.restore(logic.snapshot())
    flush()
    return logic, ready, late, stamps, keep


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=60)
@given(steps=scripts(), config=configs, seed=st.integers(0, 6))
def test_it_does_what_the_oracle_does(method, steps, config, seed):
    steps = in_arrival_order(steps)
    told, oracle = expected(steps, config, lazy=method is TreeSync)
    logic = method(ROLES, **config).start()

    def cuts(i):
        return (0, 1, 2)[(i * (seed + 1) // 3) % 3] if seed else 0

    logic, ready, late, _, keep = replay(logic, steps, cuts, config)
    assert ready == [x for step in told[:-1] for x in step]
    keep(logic.finish())
    assert ready == [x for step in told for x in step]
    assert late == oracle.late
    health = {h["source"]: (h["state"], h["failures"]) for h in logic.health()}
    for name, source in oracle.book.items():
        state = source.state
        if name in health:
            assert health[name] == (state, source.failures)
