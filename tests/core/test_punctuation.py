"""Punctuation: promises that nothing before a time comes any more, against slow obvious rules."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.core.errors import ConfigError
from slackwater.core.kernel import MemoryStore
from slackwater.correlate import Correlate, Predicate, find_pairs
from slackwater.pattern import Match
from slackwater.query.event.query import event_pattern
from slackwater.synchronise import (
    FrontierSync,
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    SyncModule,
    TreeSync,
)
from slackwater.window import Aggregate, Window, Windowed

SOURCES = ("x", "y")
KEYS = ("a", "b")
ROLES = Roles("time", "arrival", source="source", key=("key",), unit="us")

rows = st.tuples(st.just("row"), st.integers(0, 60), st.sampled_from(KEYS),
                 st.sampled_from(SOURCES), st.integers(0, 6))
promises = st.tuples(st.just("promise"), st.integers(0, 60), st.sampled_from((None, *KEYS)),
                     st.sampled_from((None, *SOURCES)), st.just(0))
scripts = st.lists(st.one_of(rows, rows, promises), max_size=40)


class Rule:
    """Per key: the least promise of its sources, about it or about every key."""

    def __init__(self, sources=SOURCES):
        self.every = dict.fromkeys(sources, float("-inf"))
        self.own = {}

    def make(self, time, key, source):
        if key is None:
            table = self.every
        elif key in self.own:
            table = self.own[key]
        else:
            return  # a key that is not known
        for s in table:
            if source in (None, s):
                table[s] = max(table[s], time)

    def meet(self, key):
        self.own.setdefault(key, dict.fromkeys(self.every, float("-inf")))

    def of(self, key):
        return min(max(own, every) for own, every in
                   zip(self.own[key].values(), self.every.values(), strict=True))


def batch(n, time, arrival, key, source):
    return pa.record_batch({"n": [n], "time": [time], "arrival": [arrival], "key": [key],
                            "source": [source]})


def numbers(rows):
    return rows["n"].to_pylist() if rows.num_rows else []


def play(kernel, script, rule, *, restarts=False, by_source=True):
    """Yields, after each event of the script, what it was and what came out."""
    store = MemoryStore() if restarts else None
    logic, clock = kernel.start(store), 0
    for n, (what, time, key, source, gap) in enumerate(script):
        if what == "row":
            clock += gap
            rule.meet(key)
            yield (n, what, time, key, clock), logic.push(batch(n, time, clock, key, source))
        else:
            source = source if by_source else None
            rule.make(time, key, source)
            yield (n, what, time, key, clock), logic.punctuate(
                time, source=source, key=None if key is None else {"key": key})
        if restarts:
            logic = kernel.restore(logic.snapshot(), store)
    yield (len(script), "end", 0, None, clock), logic.finish()


@settings(max_examples=150)
@given(script=scripts, wait=st.sampled_from((5, 30)), restarts=st.booleans())
def test_reorder_leaves_at_the_promise_and_calls_late_what_breaks_it(script, wait, restarts):
    kernel = Reorder(f"Static(buffer={wait}us)", ROLES, sources=SOURCES)
    rule, held, greatest = Rule(), {k: [] for k in KEYS}, dict.fromkeys(KEYS, float("-inf"))
    for (n, what, time, key, clock), out in play(kernel, script, rule, restarts=restarts):
        ready, late = [], []

        def release(k, upto, ready=ready):
            due = sorted(e for e in held[k] if e[0] <= upto)
            held[k] = [e for e in held[k] if e[0] > upto]
            greatest[k] = max([greatest[k], *(t for t, _ in due)])
            ready.extend(due)

        if what == "row":
            greatest[key] = max(greatest[key], rule.of(key))
            release(key, clock - wait)
            late += [n] if time < greatest[key] else []
            held[key] += [] if time < greatest[key] else [(time, n)]
        else:
            for k in rule.own:
                release(k, float("inf") if what == "end" else rule.of(k))
                if what == "promise":
                    greatest[k] = max(greatest[k], rule.of(k))
        assert numbers(out.late) == late
        assert numbers(out.ready) == [m for _, m in (
            sorted(ready) if what != "row" else ready)]
        assert out.notes["held"] == sum(map(len, held.values()))


@settings(max_examples=150)
@given(script=scripts, restarts=st.booleans())
def test_frontier_sync_waits_for_nobody_who_has_promised(script, restarts):
    """An event may leave when each declared source has shown, or promised, its time."""
    kernel = FrontierSync(ROLES, sources=SOURCES, max_delay=None)
    rule, held, mark = Rule(), {k: [] for k in KEYS}, dict.fromkeys(KEYS, float("-inf"))
    frontier = {k: dict.fromkeys(SOURCES, float("-inf")) for k in KEYS}
    spoken = float("-inf")  # by all sources about all keys: holds for keys to come as well
    for (n, what, time, key, _), out in play(kernel, script, rule, restarts=restarts):
        late = []
        if what == "row":
            source = script[n][3]
            mark[key] = max(mark[key], spoken)
            for s in SOURCES:
                frontier[key][s] = max(frontier[key][s], rule.own[key][s], rule.every[s])
            mark[key] = max(mark[key], min(frontier[key].values()))
            if time < mark[key]:
                late.append(n)
            else:
                frontier[key][source] = max(frontier[key][source], time)
                held[key].append((time, n))
        elif what == "promise" and script[n][3] is None and key is None:
            spoken = max(spoken, time)
        for k in rule.own:
            for s in SOURCES:
                frontier[k][s] = max(frontier[k][s], rule.own[k][s], rule.every[s])
            mark[k] = float("inf") if what == "end" else max(
                mark[k], min(frontier[k].values()))
        gone = sorted(e for k in KEYS for e in held[k] if e[0] <= mark[k])
        held = {k: [e for e in held[k] if e[0] > mark[k]] for k in KEYS}
        assert numbers(out.late) == late
        assert numbers(out.ready) == [m for _, m in gone]
        assert out.notes["held"] == sum(map(len, held.values()))


@pytest.mark.parametrize("method", [TreeSync, MergedTreeSync, RedBlackSync, IndexedListSync,
                                    LinkedListSync])
@settings(max_examples=60)
@given(script=scripts, restarts=st.booleans())
def test_the_paper_s_methods_keep_promises_of_all_sources(method, script, restarts):
    """They release what FrontierSync does; method 1 perhaps later, but never beyond a promise."""
    setting = {"sources": SOURCES, "max_delay": None}
    mine = play(method(ROLES, **setting), script, Rule(), restarts=restarts, by_source=False)
    other = play(FrontierSync(ROLES, **setting), script, Rule(), by_source=False)
    got, expected = [], []
    for (about, out), (_, reference) in zip(mine, other, strict=True):
        got += numbers(out.ready)
        expected += numbers(reference.ready)
        assert numbers(out.late) == numbers(reference.late)
        if method is not TreeSync:
            assert sorted(got) == sorted(expected), about
    for k in KEYS:
        of_key = {n for n, e in enumerate(script) if e[2] == k}
        assert [n for n in got if n in of_key] == [n for n in expected if n in of_key]


def test_a_single_source_s_promise_is_refused_where_it_cannot_be_kept():
    for method in (TreeSync, LinkedListSync):
        with pytest.raises(ConfigError, match="FrontierSync does"):
            method(ROLES, sources=SOURCES).start().punctuate(5, source="x")
    logic = Reorder("Static", ROLES).start()
    with pytest.raises(ConfigError, match="source=None"):
        logic.punctuate(5, source="x")
    with pytest.raises(ConfigError, match="did you mean 'north'"):
        Reorder("Static", ROLES, sources=("north",)).start().punctuate(5, source="norht")
    with pytest.raises(ConfigError, match="each key column"):
        logic.punctuate(5, key={"kee": 1})
    window = Window([Aggregate("count")], range="2us", slide="2us", roles=ROLES).start()
    with pytest.raises(ConfigError, match="who sent a row"):
        window.punctuate(5, source="x")


def test_a_disabled_source_that_promises_is_waited_for_again():
    sync = FrontierSync(Roles("time", "arrival", source="source", unit="us"), sources=SOURCES,
                        max_delay="10us", max_failures=1)
    logic = sync.start()

    def push(time, arrival, source):
        return logic.push(pa.record_batch({"time": [time], "arrival": [arrival],
                                           "source": [source]})).ready["time"].to_pylist()

    assert push(1, 1, "x") == []
    assert push(20, 20, "x") == [1, 20]  # y is disabled, nobody waits for it
    assert [h["state"] for h in logic.health()] == ["live", "disabled"]
    logic.punctuate(21, source="y")
    assert [h["state"] for h in logic.health()] == ["live", "live"]
    assert push(22, 22, "x") == []
    assert logic.punctuate(22, source="y").ready["time"].to_pylist() == [22]


def test_a_module_feeds_what_a_promise_releases():
    got = []
    module = SyncModule(FrontierSync(Roles("time", source="source", unit="us"), sources=SOURCES),
                        lambda some: got.extend(some["time"].to_pylist()), capacity=1)
    module.push(pa.record_batch({"time": [1, 2, 3], "source": ["x", "x", "x"]}))
    module.punctuate(2, source="y")
    assert (got, module.waiting) == ([1], 1)


@pytest.mark.parametrize("chained", [False, True])
def test_windows_close_at_a_promise(chained):
    roles = Roles("time", "arrival", key=("key",), unit="us")
    kernel = window = Window([Aggregate("count")], range="10us", slide="10us", roles=roles,
                             group=("key",))
    if chained:
        kernel = Windowed(Reorder("Static(buffer=1s)", roles), window)
    logic = kernel.start()

    def push(*some):
        time, key = zip(*some, strict=True)
        return logic.push(pa.record_batch({"time": time, "arrival": time, "key": key}))

    push((1, "a"), (3, "b"), (4, "a"))
    assert logic.punctuate(9).ready.num_rows == 0
    closed = logic.punctuate(10, key={"key": "a"}).ready.to_pylist()
    assert [(r["key"], r["count"]) for r in closed] == [("a", 2)]
    out = push((9, "a"), (9, "b"))  # a's promise is broken, b made none
    assert out.late["key"].to_pylist() == ["a"]
    closed = logic.punctuate(10).ready.to_pylist()
    assert [(r["key"], r["count"]) for r in closed] == [("b", 2)]
    assert push((8, "c")).late["key"].to_pylist() == ["c"]  # it holds for keys to come


def by_number(out):
    return [tuple(e["n"] for e in r["events"].values()) for r in out.ready.to_pylist()]


@settings(max_examples=100)
@given(events=st.lists(st.one_of(
    st.tuples(st.sampled_from("ABC"), st.integers(0, 40)),
    st.tuples(st.just("promise"), st.integers(0, 40))), max_size=25), restarts=st.booleans())
def test_matches_are_final_at_the_promise(events, restarts):
    """SEQ(A, B, !C) within 8 is final once nothing before a + 8 comes: no sooner, no later."""
    kernel = Match(event_pattern("EVENT SEQ(A a, B b, !(C c)) WITHIN 8 microseconds"),
                   Roles("time", "arrival", type="type", unit="us"), slack="1s")
    logic, promise, kept, told = kernel.start(), float("-inf"), [], []
    for n, (kind, time) in enumerate(events):
        if kind == "promise":
            promise = max(promise, time)
            out = logic.punctuate(time)
        else:
            out = logic.push(pa.record_batch({"time": [time], "arrival": [50 + n],
                                              "type": [kind], "n": [n]}))
            assert out.late.num_rows == (time < promise)
            kept += [] if time < promise else [(kind, time, n)]
        told += by_number(out)
        due = {(a, b) for k, ta, a in kept if k == "A" for q, tb, b in kept
               if q == "B" and ta < tb <= ta + 8 and ta + 8 < promise
               and not any(r == "C" and tb < tc <= ta + 8 for r, tc, _ in kept)}
        assert sorted(told) == sorted(due)
        if restarts:
            logic = kernel.restore(logic.snapshot())


@settings(max_examples=100)
@given(events=st.lists(st.tuples(st.sampled_from(("left", "right", "promise")),
                                 st.integers(0, 60), st.sampled_from((None, "left", "right"))),
                       max_size=25), restarts=st.booleans())
def test_correlation_drops_what_a_promise_has_made_useless(events, restarts):
    """All pairs of rows that are in time; once both sides are past it, nothing is held."""
    kernel = Correlate(within="10us", confidence=0.5, max_delay="1s", longest="4us",
                       roles=Roles(time_min="first", time_max="last", unit="us"))
    logic, until = kernel.start(), {"left": float("-inf"), "right": float("-inf")}
    taken, pairs = {"left": [], "right": []}, 0
    for kind, time, side in events:
        if kind == "promise":
            for s in (side,) if side else until:
                until[s] = max(until[s], time)
            logic.punctuate(time, source=side)
        else:
            out = logic.push(pa.record_batch({"first": [time - 4], "last": [time]}), kind)
            assert out.late.num_rows == (time < until[kind])
            taken[kind] += [] if time < until[kind] else [time]
            pairs += out.ready.num_rows
        if restarts:
            logic = kernel.restore(logic.snapshot())
    ends = [(np.array(taken[s], np.int64) - 4, np.array(taken[s], np.int64))
            for s in ("left", "right")]
    assert pairs == len(find_pairs(*ends, Predicate.of(within="10us"), 0.5).left)
    assert logic.punctuate(200).notes["held"] == 0
