"""The public names of each package, with their signatures and docstrings."""

from __future__ import annotations

import enum
import importlib
import inspect
import re
from typing import Any

from manual.reference.docstrings import describe, one_line, table

__all__ = ["PACKAGES", "api_pages"]

PACKAGES = {
    "frames": "pandas, polars, DuckDB and Arrow, without Spark",
    "spark": "streaming and batch DataFrames of Spark",
    "reorder": "time order, as long as a policy waits",
    "synchronise": "many sources, each in order in itself",
    "window": "aggregates of sliding windows",
    "pattern": "sequences of events",
    "correlate": "pairs whose times are intervals",
    "query": "the query language",
    "evaluate": "metrics, profiles, sweeps",
    "datasets": "files and generated feeds",
    "pipeline": "pipelines in a file",
    "checks": "the conformance suite",
    "core.kernel": "the protocol of all stages",
    "core.events": "the roles of columns",
    "core.errors": "errors",
}
"""Documented packages, each with what it is about."""

_WIDTH = 88


def api_pages() -> dict[str, str]:
    """A page for each package, and one that lists them."""
    pages = {f"reference/api/{name}.md": _page(name) for name in PACKAGES}
    _link(pages)
    index = table(("package", "is about"),
                  [(f"[`slackwater.{name}`](api/{name}.md)", what)
                   for name, what in PACKAGES.items()])
    pages["reference/api.md"] = (
        "# Python API\n\nWhat each package offers; made from its docstrings. "
        "`slackwater.reorder(df, …)` and the like are the functions of "
        "[`slackwater.frames`](api/frames.md).\n\n" + index + "\n")
    return pages


def _page(name: str) -> str:
    module = importlib.import_module(f"slackwater.{name}")
    names = list(module.__all__)
    parts = [f"# slackwater.{name}", describe(module, 1),
             table(("name", "is"), [(f"[`{n}`](#{n.lower()})", _summary(module, n))
                                    for n in names])]
    for one in names:
        parts += [f"## {one} {{ #{one.lower()} }}", _entry(getattr(module, one), one)]
    return "\n\n".join(parts) + "\n"


def _summary(module: Any, name: str) -> str:
    value = getattr(module, name)
    return one_line(value) if inspect.isclass(value) or inspect.isroutine(value) else "a table"


def _entry(value: Any, name: str) -> str:
    if inspect.isclass(value):
        parts = [_signature(value, name), describe(value, 2)]
        for method, run in vars(value).items():
            if not method.startswith("_") and _is_documented(run):
                run = getattr(run, "__func__", run)
                asked = isinstance(run, property)
                head = f"`{name}.{method}`" if asked else _signature(run, f"{name}.{method}")
                parts += [f"### {name}.{method}", "" if asked else head, describe(run, 3)]
        return "\n\n".join(part for part in parts if part)
    if inspect.isroutine(value):
        return "\n\n".join([_signature(value, name), describe(value, 2)])
    listed = ", ".join(f"`{key}`" for key in value) if isinstance(value, (dict, tuple)) else ""
    return listed or f"`{value!r}`"


def _is_documented(member: Any) -> bool:
    return bool(inspect.getdoc(member)) and (
        inspect.isroutine(member) or isinstance(member, (property, classmethod, staticmethod)))


def _signature(value: Any, name: str) -> str:
    if inspect.isclass(value) and (issubclass(value, (Exception, enum.Enum))
                                   or inspect.isabstract(value)):
        return f"```python\nclass {name}\n```"
    try:
        found = inspect.signature(value)
    except (TypeError, ValueError):
        return ""
    given, starred = list[str](), False
    for one in found.parameters.values():
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            given.append("*")
        starred |= one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        given.append(_parameter(one))
    end = "" if found.return_annotation is found.empty else f" -> {_type(found.return_annotation)}"
    text = f"{name}({', '.join(given)}){end}"
    if len(text) > _WIDTH:
        text = f"{name}(\n    " + ",\n    ".join(given) + f",\n){end}"
    return "```python\n" + re.sub(r" at 0x[0-9a-f]+", "", text) + "\n```"


def _parameter(one: inspect.Parameter) -> str:
    star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = "" if one.annotation is one.empty else f": {_type(one.annotation)}"
    default = "" if one.default is one.empty else f" = {one.default!r}" if kind else \
        f"={one.default!r}"
    return f"{star}{one.name}{kind}{default}"


def _type(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _link(pages: dict[str, str]) -> None:
    """Names in backticks lead to their entries, on their own page before others."""
    homes: dict[str, str] = {}
    for path, text in pages.items():
        for name in re.findall(r"^## (\w+) \{", text, re.MULTILINE):
            homes.setdefault(name, path.rpartition("/")[2])

    for path, text in pages.items():
        here = path.rpartition("/")[2]
        own = set(re.findall(r"^## (\w+) \{", text, re.MULTILINE))

        def linked(found: re.Match[str], own: set[str] = own, here: str = here) -> str:
            name = found[1]
            page = "" if name in own else homes.get(name, here)
            known = name in own or (name in homes and name[:1].isupper())
            return f"[`{name}`]({page}#{name.lower()})" if known else found[0]

        blocks = re.split(r"(```.*?```)", text, flags=re.DOTALL)
        pages[path] = "".join(
            block if block.startswith("```") else
            re.sub(r"(?<![`\[\w])`([A-Za-z_]\w*)`(?![`\]])", linked, block) for block in blocks)
