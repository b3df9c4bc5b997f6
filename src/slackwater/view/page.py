"""The page: as files of the server, or all of it in one."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

__all__ = ["MODULES", "POLICY", "asset", "inline_page", "live_page", "policy_of", "script_data"]

MODULES = ("format.js", "dom.js", "store.js", "part.js", "chart.js", "streams.js", "queries.js",
           "sources.js", "results.js", "theme.js", "main.js")
"""The page's own scripts, each after those that it imports."""

STYLES = ("uplot.css", "page.css")

POLICY = ("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
          "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
          "require-trusted-types-for 'script'; trusted-types 'none'")
"""The Content-Security-Policy of the live page: its own files, and no text that becomes markup."""

_IMPORT = re.compile(r'^import (\{.*\}) from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export ((?:class|function|const) (\w+))", re.MULTILINE)


@cache
def asset(name: str) -> str:
    """The text of a file of the page."""
    return (resources.files("slackwater.view") / "static" / name).read_text(encoding="utf-8")


def live_page() -> str:
    """The page that asks the server for its data."""
    head = "".join(f'<link rel="stylesheet" href="static/{name}">\n' for name in STYLES)
    scripts = ('<script src="static/uplot.js"></script>\n'
               '<script type="module" src="static/main.js"></script>\n')
    return asset("page.html").replace("<!--head-->", head).replace("<!--scripts-->", scripts)


def inline_page(model: Mapping[str, Any]) -> str:
    """The same page as one file, with the data and everything that draws it."""
    code = "".join(_inlined(name) for name in MODULES)
    style = "\n".join(asset(name) for name in STYLES)
    plot = asset("uplot.js")
    licence = asset("uplot-LICENSE.txt")
    scripts = (f'<script type="application/json" id="model">{script_data(model)}</script>\n'
               f"<!-- The charts are drawn by uPlot:\n{licence}-->\n"
               f"<script>{plot}</script>\n"
               f'<script type="module">{code}</script>\n')
    head = (f'<meta http-equiv="Content-Security-Policy" content="'
            f'{policy_of([plot, code], [style])}">\n<style>{style}</style>\n')
    return asset("page.html").replace("<!--head-->", head).replace("<!--scripts-->", scripts)


def _inlined(name: str) -> str:
    """A module as a value: one file has no others to import from."""
    text = asset(name)
    exports = ", ".join(found[1] for found in _EXPORT.findall(text))
    body = _EXPORT.sub(r"\1", _IMPORT.sub(r"const \1 = module_\2;", text))
    value = f"(() => {{\n{body}return {{ {exports} }};\n}})()"
    return f"const module_{name.removesuffix('.js')} = {value};\n"


def policy_of(scripts: list[str], styles: list[str]) -> str:
    """A policy that lets these texts run, whatever else is in the file, and loads nothing."""
    return (f"default-src 'none'; script-src {_hashes(scripts)}; style-src {_hashes(styles)}; "
            "img-src data:; base-uri 'none'; form-action 'none'; "
            "require-trusted-types-for 'script'; trusted-types 'none'")


def _hashes(texts: list[str]) -> str:
    return " ".join(f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'"
                    for t in texts) or "'none'"


def script_data(value: Any) -> str:
    r"""JSON that no parser of HTML can take for the end of the script around it.

    Examples
    --------
    >>> script_data("</script><!--")
    '"\\u003c/script\\u003e\\u003c!--"'
    """
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    for sign in "<>&":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
