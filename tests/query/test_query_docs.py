"""The queries in the documents are queries."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from slackwater.query import explain

DOCS = Path(__file__).parents[2] / "docs"
QUERIES = (DOCS / "queries.md").read_text()
CELLS = re.findall(r"`((?:EVENT|SELECT) [^`]+)`", (DOCS / "coming_from_cep.md").read_text())
BLOCKS = re.findall(r"```sql\n(.*?)```", QUERIES, re.DOTALL)


@pytest.mark.parametrize("text", [*CELLS, *BLOCKS])
def test_a_query_of_the_documents_has_a_plan(text):
    assert explain(text.replace("\\|", "|"))


def test_there_are_some():
    assert len(CELLS) >= 20
    assert len(BLOCKS) >= 3


def test_the_plan_in_the_document_is_the_plan():
    said = re.search(r'"(EXPLAIN SELECT.*?)" --slack 2s\n(.*?)```', QUERIES,
                     re.DOTALL)
    assert said is not None
    assert explain(said[1], slack="2s") + "\n" == said[2]
