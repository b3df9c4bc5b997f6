"""Words of SQL that these queries do not have, and what to write instead."""

from __future__ import annotations

import re

from slackwater.query.errors import QueryError
from slackwater.query.expr.tree import Span

__all__ = ["FOREIGN", "foreign_word"]

FOREIGN = {
    "SELECT DISTINCT": ("rows are not compared with each other here",
                        "count different values: COUNT(DISTINCT x); or drop repeated rows with a "
                        "dedupe step"),
    "ORDER BY": ("results come in the order of time", "leave ORDER BY out"),
    "LIMIT": ("a stream goes on: there is no LIMIT", "leave it out, and take the first results"),
    "OFFSET": ("a stream goes on: there is no OFFSET", "leave it out"),
    "JOIN": ("streams are joined by a comma and a condition on their times",
             "FROM A a, B b WHERE |@a - @b| <= 5 seconds AND a.room = b.room"),
    "UNION": ("a query reads its streams as they are", "put the files into one folder, or both "
              "topics into one source"),
    "OVER": ("a window belongs to the stream, and not to an aggregate",
             "SELECT AVG(x) FROM s [RANGE 1 minute]: one result for each row"),
    "FILTER": ("an aggregate takes all rows of its window",
               "SUM(CASE WHEN ok THEN x END), or WHERE ok"),
}
"""What is said of each: why it is not there, and the hint."""

_BEFORE = {"JOIN": r"(?:(?:LEFT|RIGHT|FULL|INNER|OUTER|CROSS)\s+)*"}
_WORDS = {name: re.compile(rf"\b{_BEFORE.get(name, '')}" + r"\s+".join(name.split()) + r"\b",
                           re.IGNORECASE) for name in FOREIGN}


def foreign_word(text: str, at: int) -> QueryError | None:
    """The error for a word of SQL at the place where a text could not be read, or right before it.

    Before it, because a parser takes such a word for a name where a name can stand.
    """
    for name, word in _WORDS.items():
        for found in word.finditer(text):
            if found.start() <= at and not text[found.end():at].strip():
                problem, hint = FOREIGN[name]
                line = text.count("\n", 0, found.start()) + 1
                column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
                return QueryError(problem, text, Span(line, column, found.start(), found.end()),
                                  hint=hint, mistake="foreign")
    return None
