"""The transcripts of MATCH_RECOGNIZE, and the kernels that they ask for."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from slackwater.core.events import Roles
from slackwater.query.recognise import RecogniseQuery
from tests import transcripts

CASES = transcripts.load("recognise")


def kernel_of(case: dict[str, Any], schema: pa.Schema = transcripts.SCHEMA,
              slack: str = "100s") -> RecogniseQuery:
    """The kernel of a case; with its long slack rows may come in any order."""
    return RecogniseQuery(case["query"], schema, Roles("time", "arrival", unit="s"), slack=slack)


def check(case: dict[str, Any], results: list[dict[str, Any]]) -> None:
    """Compare results with those of the transcript; partitions leave in any order."""
    found, expected = results, case["results"]
    if "PARTITION BY" in case["query"]:
        found, expected = sorted(map(repr, found)), sorted(map(repr, expected))
    assert found == expected, (found, expected)
