"""Queries drawn from the grammar, against the brute-force oracle."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slackwater.core.events import Roles
from slackwater.query.event.query import event_query
from tests.pattern import harness, oracle

SECOND = 1_000_000
SLACK = 6
EMIT = ("final", "eager")
SELECT = ("skip_till_any", "skip_till_next", "strict")


def null_safe(test: Any) -> Any:
    """A comparison with NULL is not true; the last of no elements is NULL."""
    def run(binding: oracle.Binding) -> bool:
        try:
            return bool(test(binding))
        except (TypeError, IndexError):
            return False
    return run


def quantified(draw: Any, part: oracle.Part) -> tuple[str, oracle.Part]:
    """A quantifier, and the part that has it."""
    text, kleene, least, most = draw(st.sampled_from(
        [("?", False, 0, 1), ("*", True, 0, 0), ("+", True, 1, 0), ("{2}", True, 2, 2),
         ("{1,2}", True, 1, 2), ("{2,}", True, 2, 0), ("{,2}", True, 0, 2), ("", False, 1, 1)]))
    greedy = bool(text) and draw(st.booleans())
    return text + ("+" if greedy else draw(st.sampled_from(["", "?"])) if text else ""), replace(
        part, kleene=kleene, least=least, most=most, greedy=greedy)


def unwanted(draw: Any, types: list[str]) -> tuple[str, ...]:
    return draw(st.sampled_from([*((t,) for t in types), ()]))


def total(values: list[Any], mean: bool = False) -> Any:
    known = [v["v"] for v in values if v["v"] is not None]
    return None if not known else sum(known) / len(known) if mean else sum(known)


RUNNING = {
    "sum({b}[..i].v) <= 4": (0, lambda r: total(r) <= 4),
    "{b}[i].v >= avg({b}[..i-1].v)": (1, lambda r: r[-1]["v"] >= total(r[:-1], mean=True)),
    "{b}[i].v >= {b}[i-2].v": (2, lambda r: r[-1]["v"] >= r[-3]["v"]),
    "prev({b}.v, 2) + {b}[i-1].v > 1": (2, lambda r: r[-3]["v"] + r[-2]["v"] > 1),
    "next({b}.v) >= {b}.v": (1, lambda r: r[-1]["v"] >= r[-2]["v"]),
    "next({b}.v, 2) >= 1": (2, lambda r: r[-1]["v"] >= 1),
    "count({b}[..i]) <= 3": (0, lambda r: len(r) <= 3),
    "{b}[i].v <= first({b}[..i].v, 1)": (0, lambda r: r[-1]["v"] <= r[1]["v"]),
    "{b}[i+1].v > last({b}[..i].v, 1)": (1, lambda r: r[-1]["v"] > r[:-1][-2]["v"]
                                         if len(r) > 2 else False),
    "{b}[i].name >= {b}[i-1].name": (1, lambda r: r[-1]["name"] >= r[-2]["name"]),
}


def like(text: str, pattern: str) -> bool:
    return text == pattern  # the names that are drawn have no wildcards


def add_running(draw: Any, where: list[str], query: oracle.Query, b_: str) -> None:
    """One or two conditions on a run so far."""
    for text in draw(st.lists(st.sampled_from(list(RUNNING)), min_size=1, max_size=2,
                              unique=True)):
        back, test = RUNNING[text]
        where.append(text.format(b=b_))
        query.running.append((b_, back, null_safe(lambda b, b_=b_, test=test: test(b[b_]))))


ARROWS = {"=>": "strict", "->": "skip_till_next", "~>": "skip_till_any", "": None}


@st.composite
def queries(draw: Any, counted: bool = False, arrows: bool = False,
            running: bool = False) -> tuple[str, oracle.Query]:
    types = ["A", "B", "C"]
    m = draw(st.sampled_from([2, 3, 1]))
    parts: list[oracle.Part] = []
    names = iter("abcdefgh")
    kleene_left = 1
    marks: dict[str, str] = {}
    for i in range(m):
        for _ in range(draw(st.sampled_from([0, 0, 1]))):
            parts.append(oracle.Part(next(names), unwanted(draw, types), negated=True))
        alternatives = draw(st.sampled_from([(t,) for t in types] + [("A", "B"), ()]))
        kleene = bool(kleene_left) and draw(st.integers(0, 3)) == 0
        kleene_left -= kleene
        part = oracle.Part(next(names), alternatives, kleene)
        marks[part.variable] = "+" if kleene else ""
        if counted:
            marks[part.variable], part = quantified(draw, part)
        if arrows:
            before, inside = (draw(st.sampled_from(list(ARROWS))) for _ in range(2))
            leads = parts and not parts[-1].negated
            part = replace(part, before=ARROWS[before] if leads else None,
                           inside=ARROWS[inside] if part.kleene else None)
        parts.append(part)
        if i == m - 1 and draw(st.sampled_from([False, False, True])):
            parts.append(oracle.Part(next(names), unwanted(draw, types), negated=True))
    window = draw(st.integers(1, 9))
    query = oracle.Query(parts, window * SECOND)
    where: list[str] = []
    if counted and not any(p.least for p in parts if not p.negated):
        parts[:] = [*parts, oracle.Part("z", ("C",))]
        marks["z"] = ""
    plain = [p for p in parts if not p.negated and not p.kleene and p.least]
    maybe = [p for p in parts if not p.negated and not p.kleene and not p.least]
    if maybe and plain and draw(st.booleans()):
        x, y = maybe[0].variable, plain[0].variable
        where.append(f"{x}.v >= {y}.v")
        query.tests.append(({x, y}, null_safe(lambda b, x=x, y=y: b[x]["v"] >= b[y]["v"])))
    runs = [p for p in parts if p.kleene]
    negated = [p for p in parts if p.negated]
    if draw(st.booleans()):
        where.append("[id]")
        query.key = lambda e: e["id"]
    for p in parts:
        if draw(st.integers(0, 4)) == 0:
            x, limit = p.variable, draw(st.integers(0, 2))
            where.append(f"{x}.v >= {limit}")
            test = null_safe(lambda b, x=x, limit=limit: b[x]["v"] >= limit)
            if p.negated:
                query.against.setdefault(x, []).append(test)
            else:
                query.tests.append(({x}, test))
    if len(plain) >= 2 and draw(st.booleans()):
        x, y = plain[0].variable, plain[-1].variable
        kind = draw(st.sampled_from(["less", "sum", "text", "or", "before", "like"]))
        if kind == "less":
            where.append(f"{x}.v < {y}.v")
            query.tests.append(({x, y}, null_safe(lambda b, x=x, y=y: b[x]["v"] < b[y]["v"])))
        elif kind == "sum":
            where.append(f"{x}.v + {y}.w * 2 <= 5")
            query.tests.append(({x, y}, null_safe(
                lambda b, x=x, y=y: b[x]["v"] + b[y]["w"] * 2 <= 5)))
        elif kind == "text":
            where.append(f"{x}.name = {y}.name")
            query.tests.append(({x, y}, lambda b, x=x, y=y: b[x]["name"] is not None
                                and b[x]["name"] == b[y]["name"]))
        elif kind == "before":
            where.append(f"{x}.name < {y}.name")
            query.tests.append(({x, y}, null_safe(
                lambda b, x=x, y=y: b[x]["name"] < b[y]["name"])))
        elif kind == "like":
            where.append(f"{x}.name LIKE {y}.name")
            query.tests.append(({x, y}, null_safe(
                lambda b, x=x, y=y: like(b[x]["name"], b[y]["name"]))))
        else:
            where.append(f"({x}.v > {y}.v OR {y}.name = 'p' OR {x}.w IS NULL)")
            query.tests.append(({x, y}, lambda b, x=x, y=y: (
                b[x]["v"] is not None and b[y]["v"] is not None and b[x]["v"] > b[y]["v"])
                or b[y]["name"] == "p" or b[x]["w"] is None))
    for p in runs:
        b_ = p.variable
        if running:
            add_running(draw, where, query, b_)
            continue
        kind = draw(st.sampled_from(["none", "pair", "count", "each", "last"]))
        if kind == "pair":
            where.append(f"{b_}[i].v >= {b_}[i-1].v")
            query.pairs.append((b_, null_safe(
                lambda b, b_=b_: b[b_]["v"] >= b[b_ + "'"]["v"])))
        elif kind == "count":
            where.append(f"count({b_}) >= 2")
            query.aggregates.append(({b_}, lambda b, b_=b_: len(b[b_]) >= 2))
        elif kind == "each" and plain:
            x = plain[0].variable
            where.append(f"{b_}[i].v >= {x}.v")
            query.tests.append(({b_, x}, null_safe(
                lambda b, b_=b_, x=x: b[b_]["v"] >= b[x]["v"])))
        elif kind == "last" and plain:
            x = plain[-1].variable
            where.append(f"last({b_}.v) <= {x}.v")
            query.aggregates.append(({b_, x}, null_safe(
                lambda b, b_=b_, x=x: b[b_][-1]["v"] <= b[x]["v"])))
    for p in negated:
        if plain and draw(st.integers(0, 2)) == 0:
            n, x = p.variable, plain[0].variable
            where.append(f"{n}.v <= {x}.v")
            query.against.setdefault(n, []).append(
                null_safe(lambda b, n=n, x=x: b[n]["v"] <= b[x]["v"]))
    arrow = {way: text for text, way in ARROWS.items()}
    text = "".join(
        (f" {arrow[p.before]} " if p.before else ", " if i else "")
        + (f"!({'ANY' if not p.types else p.types[0]} {p.variable})" if p.negated else
           (f"ANY({', '.join(p.types)})" if len(p.types) > 1 else "ANY" if not p.types else
            p.types[0])
           + marks[p.variable] + f" {p.variable}" + f"[{arrow[p.inside]}]" * p.kleene)
        for i, p in enumerate(parts))
    clause = f" WHERE {' AND '.join(where)}" if where else ""
    return f"EVENT SEQ({text}){clause} WITHIN {window} s", query


@st.composite
def skipping(draw: Any) -> tuple[str, oracle.Query]:
    """A query with AFTER MATCH SKIP."""
    text, query = draw(queries(counted=draw(st.booleans())))
    named = [p.variable for p in query.parts if not p.negated]
    to = draw(st.sampled_from(["past_last", "next", "first", "last"]))
    variable = draw(st.sampled_from(named)) if to in ("first", "last") else None
    query.skip = (to, variable)
    words = {"past_last": "PAST LAST EVENT", "next": "TO NEXT EVENT",
             "first": f"TO FIRST {variable}", "last": f"TO LAST {variable}"}[to]
    return f"{text} AFTER MATCH SKIP {words}", query


@st.composite
def streams(draw: Any, ties: bool = True) -> list[dict[str, Any]]:
    """Events in arrival order: many ties, some equal events, delays up to the slack.

    Drawn by chance: lists that hypothesis builds are short, and short streams match nothing.
    """
    chance = draw(st.randoms(use_true_random=True))
    span, kinds = chance.choice([6, 14, 25]), chance.choice(["ABC", "AABBC", "ABCX"])
    events = []
    for _ in range(chance.randrange(13)):
        if ties and events and chance.random() < 0.1:
            event = dict(chance.choice(events))
        else:
            event = {"time": 1_700_000_000 + chance.randrange(span), "type": chance.choice(kinds),
                     "id": chance.choice([1, 1, 2]), "v": chance.choice([0, 1, 2, 3, None]),
                     "w": chance.choice([0.0, 0.5, 1.5, None]),
                     "name": chance.choice(["p", "q", None]), "seq": chance.randrange(2)}
        if not ties and event["time"] in {e["time"] for e in events}:
            continue
        event["arrival"] = event["time"] + chance.randrange(SLACK + 1)
        events.append(event)
    return sorted(events, key=lambda e: e["arrival"])


def expected(query: oracle.Query, events: list[dict[str, Any]], select: str,
             numbered: bool) -> Any:
    rows = [{**e, "time": e["time"] * SECOND, "_id": harness.content(e),
             **({} if numbered else {"seq": 0})} for e in events]
    return oracle.matches(query, rows, select)


@pytest.mark.parametrize("select", SELECT)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_query_any_order_any_cut(select: str, data: Any) -> None:
    text, query = data.draw(queries())
    check_any_cut(text, query, data.draw(streams()), select, data.draw(st.booleans()), data)


def check_any_cut(text: str, query: oracle.Query, events: list[dict[str, Any]], select: str,
                  numbered: bool, data: Any) -> None:
    """The matches are those of the oracle, however the input is cut, restarted and ordered."""
    stamped = data.draw(st.booleans())
    roles = Roles("time", type="type", unit="s", sequence="seq" if numbered else None,
                  arrival="arrival" if stamped else None)
    want = expected(query, events, select, numbered)
    cuts = data.draw(st.lists(st.integers(0, 11), max_size=4))
    ids = None
    for emit in EMIT:
        kernel = event_query(text, roles, slack=f"{SLACK}s", emit=emit, select=select)
        whole = harness.run(kernel, events)
        assert whole.late == 0
        assert whole.counts() == want, (emit, "in one batch")
        cut = harness.run(kernel, events, cuts, restarts=data.draw(st.booleans()))
        assert cut.log == whole.log, (emit, "the output depends on the cuts")
        assert ids in (None, set(whole.standing)), "the ids depend on how matches are emitted"
        ids = set(whole.standing)
    in_order = sorted(events, key=lambda e: e["time"])
    again = harness.run(event_query(text, roles, slack="100s", select=select), in_order)
    assert set(again.standing) == ids, "the ids depend on the order of arrival"


@pytest.mark.parametrize("select", SELECT)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_quantifiers(select: str, data: Any) -> None:
    text, query = data.draw(queries(counted=True, arrows=data.draw(st.booleans())))
    check_any_cut(text, query, data.draw(streams()), select, data.draw(st.booleans()), data)


@pytest.mark.parametrize("select", SELECT)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_running_conditions(select: str, data: Any) -> None:
    text, query = data.draw(queries(counted=data.draw(st.booleans()), running=True))
    check_any_cut(text, query, data.draw(streams()), select, data.draw(st.booleans()), data)


@pytest.mark.parametrize("select", SELECT)
@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_after_a_match_skip(select: str, data: Any) -> None:
    text, query = data.draw(skipping())
    check_any_cut(text, query, data.draw(streams(ties=False)), select, False, data)


@pytest.mark.parametrize("switch", ["use_clock", "use_partition", "sort_batches"])
@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(drawn=queries(), events=streams())
def test_optimisations_change_nothing(switch: str, drawn: Any, events: Any) -> None:
    text, query = drawn
    roles = Roles("time", type="type", unit="s")
    want = expected(query, events, "skip_till_any", False)
    for emit in EMIT:
        kernel = event_query(text, roles, slack=f"{SLACK}s", emit=emit, **{switch: False})
        assert harness.run(kernel, events).counts() == want


@pytest.mark.parametrize(("text", "arrivals", "emit", "switch", "slack"), [
    # a negated event outside the interval undoes nothing, also where the window does not prune
    ("EVENT SEQ(A a, !(B b)) WITHIN 3 s", "A0 B8", "eager", "use_partition", "60s"),
    # a negated event is needed until the matches that wait for it have been judged
    ("EVENT SEQ(A a, !(B b), C c) WITHIN 5 s", "A0 C2 B1 B100", "final", "sort_batches", "2s"),
])
def test_a_switch_decides_nothing(text: str, arrivals: str, emit: str, switch: str,
                                  slack: str) -> None:
    events = [{"type": a[0], "time": 1_700_000_000 + int(a[1:])} for a in arrivals.split()]
    roles = Roles("time", type="type", unit="s")
    found = [harness.run(event_query(text, roles, slack=slack, emit=emit, **{switch: value}),
                         events).counts() for value in (True, False)]
    assert found[0] == found[1]
