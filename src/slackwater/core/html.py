"""Small tables for notebooks: whatever the values are, they are text and never markup.

May import: plain, durations.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from typing import Any

from slackwater.core.durations import format_duration
from slackwater.core.plain import plain, to_json

__all__ = ["html_fields", "html_pairs", "html_table", "html_text", "shown_value"]


def html_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A table with a caption.

    Examples
    --------
    >>> html_table("a < b", ["x"], [[None], ["<b>"]])
    '<table><caption>a &lt; b</caption><thead><tr><th>x</th></tr></thead><tbody><tr><td
    style="text-align:left">–</td></tr><tr><td
    style="text-align:left">&lt;b&gt;</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(str(name))}</th>" for name in columns)
    body = "".join("<tr>" + "".join(_cell(value) for value in row) + "</tr>" for row in rows)
    return (f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table>")


def html_pairs(title: str, facts: Mapping[str, Any]) -> str:
    """Names and values, one pair per line."""
    return html_table(title, ("", ""), facts.items())


def html_fields(thing: Any) -> str:
    """A configuration: its parameters, of those that are configurations what is not the default.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from slackwater.core.events import Roles
    >>> @dataclass(frozen=True)
    ... class Wait:
    ...     roles: Roles
    ...     seconds: int = 5
    >>> html_fields(Wait(Roles("at"))).count("time=&#x27;at&#x27;</td>")
    1
    """
    return html_pairs(type(thing).__name__, {
        f.name: _brief(getattr(thing, f.name), isinstance(f.type, str) and "Duration" in f.type)
        for f in fields(thing) if f.init and f.repr})


def _brief(value: Any, is_duration: bool) -> Any:
    if is_duration and isinstance(value, int):
        return format_duration(value)
    if not is_dataclass(value):
        return value
    if type(value).__str__ is not object.__str__:  # a policy, which writes itself as it is read
        return str(value)
    return ", ".join(f"{f.name}={getattr(value, f.name)!r}" for f in fields(value)
                     if f.init and f.repr and getattr(value, f.name) != f.default)


def html_text(text: str) -> str:
    """Text whose lines and blanks are kept, such as a plan."""
    return f"<pre>{escape(text)}</pre>"


def _cell(value: Any) -> str:
    side = "right" if isinstance(value, (int, float)) and not isinstance(value, bool) else "left"
    return f'<td style="text-align:{side}">{escape(shown_value(value))}</td>'


def shown_value(value: Any) -> str:
    """A value as a person reads it; None as a dash."""
    value = plain(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return value if isinstance(value, str) else to_json(value)
