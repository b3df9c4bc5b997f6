"""EVENT queries: the planner, EXPLAIN, and the messages for mistakes."""

from __future__ import annotations

import pickle

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query.errors import QueryError
from slackwater.query.event.explain import explain_event
from slackwater.query.event.query import EventPattern, event_query

ROLES = Roles("ts", type="kind")
SCHEMA = pa.schema([("ts", pa.timestamp("us", "UTC")), ("kind", pa.string()), ("id", pa.int64()),
                    ("value", pa.float64()), ("room", pa.string())])


def plan(text: str) -> EventPattern:
    return EventPattern(text)


@pytest.mark.parametrize(("where", "partition"), [
    ("[id]", ("id",)),
    ("[id, room]", ("id", "room")),
    ("a.id = b.id AND b.id = c.id", ("id",)),
    ("c.id = b.id AND c.id = a.id", ("id",)),
    ("a.id = b.id", ()),
    ("a.id = b.value AND b.value = c.id AND a.id = b.id", ("id",)),
    ("a.id = b.id OR b.id = c.id", ()),
    ("a.id = b.id AND b.room = c.room", ()),
])
def test_partition_key(where: str, partition: tuple[str, ...]) -> None:
    assert plan(f"EVENT SEQ(A a, !(B b), C c) WHERE {where} WITHIN 1 s").partition == partition


def test_transitive_equality_is_checked_in_the_match() -> None:
    found = plan("EVENT SEQ(A a, !(B b), C c) WHERE a.id = b.value AND b.value = c.id WITHIN 1 s")
    assert [len(found.plan.within_match), len(found.plan.against["b"])] == [1, 1]


def test_what_goes_to_the_scan() -> None:
    found = plan("""EVENT SEQ(A a, B+ b[], C c) WHERE a.value > 1 AND b[i].value > 2
                    AND b.room = 'x' AND c.value > a.value AND count(b) > 1
                    AND b[i].value > b[i-1].value
                    WITHIN 1 s""").plan
    assert {v: len(e) for v, e in found.scan.items()} == {"a": 1, "b": 2}
    assert len(found.within_match) == 3


def test_pattern_travels_and_compares() -> None:
    text = "EVENT SEQ(A a, !(B b), C c) WHERE [id] WITHIN 1 s RETURN a.id"
    kernel = event_query(text, ROLES, slack="1s")
    assert pickle.loads(pickle.dumps(kernel)) == kernel


def test_explain_says_what_is_checked_where() -> None:
    told = explain_event("""EXPLAIN EVENT SEQ(!(N n), A a, B+ b[], !(X x))
        WHERE a.value < b[i].value AND sum(b.value) > 3 AND n.value > a.value AND a.room = 'hall'
        WITHIN 90 s RETURN a.id AS who""")
    for line in ("partition  none", "a: A, a.room = 'hall'", "b: B", "window of 1.5m",
                 "a.value < b[i].value, when a and b are bound",
                 "sum(b.value) > 3, for the elements of b",
                 "no n in the 1.5m before b, before a, with n.value > a.value",
                 "no x after b, in the 1.5m after a", "watermark past a + WITHIN",
                 "return     a.id AS who"):
        assert line in told, told


