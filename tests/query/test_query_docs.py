"""The documents' queries are queries, and what they are said to give is what they give."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pytest

import slackwater
from manual.language_tables import PAGE, written
from slackwater.query import explain
from tests.query.doc_examples import Example, examples, run, shown

DOCS = Path(__file__).parents[2] / "docs"
QUERIES = (DOCS / "queries.md").read_text()
CELLS = re.findall(r"`((?:EVENT|SELECT) [^`]+)`", (DOCS / "coming_from_cep.md").read_text())
BLOCKS = re.findall(r"```sql\n(.*?)```", QUERIES, re.DOTALL)
EXAMPLES = list(examples(QUERIES))
VALUES = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|[^|\n]*\|$",
                    QUERIES[QUERIES.index("| expression | value |"):], re.MULTILINE)


@pytest.mark.parametrize("text", [*CELLS, *BLOCKS])
def test_a_query_of_the_documents_has_a_plan(text):
    assert explain(text.replace("\\|", "|"))


def test_there_are_some():
    assert len(CELLS) >= 20
    assert len(BLOCKS) >= 3
    assert len(EXAMPLES) >= 20
    assert len(VALUES) >= 25


@pytest.mark.parametrize("example", EXAMPLES, ids=[e.text for e in EXAMPLES])
def test_an_example_gives_what_the_page_says(example: Example):
    assert run(example) == example.gives
    if example.slack is None:
        assert run(example, backwards=True) == example.gives


@pytest.mark.parametrize(("expression", "value"), VALUES)
def test_an_expression_has_the_value_that_the_page_says(expression, value):
    rows = pa.table({"time": pa.array([0], pa.timestamp("us", "UTC")),
                     "x": pa.array([None], pa.int64()), "nan": [float("nan")]})
    expression = expression.replace("\\|", "|")
    found = slackwater.query(rows, f"SELECT {expression} AS v FROM s", slack="0s")
    assert shown(found.ready["v"].to_pylist()[0]) == value


def test_tables_are_those_of_the_code():
    assert written(QUERIES) == QUERIES, f"run python -m manual.language_tables to write {PAGE.name}"


def test_the_plan_in_the_document_is_the_plan():
    said = re.search(r'"(EXPLAIN SELECT.*?)" --slack 2s\n(.*?)```', QUERIES,
                     re.DOTALL)
    assert said is not None
    assert explain(said[1], slack="2s") + "\n" == said[2]
