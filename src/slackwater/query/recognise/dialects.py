"""Functions that other systems have in MATCH_RECOGNIZE, in the standard's words.

Snowflake looks at other rows with LAG, LEAD, FIRST_VALUE and LAST_VALUE, and numbers the rows of a
match with MATCH_SEQUENCE_NUMBER(); Flink has MATCH_ROWTIME(), the time of the last row (also with
the time column named: MATCH_ROWTIME(t)); in Trino COUNT() is COUNT(*).
"""

from __future__ import annotations

from slackwater.query.expr.tree import Call, Expr, Name, Star, rewrite

__all__ = ["standard"]

_NAMES = {"lag": "prev", "lead": "next", "first_value": "first", "last_value": "last"}


def standard(expr: Expr, time: Name | None) -> Expr:
    """The expression in the words of the standard; `time` is the first column of ORDER BY."""
    def change(node: Expr) -> Expr | None:
        if not isinstance(node, Call):
            return None
        if node.function in _NAMES:
            return Call(_NAMES[node.function], tuple(rewrite(a, change) for a in node.args),
                        at=node.at)
        if node.function == "match_sequence_number" and not node.args:
            return Call("running", (Call("count", (Star(at=node.at),), at=node.at),), at=node.at)
        if node.function == "count" and not node.args:
            return Call("count", (Star(at=node.at),), at=node.at)
        if node.function == "match_rowtime" and time is not None and node.args in ((), (time,)):
            return Call("final", (Call("last", (Name(None, time.name, at=node.at),), at=node.at),),
                        at=node.at)
        return None

    return rewrite(expr, change)
