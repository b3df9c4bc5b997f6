"""What a command has found, as one HTML file: sentences, tables, pictures."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slackwater.core.html import shown_value
from slackwater.view.bounded import TEXT, cut
from slackwater.view.page import asset, policy_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Part", "Sheet", "findings_page", "write_findings"]


@dataclass(frozen=True)
class Sheet:
    """A table with its title."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]


_SENTENCE = 20 * TEXT  # it may hold a query

Part = Sheet | str
"""A table or a sentence."""

# dark where the system is; the page has no script that could switch it
_DARK = ("@media (prefers-color-scheme: dark) {{ :root {{ {} }} }}\n"
         "main img {{ width: 100%; max-width: 60rem; }}")


def findings_page(title: str, parts: Iterable[Part],
                  pictures: Iterable[tuple[str, Figure]] = ()) -> str:
    """The page; whatever the parts hold is text.

    Parameters
    ----------
    title
        Of the page.
    parts
        In the order in which they are to be read.
    pictures
        Each with what it shows, for those who cannot see it.
    """
    css = asset("page.css")
    dark = css.partition('[data-theme="dark"] {')[2].partition("}")[0]
    style = css + _DARK.format(dark.strip())
    body = "".join(f"<p>{_text(part, _SENTENCE)}</p>\n" if isinstance(part, str) else _table(part)
                   for part in parts)
    body += "".join(f'<p><img alt="{_text(words)}" src="data:image/svg+xml;base64,'
                    f'{base64.b64encode(_svg(picture)).decode()}"></p>\n'
                    for words, picture in pictures)
    return (f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta http-equiv="Content-Security-Policy" content="{policy_of([], [style])}">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f'<meta name="referrer" content="no-referrer">\n<title>{_text(title)}</title>\n'
            f"<style>{style}</style>\n</head>\n<body class=\"report\">\n"
            f'<header><div><p class="brand">Slackwater</p><h1>{_text(title)}</h1></div></header>\n'
            f"<main>\n{body}</main>\n</body>\n</html>\n")


def write_findings(path: Path, title: str, parts: Iterable[Part],
                   pictures: Iterable[tuple[str, Figure]] = ()) -> None:
    """Write the page into a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(findings_page(title, parts, pictures), encoding="utf-8", errors="replace")


def _table(sheet: Sheet) -> str:
    right = [any(_is_number(row[at]) for row in sheet.rows) for at in range(len(sheet.columns))]
    sides = [' class="n"' if side else ' class="long"' for side in right]
    head = "".join(f'<th scope="col"{side}>{_text(str(name))}</th>'
                   for name, side in zip(sheet.columns, sides, strict=True))
    body = "".join("<tr>" + "".join(
        f"<td{side}>{_text(shown_value(value))}</td>"
        for value, side in zip(row, sides, strict=True)) + "</tr>\n" for row in sheet.rows)
    label = _text(sheet.title or "Table")
    return (f'<div class="scroll" tabindex="0" role="region" aria-label="{label}"><table>'
            f"<caption>{_text(sheet.title)}</caption><thead><tr>{head}</tr></thead>"
            f"<tbody>{body}</tbody></table></div>\n")


def _text(words: str, most: int = TEXT) -> str:
    """Words of the data, never markup; a browser hangs on a cell of a megabyte."""
    return escape(cut(words, most))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _svg(picture: Figure) -> bytes:
    from slackwater.evaluate.pictures import svg_bytes  # the drawing library loads when needed

    return svg_bytes(picture)
