"""What Spark has observed on a query's way, as plain dictionaries."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

__all__ = ["by_step", "observed", "operators_told", "with_numbers"]

_OPERATOR = "slackwater."
_serial = itertools.count()


def observed(report: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The aggregates of a progress report, by the names under which they are observed."""
    for name, row in report["observedMetrics"].items():
        yield name, _named(row if isinstance(row, dict) else row.asDict(recursive=True))


def _named(value: Any, kind: Any = None) -> Any:
    """A row as a dictionary; Spark Connect hands out its values and its schema apart."""
    if isinstance(value, dict) and value.keys() == {"values", "schema"}:
        return _named(value["values"], value["schema"])
    if isinstance(value, list) and isinstance(kind, dict):
        if kind.get("type") == "struct":
            return {field["name"]: _named(one, field["type"])
                    for field, one in zip(kind["fields"], value, strict=True)}
        return [_named(one, kind.get("elementType")) for one in value]
    return value


def with_numbers(df: DataFrame, name: str | None, bound: float | None = None) -> DataFrame:
    """What groups of steps give, with the numbers about their steps observed.

    Parameters
    ----------
    df
        From `slackwater.spark.runner.carry.run_groups`.
    name
        The name to observe them under; None: one of its own, for an operator of a query of which we
        know nothing else.
    bound
        The share of late rows that the operator promises to stay under.
    """
    said = F.when(F.col("stats").isNotNull(), F.struct("stream", "stats"))
    told = [F.collect_list(said).alias("told")]
    if name is None:
        # unique, for two operators may be in one query
        name = f"{_OPERATOR}{next(_serial)}"
        told.append(F.max(F.lit(bound).cast("double")).alias("bound"))
    return df.observe(name, *told)


def operators_told(report: Any) -> Iterator[tuple[dict[str, list[dict[str, Any]]], float | None]]:
    """The numbers of each operator of a query: of every step by shard, and the promised share."""
    for name, row in observed(report):
        if name.startswith(_OPERATOR):
            yield by_step(row), row.get("bound")


def by_step(row: dict[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """What was observed of steps, by step."""
    found: dict[str, list[dict[str, Any]]] = {}
    for one in row["told"] or ():
        found.setdefault(one["stream"], []).append(json.loads(one["stats"]))
    return found
