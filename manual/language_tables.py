"""The parts of docs/queries.md that are made from the language's own tables.

``python -m manual.language_tables`` writes them anew; a test compares them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from slackwater.core.durations import UNITS
from slackwater.query.expr.operators import FUNCTIONS as SCALARS
from slackwater.query.expr.operators import MANY, OPERATORS
from slackwater.query.expr.parse import CAST_KINDS
from slackwater.query.foreign import FOREIGN
from slackwater.query.grammar import ALWAYS_RESERVED, RESERVED
from slackwater.window.aggregate import FUNCTIONS as AGGREGATES

__all__ = ["PAGE", "written"]

PAGE = Path(__file__).parents[1] / "docs" / "queries.md"
_PART = re.compile(r"<!-- made from the code: (\w+) -->\n.*?<!-- until here -->", re.DOTALL)


def _reserved() -> str:
    soft = [word for word in RESERVED if word not in ALWAYS_RESERVED]
    return (f"Always reserved: {_words(ALWAYS_RESERVED)}.\n\n"
            f"Names only where no keyword can stand: {_words(soft)}.")


def _units() -> str:
    return "Units: " + ", ".join(f"`{unit}`" for unit in UNITS) + \
        "; they may be written out (`30 seconds`, `1 hour`, `2 days`) and added up (`1 h 30 m`)."


def _types() -> str:
    kinds: dict[str, list[str]] = {}
    for name, kind in CAST_KINDS.items():
        kinds.setdefault(kind, []).append(name.upper())
    return "| type | also written |\n|---|---|\n" + "\n".join(
        f"| `{kind.upper()}` | {_words(n for n in names if n != kind.upper()) or '–'} |"
        for kind, names in kinds.items())


def _functions() -> str:
    lines = []
    for name in SCALARS:
        takes: dict[str, None] = {}
        for one in OPERATORS:
            if one.name == name:
                more = ", …" if name in MANY else ""
                takes[f"({', '.join(one.operands)}{more}) → {one.result}"] = None
        lines.append(f"| `{name.upper()}` | {'; '.join(takes)} |")
    return "| function | takes → gives |\n|---|---|\n" + "\n".join(lines)


def _aggregates() -> str:
    return "Aggregates: " + ", ".join(
        "`COUNT(DISTINCT x)`" if name == "count_distinct" else
        "`QUANTILE(x, q)`" if name == "quantile" else f"`{name.upper()}(x)`"
        for name in AGGREGATES) + "; `COUNT(*)` counts rows."


def _foreign() -> str:
    return "| in SQL | why not | instead |\n|---|---|---|\n" + "\n".join(
        f"| `{word}` | {_cell(why)} | {_cell(hint)} |" for word, (why, hint) in FOREIGN.items())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _words(words: object) -> str:
    return ", ".join(f"`{word}`" for word in words)  # type: ignore[attr-defined]


_MADE: dict[str, Callable[[], str]] = {
    "reserved": _reserved, "units": _units, "types": _types, "functions": _functions,
    "aggregates": _aggregates, "foreign": _foreign}


def written(page: str) -> str:
    """The page with these parts as the code has them."""
    return _PART.sub(lambda found: f"<!-- made from the code: {found[1]} -->\n\n"
                     f"{_MADE[found[1]]()}\n\n<!-- until here -->", page)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
