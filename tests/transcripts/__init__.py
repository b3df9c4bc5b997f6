"""Reading and replaying transcripts (see the README here)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from slackwater.core.events import Roles
from slackwater.core.kernel import MemoryStore, Out
from slackwater.query import SelectQuery
from slackwater.reorder import Reorder
from slackwater.synchronise import FrontierSync

STAGES = ("reorder", "synchronise", "window")
START = 1_700_000_040  # a whole minute, so that windows begin where a transcript says
SCHEMA = pa.schema([("label", pa.string()), ("time", pa.int64()), ("arrival", pa.int64()),
                    ("key", pa.string()), ("source", pa.string()), ("v", pa.int64())])
_WORDS = {"none": None}


def load(stage: str) -> list[Any]:
    """The cases of a stage, as parameters of a test."""
    return [pytest.param(case, id=f"{path.stem}: {case['name']}")
            for path in sorted((Path(__file__).parent / stage).glob("*.yaml"))
            for case in yaml.safe_load(path.read_text())]


def kernel_of(stage: str, case: dict[str, Any], schema: pa.Schema = SCHEMA) -> Any:
    """The kernel that a case configures."""
    given = {name: _WORDS.get(value, value) if isinstance(value, str) else value
             for name, value in case.items()}
    limits = {n: given[n] for n in ("max_delay", "max_future_skew", "max_failures") if n in given}
    roles = Roles("time", given.get("arrival", "arrival"), source="source",
                  key=tuple(case.get("by", ())), unit="s")
    if stage == "reorder":
        return Reorder(case["policy"], roles, **limits)
    if stage == "synchronise":
        sources = tuple(case["sources"]) if "sources" in case else None
        return FrontierSync(roles, sources, **{"max_delay": "100s", **limits})
    return SelectQuery(case["query"], schema, Roles("time", "arrival", unit="s"),
                       slack=case.get("slack", "0s"), **limits)


def row_of(line: str) -> dict[str, Any]:
    """``label time@arrival column=value …`` as a row."""
    label, times, *rest = line.split()
    time, arrival = (None if t == "-" else START + int(t) for t in times.split("@"))
    row = {"label": label, "time": time, "arrival": arrival}
    for pair in rest:
        column, value = pair.split("=")
        row[column] = int(value) if column == "v" else value
    return row


def rows_of(case: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """All rows of a case, by label."""
    rows = [row_of(step) for step in case["steps"] if not step.startswith("tick ")]
    return {row["label"]: row for row in rows}


def ticks(case: dict[str, Any]) -> bool:
    """Whether time passes without a row."""
    return any(step.startswith("tick ") for step in case["steps"])


def batch(rows: list[dict[str, Any]], schema: pa.Schema = SCHEMA) -> pa.RecordBatch:
    """Rows as a batch; a column that is not given is null."""
    return pa.RecordBatch.from_pylist([{f.name: row.get(f.name) for f in schema} for row in rows],
                                      schema)


def whole(case: dict[str, Any]) -> list[Any]:
    """The steps with as many rows in a batch as come between two ticks."""
    steps: list[Any] = []
    for step in one_by_one(case):
        if isinstance(step, list) and steps and isinstance(steps[-1], list):
            steps[-1] = steps[-1] + step
        else:
            steps.append(step)
    return steps


def one_by_one(case: dict[str, Any]) -> list[Any]:
    """The steps, one row a batch; a tick is its moment."""
    return [START + int(step.split()[1]) if step.startswith("tick ") else [row_of(step)]
            for step in case["steps"]]


def shuffles(case: dict[str, Any], count: int = 5) -> Iterator[list[Any]]:
    """The rows in other orders that the case allows, with the same moments of arrival."""
    rows = [row for step in one_by_one(case) for row in step]
    arrivals = [row["arrival"] for row in rows]
    chance = random.Random(case["name"])
    for _ in range(count):
        if case["any_order"] == "rows":
            order = chance.sample(rows, len(rows))
        else:  # a source's rows in their order, at the places that fall to the source
            own = {row["source"]: iter([r for r in rows if r["source"] == row["source"]])
                   for row in rows}
            order = [next(own[row["source"]]) for row in chance.sample(rows, len(rows))]
        yield [[{**row, "arrival": at}] for row, at in zip(order, arrivals, strict=True)]


@dataclass
class Outcome:
    """What came out: ready rows or results in order, how many before the end, and the rest."""

    ready: list[Any] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    quarantined: list[str] = field(default_factory=list)
    before_end: int = 0

    def add(self, out: Out) -> None:
        self.ready += out.ready.to_pylist()
        self.late += out.late.column("label").to_pylist() if out.late.num_columns else []
        self.quarantined += (out.quarantined.column("label").to_pylist()
                             if out.quarantined.num_columns else [])


def replay(kernel: Any, steps: list[Any], restarts: str = "none") -> Outcome:
    """Take the steps; `restarts` after each: none, whole (the snapshot holds all) or store."""
    store = MemoryStore() if restarts == "store" else None
    logic, found = kernel.start(store), Outcome()
    for step in steps:
        found.add(logic.push(batch(step)) if isinstance(step, list)
                  else logic.tick(step * 1_000_000))
        if restarts != "none":
            logic = kernel.restore(logic.snapshot(), store)
    found.before_end = len(found.ready)
    found.add(logic.finish())
    return found


def seconds(value: Any) -> Any:
    """A moment as seconds from the origin; anything else as it is."""
    if isinstance(value, datetime):
        return int(value.astimezone(UTC).timestamp()) - START
    return value


def per_key(case: dict[str, Any], labels: list[str]) -> dict[Any, list[str]]:
    """Ready rows (``label@now`` or ``label``) by key, in order; without keys all under one."""
    rows, found = rows_of(case), {}
    for entry in labels:
        key = rows[entry.split("@")[0]].get("key") if "by" in case else None
        found.setdefault(key, []).append(entry)
    return found


def check(stage: str, case: dict[str, Any], found: Outcome, *, when: bool = True) -> None:
    """Compare what came out with the transcript; `when`: also when it left."""
    assert (sorted(found.late), sorted(found.quarantined)) == (
        sorted(case.get("late", [])), sorted(case.get("quarantined", [])))
    if stage == "window":
        got = [{name: seconds(value) for name, value in row.items()} for row in found.ready]
        want = case["results"]
        assert got == want if "GROUP BY" not in case["query"] else (
            sorted(map(repr, got)) == sorted(map(repr, want)))
    else:
        got = [f"{row['label']}@{seconds(row['_released'])}" for row in found.ready]
        want = case["ready"]
        if not when:
            got, want = ([entry.split("@")[0] for entry in some] for some in (got, want))
        assert per_key(case, got) == per_key(case, want)
    if when and "before_end" in case:
        assert found.before_end == case["before_end"]
