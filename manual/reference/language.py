"""The query language: its functions, and its grammars as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import resources

from manual.reference.docstrings import describe, table
from slackwater.pattern import EMIT, SELECT
from slackwater.query.expr import operators
from slackwater.window.aggregate import FUNCTIONS as AGGREGATES
from slackwater.window.aggregate import Aggregate

__all__ = ["language_page"]

_GRAMMARS = {
    "select": "SELECT over one stream, with windows",
    "event": "EVENT: sequence patterns",
    "recognise": "MATCH_RECOGNIZE: row patterns of standard SQL",
    "correlate": "SELECT over two streams",
    "expressions": "Expressions, which all of them share",
}


def language_page() -> str:
    """The page."""
    aggregates = describe(Aggregate, 2).partition("**Parameters**")[0]
    parts = [
        "# The language: functions and grammar",
        "Made from the tables and grammars that the parser works with. What each clause means is "
        "in [queries](../queries.md) and [MATCH_RECOGNIZE](../match_recognize.md).",
        "## Functions and operators",
        "A whole number stands where a real one may. A time beside a duration gives a time; "
        "*NULL* says what becomes of a NULL operand, *NaN* of one that is not a number.",
        table(("name", "takes", "gives", "NULL", "NaN"), list(_operators())),
        "## Aggregates of windows",
        ", ".join(f"`{name.upper()}`" for name in AGGREGATES) + ".", aggregates,
        "## Selection and output of patterns",
        "`select`: " + ", ".join(f"`{s}`" for s in SELECT) + ". `emit`: "
        + ", ".join(f"`{e}`" for e in EMIT) + ".",
        "## Grammar",
        "In the notation of [Lark](https://github.com/lark-parser/lark): `[x]` may be left out, "
        '`"WORD"i` is a word in upper or lower case, `x*` any number of x.']
    for name, what in _GRAMMARS.items():
        text = resources.files("slackwater.query.grammar").joinpath(f"{name}.lark").read_text()
        parts += [f"### {what}", f"```text\n{text.strip()}\n```"]
    return "\n\n".join(parts) + "\n"


def _operators() -> Iterator[tuple[str, ...]]:
    """One line a name."""
    lines: dict[str, list[operators.Operator]] = {}
    for one in operators.OPERATORS:
        if " " not in one.name and one.name != "//":  # conversions are no words of the language
            lines.setdefault(one.name, []).append(one)
    for name, members in lines.items():
        more = ", …" if name in operators.MANY else ""
        takes = list(dict.fromkeys(f"({', '.join(o.operands)}{more})" for o in members))
        shown = "−x" if name == "neg" else name.upper() if re.fullmatch(r"\w+", name) else name
        yield (f"`{shown}`", "; ".join(takes[:6]) + ("; …" if len(takes) > 6 else ""),
               *(", ".join(sorted({getattr(o, what) for o in members} - {"–"})) or "–"
                 for what in ("result", "nulls", "nan")))
