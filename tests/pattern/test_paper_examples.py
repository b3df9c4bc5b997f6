"""The streams and examples of Li et al., Event Stream Processing with Out-of-Order Data Arrival."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query.event.query import event_query

ROLES = Roles("time", type="type", unit="s")
START = 1_700_000_000
STREAM = ["a3", "c5", "b6", "a7", "d10", "b11", "c13", "d15", "f16"]


def rows(names: list[str]) -> pa.RecordBatch:
    """a3 is an event of type A at time 3."""
    return pa.record_batch({"type": [n[0].upper() for n in names],
                            "time": [START + int(n[1:]) for n in names]})


def found(text: str, names: list[str], slack: str, **options: Any) -> list[str]:
    """Matches as words, in the order in which they are told."""
    logic = event_query(text, ROLES, slack=slack, **options).start()
    out = []
    for name in names:
        out += _words(logic.push(rows([name])))
    return out + _words(logic.finish())


def _words(out: Any) -> list[str]:
    return [("" if r["op"] == "+" else "-") + " ".join(
        f"{e['type'].lower()}{e['time'] - START}" for e in r["events"].values())
        for r in out.ready.to_pylist()]


def abd(window: int) -> str:
    return f"EVENT SEQ(A a, B b, D d) WITHIN {window} seconds"


def test_figure_2_four_sequences_of_which_the_window_leaves_two() -> None:
    assert found(abd(100), STREAM, "0s") == ["a3 b6 d10", "a3 b6 d15", "a3 b11 d15", "a7 b11 d15"]
    assert found(abd(10), STREAM, "0s") == ["a3 b6 d10", "a7 b11 d15"]


def test_example_2_an_event_that_came_before_its_predecessor_is_not_lost() -> None:
    late = ["b1", *STREAM, "f17", "a0", "d2"]
    assert "a0 b1 d2" in found(abd(10), late, "20s")
    assert sorted(found(abd(10), late, "20s")) == sorted(
        found(abd(10), sorted(late, key=lambda n: int(n[1:])), "0s"))


def test_examples_3_and_5_a_late_event_takes_its_place_in_the_stack() -> None:
    told = found(abd(100), [*STREAM, "f17", "b8", "d2"], "20s")
    assert told[4:] == ["a3 b8 d10", "a3 b8 d15", "a7 b8 d10", "a7 b8 d15"]
    assert not [t for t in told if t.endswith("d2")], "nothing precedes d2"


def test_example_4_events_are_kept_for_the_slack() -> None:
    assert "a3 b8 d10" in found(abd(10), [*STREAM, "f17", "b8"], "10s")


def test_figure_3_an_event_later_than_the_slack_is_late() -> None:
    kernel = event_query("EVENT SEQ(A a, C c, D d) WITHIN 100 seconds", ROLES, slack="5s")
    logic = kernel.start()
    out = logic.push(rows([n for n in STREAM if n != "c5"] + ["c9"]))
    assert out.late["type"].to_pylist() == ["C"]
    assert out.late["_reason"].to_pylist() == ["came 2000 ms behind the watermark"]


def test_example_6_purge_waits_for_window_and_slack() -> None:
    """W = 7, K = 2: a3 goes when c13 comes, b6 with f16, d10 with f21 (3 + 7 + 2 < 13 …)."""
    logic = event_query(abd(7), ROLES, slack="2s").start()
    held = {n: logic.push(rows([n])).notes["held"] for n in [*STREAM, "f21"]}
    # of a3, b6, a7, d10, b11, d15 (c and f are of no type in the query)
    assert [held[n] for n in ("a3", "b6", "a7", "d10", "b11")] == [1, 2, 3, 4, 5]
    assert held["c13"] == 4, "without a3"
    assert held["d15"] == 5
    assert held["f16"] == 4, "without b6"
    assert held["f21"] == 1, "a7, d10 and b11 went, d15 is left"


@pytest.mark.parametrize("partition", [True, False])
def test_divider_keeps_outdated_sequences_from_being_built(partition: bool) -> None:
    """With K = 10, W = 7: at d15 only a7 b11 d15 is built, without the divider three."""
    logic = event_query(abd(7), ROLES, slack="10s", use_partition=partition,
                        sort_batches=False).start()
    for name in STREAM[:-2]:
        before = logic.push(rows([name])).notes["built"]
    out = logic.push(rows(["d15"]))
    assert _words(out) == []  # a7 to d15 is 8 seconds
    assert out.notes["built"] - before == (0 if partition else 3)


@pytest.mark.parametrize("emit", ["final", "eager"])
def test_bookstore(emit: str) -> None:
    text = """EVENT SEQ(SHELF s, !(CHECKOUT c), EXIT e)
              WHERE s.id = c.id AND c.id = e.id AND e.value > 2 * s.value
              WITHIN 1 hour
              RETURN s.id, s.time AS taken, e.time AS left"""
    kernel = event_query(text, ROLES, slack="10 minutes", emit=emit)
    logic = kernel.start()
    books = pa.record_batch({
        "type": ["SHELF", "SHELF", "SHELF", "EXIT", "EXIT", "EXIT", "CHECKOUT", "EXIT"],
        "time": [START + 60 * t for t in (0, 1, 2, 20, 21, 22, 15, 90)],
        "id": [1, 2, 3, 1, 2, 3, 2, 3],
        "value": [1.0, 1.0, 5.0, 3.0, 3.0, 9.0, 0.0, 50.0]})
    told = [*logic.push(books).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    stolen = {"op": "+", "id": 1, "taken": START, "left": START + 1200}
    paid = {"op": "+", "id": 2, "taken": START + 60, "left": START + 1260}
    rest = [{k: r[k] for k in ("op", "id", "taken", "left")} for r in told]
    if emit == "final":
        assert rest == [stolen]
    else:
        assert rest == [stolen, paid, {**paid, "op": "-"}], "the check-out was late"
        assert told[1]["match_id"] == told[2]["match_id"]
