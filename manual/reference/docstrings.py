"""Docstrings (numpydoc's sections, reST's literal blocks) as Markdown."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

__all__ = ["describe", "one_line", "parameters_of", "sections_of", "table"]

_UNDERLINE = re.compile(r"-{3,}\s*")
_DOCTEST = re.compile(r"\s*>>> ")


def describe(owner: Any, level: int) -> str:
    """A docstring as Markdown; `level` is that of the heading it stands under."""
    parts = []
    for title, body in sections_of(inspect.getdoc(owner) or ""):
        if not title:
            parts.append(_prose(body))
        elif title in ("Parameters", "Raises", "Attributes"):
            parts.append(f"**{title}**\n\n" + "\n".join(
                f"{', '.join(f'`{n}`' for n in names.split(', '))}\n:   {meaning}\n"
                for names, meaning in _entries(body)))
        elif title == "Examples":
            parts.append("**Example**\n\n```pycon\n" + body.strip() + "\n```")
        else:
            parts.append(f"**{title}**\n\n{_prose(body)}")
    return "\n\n".join(part for part in parts if part)


def one_line(owner: Any) -> str:
    """The first sentence of a docstring, on one line."""
    text = (inspect.getdoc(owner) or "").split("\n\n")[0]
    return " ".join(text.split())


def parameters_of(owner: Any) -> dict[str, str]:
    """What each parameter means, by its name."""
    found: dict[str, str] = {}
    for title, body in sections_of(inspect.getdoc(owner) or ""):
        if title == "Parameters":
            for names, meaning in _entries(body):
                found.update(dict.fromkeys(names.split(", "), meaning))
    return found


def sections_of(text: str) -> Iterator[tuple[str, str]]:
    """Title and text of each section; the first has no title."""
    lines = text.splitlines()
    heads = [i for i in range(len(lines) - 1)
             if _UNDERLINE.fullmatch(lines[i + 1]) and len(lines[i + 1].rstrip()) >= 3
             and lines[i] and not lines[i].startswith(" ")]
    starts = [*heads, len(lines)]
    yield "", "\n".join(lines[:starts[0]]).strip()
    for head, end in zip(heads, starts[1:], strict=True):
        yield lines[head].strip(), "\n".join(lines[head + 2:end]).strip("\n")


def table(names: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> str:
    """A table in Markdown; a bar inside a cell is no border."""
    lines = [names, ("---",) * len(names), *rows]
    return "\n".join("| " + " | ".join(
        " ".join(cell.split()).replace("|", "\\|") for cell in line) + " |" for line in lines)


def _entries(body: str) -> Iterator[tuple[str, str]]:
    """Names, and what is indented below them."""
    names, meaning = "", list[str]()
    for line in [*body.splitlines(), "end"]:
        if line.strip() and not line.startswith(" "):
            if names:
                yield names, " ".join(" ".join(meaning).split())
            names, meaning = line.partition(" : ")[0].strip(), []
        else:
            meaning.append(line)


def _prose(body: str) -> str:
    """Paragraphs as they are; what follows ``::`` is a block, and so are doctests and drawings."""
    out: list[str] = []
    literal = False
    for paragraph in re.split(r"\n\s*\n", body):
        indented = all(line.startswith("  ") for line in paragraph.splitlines() if line)
        if literal and indented:
            out.append("```text\n" + inspect.cleandoc("\n" + paragraph) + "\n```")
        elif _DOCTEST.match(paragraph):
            out.append("```pycon\n" + inspect.cleandoc("\n" + paragraph) + "\n```")
        else:
            literal = paragraph.endswith("::")
            out.append(paragraph[:-1] if literal else paragraph)
    return "\n\n".join(out)