MISTAKES = {
    "EVENT SEQ(A a, B b)": ("needs a window", "add WITHIN 1 hour"),
    "EVENT SEQ() WITHIN 1 s": ("SEQ needs at least one component", "SHELF"),
    "EVENT WITHIN 1 s": ("EVENT needs a pattern", "SEQ"),
    "EVENT SEQ(A a, B+ b) WITHIN 1 s": ("written with brackets", "B+ b[]"),
    "EVENT SEQ(A a, B b[]) WITHIN 1 s": ("brackets and plus belong together", "B+ b[]"),
    "EVENT SEQ(A a, B+ b[i]) WITHIN 1 s": ("brackets of a Kleene variable are empty", "B+ b[]"),
    "EVENT SEQ(A a, !(B b[])) WITHIN 1 s": ("plus belong together", "B+ b[]"),
    "EVENT SEQ(A a, !()) WITHIN 1 s": ("a negation is written", "!(CHECKOUT c)"),
    "EVENT SEQ(!(A a)) WITHIN 1 s": ("needs a component that is not negated", "SEQ"),
    "EVENT SEQ(A a, B a) WITHIN 1 s": ("'a' is used twice", "variable of its own"),
    "EVENT SEQ(A a) WITHIN 5": ("needs a unit of time", "WITHIN 5 seconds"),
    "EVENT SEQ(A a) WITHIN 5 secnds": ("'secnds' is not a unit", "did you mean"),
    "EVENT SEQ(A a) WITHIN 1 s WHERE a.id = 1":
        ("order WHERE, WITHIN, AFTER MATCH SKIP, STRATEGY", None),
    "EVENT SEQ(A a) WHERE id = 1 WITHIN 1 s": ("'id' has no variable", "write a.id"),
    "EVENT SEQ(A abc) WHERE abd.id = 1 WITHIN 1 s": ("no variable 'abd'", "did you mean 'abc'"),
    "EVENT SEQ(A a) WHERE a[i].id = 1 WITHIN 1 s": ("has no elements", "write a.id"),
    "EVENT SEQ(A a, B+ b[]) WHERE b[2].id = 1 WITHIN 1 s": ("not [2]", None),
    "EVENT SEQ(A a) WHERE sum(a.value) > 1 WITHIN 1 s": ("needs a Kleene variable", "A+ a[]"),
    "EVENT SEQ(A+ a[]) WHERE sum(a) > 1 WITHIN 1 s": ("needs a column", "sum(a.value)"),
    "EVENT SEQ(A+ a[]) WHERE count() > 1 WITHIN 1 s": ("takes one Kleene variable", "count(b)"),
    "EVENT SEQ(A a, !(B b), !(C c), D d) WHERE b.id = c.id WITHIN 1 s":
        ("names two negated components", "not negated"),
    "EVENT SEQ(A a, !(B b), !(C c), D d) WHERE b.id > c.id WITHIN 1 s":
        ("names two negated components", "not negated"),
    "EVENT SEQ(A+ a[], B+ b[]) WHERE a[i].id > b[i].id WITHIN 1 s":
        ("elements of two Kleene variables", "first(b."),
    "EVENT SEQ(A a, !(B b)) WITHIN 1 s RETURN b.id": ("'b' is negated", None),
    "EVENT SEQ(A a) WITHIN 1 s RETURN a.id, a.id": ("the name 'id' is taken", "AS"),
    "EVENT SEQ(A a) WITHIN 1 s RETURN a.id AS op": ("the name 'op' is taken", "AS"),
    "EVENT SEQ(A a) WHERE a.valeu > 1 WITHIN 1 s": ("no column 'valeu'", "did you mean 'value'"),
    "EVENT SEQ(A a, B b) WHERE [idd] WITHIN 1 s": ("no column 'idd'", "did you mean 'id'"),
    "EVENT SEQ(A a, B b) WHERE a.id OR [id] WITHIN 1 s": ("only be joined by AND", None),
    "EVENT SEQ(A a, B b) WHERE a.room = b.id WITHIN 1 s": ("cannot be compared", "quotes"),
    "EVENT SEQ(A a, B b) WHERE concat(a.room, b.room) = 'x' WITHIN 1 s":
        ("concat cannot be computed from several events", "abs"),
    "EVENT SEQ(A a, B b) WHERE CAST(a.id + b.id AS TEXT) = '3' WITHIN 1 s":
        ("CAST to text cannot be computed from several events", "cast the values of each event"),
    "EVENT SEQ(A+ a[]) WHERE sum(a.room) > 1 WITHIN 1 s": ("sum works on numbers", None),
    "EVENT SEQ(A a, B+ b[]) WITHIN 1 s RETURN b.id + a.id": ("cannot be combined", "aggregate"),
    "EVENT SEQ(A a, B b WITHIN 1 s": ("ends too early", "never closed"),
    "EVENT SEQ(A a, (B b, C c) UNTIL D d) WITHIN 1 s": ("UNTIL ends what is repeated",
                                                        "B+ b[] UNTIL C c"),
    "EVENT SEQ(A a, (B b, C c)+ WITHIN 1 s) WITHIN 9 s": ("limit belongs to one component", None),
    "EVENT SEQ(A a, B b WITHIN 1 s OF x) WITHIN 9 s": ("no variable 'x' in a match", None),
    "EVENT SEQ(A+ a[], B b WITHIN 1 s OF a) WITHIN 9 s": ("stands for many events", None),
    "EVENT SEQ((!(A a))+, B b) WITHIN 9 s": ("group needs an event", "(A a, !(B b))+"),
    "EVENT AND(A a, B? b) WITHIN 9 s": ("AND needs what must occur", None),
    "EVENT SEQ(A a, !(B? b), C c) WITHIN 9 s": ("needs an event that must not occur", "!(B+ b[])"),
    "EVENT SEQ((A a, B b)+, C+ c[]) WHERE a.id = c.id AND a.value > c.value WITHIN 9 s": (
        "elements of two Kleene variables", None),
    "EVENT SEQ(A a, B+ b[]) WHERE b[..i].value > 3 WITHIN 9 s": ("only an aggregate takes them",
                                                                 "sum(b[..i].value)"),
    "EVENT SEQ(A a, B+ b[]) WHERE prev(b.value, x) > 3 WITHIN 9 s": ("a number of steps", None),
    "EVENT SEQ(A a, B+ b[]) WHERE prev(a.value) > 3 WITHIN 9 s": ("one event and has no elements",
                                                                  None),
    "EVENT SEQ(A a, B+ b[]) WHERE last(b.value, 0.5) > 3 WITHIN 9 s": ("a number of elements",
                                                                       None),
    "EVENT SEQ(A a, B b) WITHIN 9 s STRATEGY skip_till_nxt": ("is not known", "skip_till_next"),
    "EVENT SEQ(A a, B b) WITHIN 9 s RETURN x.*": ("no variable 'x'", None),
    "EVENT SEQ(A a, !(B b), C c) WITHIN 9 s RETURN b.*": ("negated", None),
    "EVENT SEQ(A a => !(B b)) WITHIN 1 s": ("not to a negation", "A a, !(N n) => B b"),
    "EVENT SEQ(A a, B b[=>]) WITHIN 1 s": ("brackets and plus belong together", "B+ b[]"),
    "EVENT SEQ(A a, B{} b[]) WITHIN 1 s": ("{} is no number of events", "{2,4}"),
    "EVENT SEQ(A a, B{3,2} b[]) WITHIN 1 s": ("{3,2} is no number of events", "{2,4}"),
    "EVENT SEQ(A a, B{0} b[]) WITHIN 1 s": ("{0} is no number of events", "{2,4}"),
    "EVENT SEQ(A a, B{9999} b[]) WITHIN 1 s": ("no number of events", "at most 1000"),
    "EVENT SEQ(A a, B? b[]) WITHIN 1 s": ("one event at most, and has no elements", "B? b"),
    "EVENT SEQ(A a, B{2} b) WITHIN 1 s": ("written with brackets", "B{2} b[]"),
    "EVENT SEQ(A a) WITHIN 1 s AFTER MATCH SKIP TO a": ("needs to know where to", "TO NEXT EVENT"),
    "EVENT SEQ(A abc) WITHIN 1 s AFTER MATCH SKIP TO FIRST abd":
        ("no variable 'abd'", "did you mean 'abc'"),
    "EVENT SEQ(A a, !(B b)) WITHIN 1 s AFTER MATCH SKIP TO LAST b": ("'b' is negated", None),
}


@pytest.mark.parametrize("text", MISTAKES)
def test_mistakes_are_drawn_and_named(text: str) -> None:
    problem, hint = MISTAKES[text]
    with pytest.raises(QueryError) as raised:
        event_query(text, ROLES).pattern.bind(SCHEMA, ROLES)
    message = str(raised.value)
    assert problem in message
    assert "^" in message, "the place is drawn"
    assert hint is None or hint in message, message
