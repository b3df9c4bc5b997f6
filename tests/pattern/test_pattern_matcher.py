"""What a matcher does around the matching: clocks, late rows, limits, state."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore
from slackwater.pattern import EMIT, SELECT
from slackwater.query.event.query import event_query

ROLES = Roles("time", type="type", unit="s")
START = 1_700_000_000
SECOND = 1_000_000
PAIR = "EVENT SEQ(A a, C c) WITHIN 1 s RETURN a.id"
ABSENT = "EVENT SEQ(A a, !(B b), C c) WITHIN 10 s RETURN a.id"


def rows(*events: tuple[Any, ...]) -> pa.RecordBatch:
    """Events as (type, time, id)."""
    return pa.record_batch({
        "type": pa.array([e[0] for e in events], pa.string()),
        "time": pa.array([None if e[1] is None else START + e[1] for e in events], pa.int64()),
        "id": pa.array([e[2] if len(e) > 2 else 0 for e in events], pa.int64())})


def told(out: Any) -> list[tuple[str, int]]:
    return [(r["op"], r["id"]) for r in out.ready.to_pylist()]


def test_final_waits_until_the_watermark_reaches_the_end_of_the_gap() -> None:
    logic = event_query(ABSENT, ROLES, slack="5s").start()
    assert told(logic.push(rows(("A", 0), ("C", 3)))) == []
    assert logic.push(rows(("X", 7))).notes["waiting"] == 1
    assert told(logic.push(rows(("X", 8)))) == [("+", 0)]
    assert told(logic.finish()) == []


def test_trailing_negation_is_final_after_the_window() -> None:
    logic = event_query("EVENT SEQ(A a, !(B b)) WITHIN 10 s RETURN a.id", ROLES,
                        slack="0s").start()
    assert told(logic.push(rows(("A", 0, 1), ("X", 10)))) == []
    assert told(logic.push(rows(("X", 11)))) == [("+", 1)]


def test_without_negation_nothing_waits() -> None:
    logic = event_query("EVENT SEQ(A a, C c) WITHIN 10 s RETURN a.id", ROLES, slack="1h").start()
    assert told(logic.push(rows(("C", 3), ("A", 0, 4)))) == [("+", 4)]


def test_time_passing_makes_matches_final() -> None:
    roles = Roles("time", "arrival", type="type", unit="s")
    batch = rows(("A", 0, 1), ("C", 3))
    batch = batch.append_column("arrival", batch["time"])
    logic = event_query(ABSENT, roles, slack="5s").start()
    assert told(logic.push(batch)) == []
    assert told(logic.tick((START + 7) * SECOND)) == []
    assert told(logic.tick((START + 8) * SECOND)) == [("+", 1)]


def test_late_and_quarantined_rows_keep_their_columns() -> None:
    logic = event_query(ABSENT, ROLES, slack="5s").start()
    out = logic.push(rows(("A", 20, 1), ("B", 14, 2), ("C", 15, 3), ("A", None, 4)))
    assert out.late.select(["type", "id", "_reason"]).to_pylist() == [
        {"type": "B", "id": 2, "_reason": "came 1000 ms behind the watermark"}]
    assert out.quarantined.select(["id", "_reason"]).to_pylist() == [
        {"id": 4, "_reason": "no time in 'time'"}]


def test_keys_have_clocks_of_their_own() -> None:
    roles = Roles("time", type="type", unit="s", key=("id",))
    logic = event_query("EVENT SEQ(A a, C c) WITHIN 10 s RETURN a.id", roles, slack="1s").start()
    out = logic.push(rows(("A", 100, 1), ("A", 0, 2), ("C", 3, 2), ("C", 99, 1), ("C", 50, 1)))
    assert told(out) == [("+", 2)]
    assert out.late["time"].to_pylist() == [START + 50]


def test_a_policy_estimates_the_slack() -> None:
    roles = Roles("time", "arrival", type="type", unit="s")
    batch = rows(("A", 0, 1), ("C", 3), ("A", 1, 2), ("C", 2, 3))
    batch = batch.append_column("arrival", pa.array([START + t for t in (1, 4, 9, 30)]))
    logic = event_query("EVENT SEQ(A a, C c) WITHIN 10 s RETURN a.id", roles,
                        slack="KSlack(scale=1, initial=9s)").start()
    out = logic.push(batch)
    assert out.late["id"].to_pylist() == [2, 3], "the greatest delay so far was one second"


def test_the_slack_is_estimated_where_none_is_given() -> None:
    """Every row of a real feed has a delay, so a slack of zero would find them all late."""
    roles = Roles("time", "arrival", "source", type="type", unit="s")
    batch = rows(*[("AC"[i % 2], i, i) for i in range(40)])
    batch = batch.append_column("arrival", pa.array([START + i + 2 for i in range(40)]))
    batch = batch.append_column("source", pa.array(["one"] * 40))
    late = {}
    for name, kernel in {
            "zero": event_query(PAIR, roles, slack="0s"), "Tide": event_query(PAIR, roles),
            "MeanPlusRange": event_query(PAIR, replace(roles, source=None))}.items():
        logic = kernel.start()
        outs = [logic.push(batch), logic.finish()]
        late[name] = sum(out.late.num_rows for out in outs)
        assert name == "zero" or type(kernel.policy).__name__ == name
    # MeanPlusRange starts with 750 ms and must first see that delays are longer
    assert late == {"zero": 40, "Tide": 0, "MeanPlusRange": 2}


def reasons(out: Any) -> list[str]:
    return out.quarantined["_reason"].to_pylist()


def test_an_event_with_too_many_matches_is_handed_out_and_the_stream_goes_on() -> None:
    many = rows(*[("A", i) for i in range(20)], ("C", 30))
    text = "EVENT SEQ(A a, C c) WITHIN 1 h"
    assert event_query(text, ROLES, max_matches=20).start().push(many).ready.num_rows == 20
    logic = event_query(text, ROLES, slack="1 h", max_matches=19).start()
    out = logic.push(many)
    assert out.ready.num_rows == 0
    assert out.quarantined["type"].to_pylist() == ["C"]
    assert reasons(out) == ["completes more than 19 matches (max_matches)"]
    logic = event_query(text, ROLES, slack="1 h", max_matches=19).restore(logic.snapshot())
    out = logic.push(rows(("A", 31, 7), ("C", 2), ("A", 1, 8)))
    assert out.ready.num_rows == 3, "the C at 2 has two As before it, and a third comes late"
    assert not reasons(out), "the C at 30 is gone for good"


@pytest.mark.parametrize("select", SELECT)
@pytest.mark.parametrize("emit", EMIT)
def test_a_pattern_that_explodes_does_not_stop_the_stream(select: str, emit: str) -> None:
    """Twins branch: each pair doubles the matches, in every selection."""
    text = "EVENT SEQ(A a, B b, C c, D d, !(X x)) WITHIN 20 s"
    twins = [(kind, i) for i, kind in enumerate("ABCD") for _ in range(4)]
    later = [("A", 40, 7), ("B", 41, 7), ("C", 42, 7), ("D", 43, 7), ("N", 99)]
    logic = event_query(text, ROLES, slack="1 s", emit=emit, select=select,
                        max_matches=20).start()
    first, second = logic.push(rows(*twins)), logic.push(rows(*later))
    last = logic.finish()
    told = [row for out in (first, second, last) for row in out.ready.to_pylist()]
    assert [r["events"]["a"]["id"] for r in told].count(7) == 1, "the stream goes on"
    out = [r for o in (first, second, last) for r in reasons(o)]
    assert out
    assert {r.split(" matches")[0] for r in out} == {"completes more than 20"}


def test_rows_without_a_type_column() -> None:
    """Conditions tell the events apart: a fall, and a rise behind it."""
    text = """EVENT SEQ(ANY a, ANY b => ANY c) WHERE b.v < a.v AND c.v > b.v WITHIN 9 s
              RETURN a.v AS top, b.v AS low, c.v AS up"""
    batch = pa.record_batch({"time": [START + i for i in range(5)], "v": [5, 3, 4, 4, 1]})
    logic = event_query(text, Roles("time", unit="s"), slack="1 h",
                        select="skip_till_next").start()
    found = [*logic.push(batch).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    assert [(m["top"], m["low"], m["up"]) for m in found] == [(5, 3, 4)]


def test_types_need_a_type_column() -> None:
    with pytest.raises(ConfigError, match="no column has the role 'type'"):
        event_query("EVENT SEQ(ANY a, B b) WITHIN 9 s", Roles("time", unit="s"))


def test_partial_matches_are_limited_too() -> None:
    text = "EVENT SEQ(A a, B+ b[], C c) WHERE count(b) > 100 WITHIN 1 h"
    many = rows(("A", 0), *[("B", i) for i in range(1, 40)], ("C", 50))
    out = event_query(text, ROLES, slack="1 h", max_matches=1000).start().push(many)
    assert reasons(out) == [
        "more than 64,000 partial matches to be looked at (64 × max_matches)"]


def test_waiting_matches_are_limited_too() -> None:
    logic = event_query("EVENT SEQ(A a, !(B b)) WITHIN 1 h", ROLES, max_matches=4).start()
    out = logic.push(rows(*[("A", i, i) for i in range(6)]))
    assert out.quarantined["id"].to_pylist() == [4, 5]
    assert all("cannot wait" in r for r in reasons(out))
    assert [m["events"]["a"]["id"] for m in logic.finish().ready.to_pylist()] == [0, 1, 2, 3]


def test_twenty_two_in_a_window() -> None:
    """More than four million subsets: one row is too much, those around it are not lost."""
    text = "EVENT SEQ(A a, B+ b[], C c) WITHIN 30 s"
    logic = event_query(text, ROLES, slack="1 h", max_matches=5000).start()
    out = logic.push(rows(("A", 0), *[("B", i) for i in range(1, 23)], ("C", 25)))
    assert out.quarantined["type"].to_pylist() == ["C"]
    out = logic.push(rows(("A", 100), ("B", 101), ("C", 102)))
    assert out.ready.num_rows == 1
    assert not reasons(out)


def test_state_is_written_as_it_changes_and_dropped_when_outdated() -> None:
    kernel = event_query("EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 5 s", ROLES, slack="2s")
    store = MemoryStore()
    logic = kernel.start(store)
    sizes = []
    for step in range(60):
        logic.push(rows(*[(t, step * 2 + i % 2, i) for i in range(200) for t in "AC"]))
        before = dict(store)
        logic.snapshot()
        sizes.append(sum(map(len, store.values())))
        changed = [name for name in store if before.get(name) != store[name]]
        assert len([c for c in changed if c.startswith("events/")]) <= 2
    assert max(sizes[20:]) < 2 * max(sizes[5:20])
    held = kernel.restore(logic.snapshot(), store).push(rows(("X", 118))).notes["held"]
    assert 0 < held <= 400 * 5


def test_keys_are_forgotten_after_a_restart_without_events() -> None:
    roles = Roles("time", "arrival", type="type", unit="s", key=("id",))
    kernel = event_query(PAIR, roles, slack="1s", forget_after="10s", max_future_skew=0)
    batch = rows(("X", 0, 1))
    logic = kernel.start()
    logic.push(batch.append_column("arrival", batch["time"]))
    for now in (100, 200):
        logic = kernel.restore(logic.snapshot())
        keys = logic.tick((START + now) * SECOND).notes["keys"]
    assert keys == 0


def test_compaction_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = np.random.default_rng(3)
    events = [(str(chance.choice(list("ABC"))), int(i // 3 + chance.integers(0, 3)),
               int(chance.integers(0, 4))) for i in range(400)]
    kernel = event_query("EVENT SEQ(A a, !(B b), C c) WHERE a.id = c.id WITHIN 6 s RETURN a.id",
                         ROLES, slack="5s")

    def everything() -> list[Any]:
        logic = kernel.start()
        outs = [logic.push(rows(*events[i:i + 20])) for i in range(0, 400, 20)]
        return [r for out in [*outs, logic.finish()] for r in out.ready.to_pylist()]

    whole = everything()
    monkeypatch.setattr("slackwater.pattern.logic._LEAST", 0)
    assert everything() == whole
    assert len(whole) > 20


@pytest.mark.parametrize(("change", "what"), [
    ({"emit": "eager"}, "emit"), ({"select": "strict"}, "select"), ({"slack": "KSlack"}, "policy")])
def test_a_snapshot_of_another_configuration_is_refused(change: dict[str, Any], what: str) -> None:
    logic = event_query(ABSENT, ROLES, slack="5s").start()
    logic.push(rows(("A", 0)))
    with pytest.raises(SnapshotError, match=f"{what} has changed"):
        event_query(ABSENT, ROLES, **{"slack": "5s", **change}).restore(logic.snapshot())


def test_columns_may_not_change_while_events_are_held() -> None:
    logic = event_query(ABSENT, ROLES).start()
    logic.push(rows(("A", 0)))
    with pytest.raises(SnapshotError, match="columns have changed"):
        logic.push(rows(("A", 0)).append_column("more", pa.array([1])))


@pytest.mark.parametrize(("options", "message"), [
    ({"emit": "finl"}, "did you mean 'final'"), ({"select": "skip"}, "skip_till_any"),
    ({"slack": "5 secnds"}, "not a unit"), ({"slack": "KSlak"}, "KSlack"),
    ({"max_matches": 0}, "would refuse every match"),
    ({"roles": Roles("time")}, "role 'type'")])
def test_bad_configurations(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        event_query(ABSENT, **{"roles": ROLES, **options})


def test_ids_do_not_depend_on_the_arrival_column() -> None:
    roles = Roles("time", "arrival", type="type", unit="s")
    ids = set()
    for delay in (0, 3):
        batch = rows(("A", 0, 1), ("C", 3, 1))
        batch = batch.append_column("arrival", pa.array([START + delay, START + 3 + delay]))
        out = event_query("EVENT SEQ(A a, C c) WITHIN 9 s", roles, slack="9s").start().push(batch)
        ids.add(out.ready["match_id"].to_pylist()[0])
    assert len(ids) == 1
    assert ids == {"79bcd3dd7d2ae4dda39073cc8ef5fa53"}, "an id must not change between releases"
