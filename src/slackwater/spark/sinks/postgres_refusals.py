"""Which rows of a batch a PostgreSQL table refuses: found by halving it, the others are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from slackwater.core.errors import DataError
from slackwater.spark.sinks import MOST_REFUSED

__all__ = ["Span", "insert_good"]

_OF_ROWS = ("22", "23", "P0")
"""Classes of errors that are about values: data, constraints, and what triggers raise."""


class Span(NamedTuple):
    """Staged rows of one task: from one number to before another."""

    attempt: str
    first: int
    end: int


def insert_good(connection: Any, insert: Callable[[list[Span]], None], spans: list[Span],
                text_of: Callable[[Span], str], step: str,
                prepare: Callable[[], None]) -> list[tuple[str, str]]:
    """Insert the rows that the table takes; the others, each with the reason, as JSON.

    A refused statement undoes what it did and nothing else (a savepoint).  Parts are inserted in
    their order, so that of several rows with one key the last still counts.  `prepare` is called
    before the first halving.
    """
    import psycopg

    refused: list[tuple[str, str]] = []
    waiting = [spans]
    while waiting:
        part = waiting.pop()
        try:
            with connection.transaction():
                insert(part)
        except psycopg.Error as error:
            if (error.sqlstate or "")[:2] not in _OF_ROWS:
                raise
            if part is spans:
                prepare()
            if len(part) > 1:
                half = len(part) // 2
                waiting += [part[half:], part[:half]]
                continue
            one = part[0]
            if one.end - one.first > 1:
                middle = (one.first + one.end) // 2
                waiting += [[one._replace(first=middle)], [one._replace(end=middle)]]
                continue
            refused.append((_reason(error), text_of(one)))
            if len(refused) > MOST_REFUSED:
                raise DataError(
                    f"more than {MOST_REFUSED} rows of one micro-batch are refused", step=step,
                    got=refused[0][0],
                    hint="mend the table or the step before it; nothing of this batch is written"
                ) from None
    return refused


def _reason(error: Any) -> str:
    said = [error.diag.message_primary, error.diag.message_detail]
    return ": ".join(" ".join(one.split()) for one in said if one) or type(error).__name__
