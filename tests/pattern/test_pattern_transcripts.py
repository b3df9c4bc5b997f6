"""The transcripts in tests/transcripts/pattern, at kernel level (their README tells the format)."""

from __future__ import annotations

import random
from typing import Any

import pytest

from slackwater.core.events import Roles
from slackwater.pattern import EMIT
from slackwater.query.event.query import event_query
from tests import transcripts
from tests.pattern import harness

START = 1_700_000_000


def load() -> list[Any]:
    return transcripts.load("pattern")


def events_of(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {}
    for line in case["events"]:
        label, kind, time, *rest = line.split()
        event: dict[str, Any] = {"type": kind, "time": START + int(time)}
        for pair in rest:
            column, value = pair.split("=")
            event[column] = (value if column == "name" else
                             float(value) if column == "w" else int(value))
        found[label] = event
    return found


def kernel_of(case: dict[str, Any], emit: str) -> Any:
    roles = Roles("time", type="type", unit="s", sequence="seq" if case.get("numbered") else None)
    return event_query(case["query"], roles, slack=case.get("slack", "1 hour"), emit=emit,
                       select=case.get("select"))


def chain_of(match: str, events: dict[str, dict[str, Any]]) -> Any:
    return tuple((variable, tuple(harness.content(events[label]) for label in labels.split(",")
                                  if label))
                 for variable, labels in (part.split("=") for part in match.split()))


def test_there_are_enough_cases() -> None:
    assert len(load()) >= 60


@pytest.mark.parametrize("emit", EMIT)
@pytest.mark.parametrize("case", [p for p in load() if "matches" in p.values[0]])
def test_matches_in_any_order(case: dict[str, Any], emit: str) -> None:
    events = events_of(case)
    want = sorted(chain_of(m, events) for m in case["matches"])
    late = sorted(chain_of(m, events) for m in case.get("timed_out", []))
    ordered = sorted(events.values(), key=lambda e: e["time"])
    chance = random.Random(case["name"])
    orders = [ordered, ordered[::-1], *(chance.sample(ordered, len(ordered)) for _ in range(3))]
    ids, kernel = set(), kernel_of(case, emit)
    for i, order in enumerate(orders):
        one_by_one = list(range(len(order))) if i % 2 else []
        tally = harness.run(kernel, order, one_by_one, restarts=i == 3)
        assert sorted(tally.standing.values(), key=repr) == sorted(want, key=repr), order
        assert sorted(tally.timed_out.values(), key=repr) == sorted(late, key=repr), order
        ids.add(frozenset(tally.standing))
    assert len(ids) == 1, "ids depend on the order of arrival"


@pytest.mark.parametrize("case", [p for p in load() if "returns" in p.values[0]])
def test_return(case: dict[str, Any]) -> None:
    logic = kernel_of(case, "final").start()
    out = logic.push(harness.batch(list(events_of(case).values())))
    rows = [*out.ready.to_pylist(), *logic.finish().ready.to_pylist()]
    assert [{k: v for k, v in r.items() if k not in ("match_id", "op", "events")}
            for r in rows] == case["returns"]


@pytest.mark.parametrize("emit", EMIT)
@pytest.mark.parametrize("case", [p for p in load() if "told" in p.values[0]])
def test_told_in_this_order(case: dict[str, Any], emit: str) -> None:
    events = events_of(case)
    label = {harness.content({f.name: e.get(f.name) for f in harness.SCHEMA}): name
             for name, e in events.items()}
    logic, told = kernel_of(case, emit).start(), []

    def tell(out: Any) -> None:
        for row in out.ready.to_pylist():
            chain = harness.chain(row["events"])
            told.append(f"{row['op']} " + " ".join(
                f"{v}={','.join(label[c] for c in run)}" for v, run in chain))
        told.extend(f"late {label[harness.content(r)]}" for r in out.late.to_pylist())

    for arrivals in case["arrivals"]:
        tell(logic.push(harness.batch([events[name] for name in arrivals])))
    told.append("end")
    tell(logic.finish())
    assert told == case["told"][emit]
