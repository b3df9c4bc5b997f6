"""Queries and rows for the comparison with the oracle, drawn from one source of chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import pyarrow as pa

T = TypeVar("T")
Pick = Callable[[Sequence[T]], T]
SCHEMA = pa.schema({"k": pa.string(), "t": pa.int64(), "c": pa.int64(), "x": pa.int64(),
                    "y": pa.float64(), "name": pa.string()})
VARIABLES = ("A", "B", "C")


def pattern(pick: Pick, depth: int = 2) -> str:
    """A row pattern."""
    kind = pick(("variable",) * 4 + ("sequence",) * 4 + ("either", "group", "group", "group",
                                                         "permute", "exclude", "empty")
                if depth else ("variable",))
    times = pick(("", "", "", "+", "*", "?", "+?", "*?", "??", "{2}", "{1,2}", "{,2}", "{2,}",
                  "{1,3}?"))
    if kind == "variable":
        return pick(VARIABLES) + times
    if kind == "empty":
        return "()"
    parts = [pattern(pick, depth - 1) for _ in range(pick((2, 2, 3)))]
    if kind == "sequence":
        return " ".join(parts)
    if kind == "either":
        return f"({' | '.join(parts)})"
    if kind == "permute":
        return f"PERMUTE({', '.join(parts[:2])})"
    if kind == "exclude":
        return f"{{- {parts[0]} -}}"
    return f"({' '.join(parts)}){times}"


def value(pick: Pick, own: str | None, depth: int = 1) -> str:
    """A number: a column of some row, an aggregate, arithmetic."""
    who = pick((own or "A", "A", "B", "C", "U", None, None))
    column = pick(("x", "x", "y"))
    name = column if who is None else f"{who}.{column}"
    kind = pick(("plain",) * 4 + ("prev", "prev", "next", "first", "last", "far", "aggregate",
                                  "count", "number")
                + (("sum", "sum", "case", "choice") if depth else ()))
    n = pick((0, 1, 2))
    if kind == "plain":
        return name
    if kind == "prev":
        return f"PREV({name}, {n})" if n else f"PREV({name})"
    if kind == "next":
        return f"NEXT({name})"
    if kind in ("first", "last"):
        return f"{kind.upper()}({name}, {n})" if n else f"{kind.upper()}({name})"
    if kind == "far":
        return f"PREV(LAST({name}, {n}), 1)"
    if kind == "aggregate":
        return f"{pick(('SUM', 'MIN', 'MAX', 'AVG', 'COUNT'))}({name})"
    if kind == "count":
        return pick(("COUNT(*)", "COUNT(A.*)"))
    if kind == "number":
        return "MATCH_NUMBER()"
    if kind == "case":
        return (f"CASE WHEN {condition(pick, own, 0)} THEN {value(pick, own, 0)} "
                f"ELSE {value(pick, own, 0)} END")
    if kind == "choice":
        return (f"{pick(('LEAST', 'GREATEST', 'NULLIF', 'COALESCE'))}"
                f"({value(pick, own, 0)}, {value(pick, own, 0)})")
    return f"({value(pick, own, 0)} {pick('+-*')} {value(pick, own, 0)})"


def condition(pick: Pick, own: str | None, depth: int = 1) -> str:
    """A condition."""
    kind = pick(("compare",) * 5 + ("null", "between", "text", "variable", "like")
                + (("and", "or", "not") if depth else ()))
    if kind == "compare":
        return f"{value(pick, own)} {pick(('<', '<=', '>', '>=', '=', '!='))} " + pick(
            (value(pick, own), "2", "1"))
    if kind == "null":
        return f"{value(pick, own, 0)} IS {pick(('NULL', 'NOT NULL'))}"
    if kind == "between":
        return f"{value(pick, own, 0)} {pick(('', 'NOT '))}BETWEEN 1 AND {value(pick, own, 0)}"
    if kind == "text":
        return f"{pick(('name', 'A.name', 'LAST(B.name)'))} {pick(('=', '<'))} " + pick(
            ("'b'", "C.name", "PREV(name)"))
    if kind == "variable":
        who = pick(("CLASSIFIER()", "CLASSIFIER(U)", "CLASSIFIER(C)"))
        row = pick((who, f"PREV({who})", f"NEXT({who})", f"LAST({who}, 1)", f"FIRST({who})",
                    f"FIRST({who}, 1)", f"PREV(LAST({who}, 1))"))
        return f"{row} {pick(('=', '!=', '<'))} {pick(('A', 'B', 'C')).join((chr(39), chr(39)))}"
    if kind == "like":
        return f"{pick(('name', 'A.name'))} LIKE {pick(('B.name', 'PREV(name)'))}"
    if kind == "not":
        return f"NOT ({condition(pick, own, 0)})"
    return f"({condition(pick, own, 0)} {kind.upper()} {condition(pick, own, 0)})"


def query(pick: Pick) -> str:
    """A whole query."""
    form = pattern(pick)
    anchors = pick(((), (), (), (), ("^",), ("$",), ("^", "$")))
    if "^" in anchors:
        form = "^ " + form
    if "$" in anchors:
        form += " $"
    used = [v for v in VARIABLES if v in form.replace("PERMUTE", "")]
    if not used:
        form, used = f"{form} A?", ["A"]
    missing = [v for v in VARIABLES if v not in used]
    form = form + "".join(f" {v}?" for v in missing)
    rows = pick(("ONE ROW PER MATCH", "", "ALL ROWS PER MATCH", "ALL ROWS PER MATCH",
                 "ALL ROWS PER MATCH OMIT EMPTY MATCHES", "ALL ROWS PER MATCH WITH UNMATCHED ROWS"))
    if "UNMATCHED" in rows and "{-" in form:
        rows = "ALL ROWS PER MATCH"
    skip = pick(("", "AFTER MATCH SKIP PAST LAST ROW", "AFTER MATCH SKIP TO NEXT ROW",
                 "AFTER MATCH SKIP TO FIRST B", "AFTER MATCH SKIP TO LAST B",
                 "AFTER MATCH SKIP TO U"))
    measures = [f"{_semantics(pick)}{value(pick, None)}" for _ in range(pick((1, 2, 3)))]
    measures = [m if not m.startswith(("FINAL (", "RUNNING (")) else m.split(" ", 1)[1]
                for m in measures]
    measures += [f"{_semantics(pick)}CLASSIFIER()", "CLASSIFIER(U)", "MATCH_NUMBER()",
                 "MIN(name)", "FINAL LAST(A.name, 1)"]
    listed = ", ".join(f"{_sound(m)} AS m{i}" for i, m in enumerate(measures))
    defined = [v for v in VARIABLES if pick((True, True, True, False))]
    defines = ", ".join(f"{v} AS {condition(pick, v)}" for v in defined)
    order = pick(("t", "t", "t, c", "t, c DESC", "t, name, c"))
    within = pick(("", "", "WITHIN 3 us", "WITHIN INTERVAL '6' us"))
    partition = pick(("PARTITION BY k", "PARTITION BY k", ""))
    return (f"SELECT * FROM s MATCH_RECOGNIZE ({partition} ORDER BY {order} MEASURES {listed} "
            f"{rows} {skip} PATTERN ({form}) {within} SUBSET U = (A, B)"
            + (f" DEFINE {defines}" if defines else "") + ")")


def _semantics(pick: Pick) -> str:
    return pick(("", "", "FINAL ", "RUNNING "))


def _sound(measure: str) -> str:
    """FINAL and RUNNING stand before some calls only."""
    head, _, rest = measure.partition(" ")
    if head in ("FINAL", "RUNNING") and not rest.startswith(
            ("FIRST", "LAST", "SUM", "MIN", "MAX", "AVG", "COUNT", "CLASSIFIER")):
        return rest
    return measure


def rows(pick: Pick, n: int, *, distinct_ties: bool) -> list[dict[str, Any]]:
    """Rows in time order; where nothing breaks ties, times differ within a partition."""
    found: list[dict[str, Any]] = []
    t = 0
    for i in range(n):
        t += pick((0, 1, 1, 2, 4)) if distinct_ties else pick((1, 1, 2, 4))
        found.append({"k": pick(("p", "q")), "t": t, "c": i, "x": pick((0, 1, 2, 3, None)),
                      "y": pick((0.5, 1.0, 2.0, 3.5, None)), "name": pick(("a", "b", "c", None))})
    return found
