"""The examples of docs/match_recognize.md give what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.query import make_query

PAGE = Path(__file__).parents[3] / "docs" / "match_recognize.md"
PRICES = [10, 8, 6, 9, 11, 11, 7, 12]
EXAMPLES = [found[1] for found in re.finditer(r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL)
            if "\n-- " in found[1]]


def test_there_is_an_example_for_each_clause():
    text = PAGE.read_text()
    assert len(EXAMPLES) >= 8
    for clause in ("PATTERN", "DEFINE", "MEASURES", "AFTER MATCH SKIP", "WITHIN", "ORDER BY"):
        assert f"### {clause}" in text
    assert "| price | " + " | ".join(map(str, PRICES)) + " |" in text


@pytest.mark.parametrize("example", EXAMPLES)
def test_example(example):
    head, *rows = re.findall(r"^-- (.*)$", example, re.MULTILINE)
    query = re.sub(r"^-- .*$", "", example, flags=re.MULTILINE)
    batch = pa.record_batch({"time": list(range(1, 9)), "price": PRICES})
    logic = make_query(query, batch.schema, Roles("time", unit="s"), slack="10s").start()
    shuffled = batch.take(pa.array([2, 0, 1, 5, 3, 4, 7, 6]))
    found = [*logic.push(shuffled).ready.to_pylist(), *logic.finish().ready.to_pylist()]
    names = head.split(" | ")
    shown = [" | ".join("NULL" if row[n] is None else str(row[n]) for n in names) for row in found]
    assert (list(found[0]), shown) == (names, rows)
