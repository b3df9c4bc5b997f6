"""An error in a query: the line, a caret under the place, and a hint."""

from __future__ import annotations

from slackwater.core.errors import ConfigError
from slackwater.core.names import is_reserved
from slackwater.query.expr.tree import Span

__all__ = ["QueryError", "check_result_name"]


class QueryError(ConfigError):
    """A query that cannot mean anything, drawn at the place where that shows.

    Examples
    --------
    >>> print(QueryError("there is no column 'valu'", "SELECT valu FROM s", Span(1, 8, 7, 11),
    ...                  hint="did you mean 'value'?"))
    query: there is no column 'valu'
      line 1, column 8:
        SELECT valu FROM s
               ^^^^
      hint:     did you mean 'value'?
    """

    line: int | None = None
    column: int | None = None
    mistake: str | None = None

    def __init__(self, problem: str, text: str, at: Span, *, expected: object = None,
                 hint: str | None = None, mistake: str | None = None) -> None:
        super().__init__(f"{problem}\n{draw(text, at)}", step="query", expected=expected, hint=hint)
        self.line, self.column, self.mistake = at.line, at.column, mistake


def draw(text: str, at: Span) -> str:
    """The line that a span begins in, with carets under the span."""
    lines = text.split("\n")
    line = lines[at.line - 1] if at.line <= len(lines) else ""
    # tabs stay tabs in the line below, so that the caret stands right however wide they are shown
    before = "".join("\t" if c == "\t" else " " for c in line[: at.column - 1])
    room = max(len(line) - (at.column - 1), 1)
    carets = "^" * max(1, min(at.end - at.start, room))
    return f"  line {at.line}, column {at.column}:\n    {line}\n    {before}{carets}"


def check_result_name(name: str, text: str, at: Span) -> None:
    """Raise if a result would be called as a column that operators add."""
    if is_reserved(name):
        raise QueryError(f"{name!r} is a name that operators use themselves", text, at,
                         hint="give the result another name with AS", mistake="reserved-name")
