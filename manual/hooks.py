"""What mkdocs does beyond turning pages into HTML: made pages, drawings, the navigation."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
for _folder in (ROOT, ROOT / "src"):
    if str(_folder) not in sys.path:
        sys.path.insert(0, str(_folder))

from manual.drawings.canvas import page_style  # noqa: E402
from manual.examples import example_pages  # noqa: E402
from manual.reference import reference_pages  # noqa: E402
from manual.reference.api import PACKAGES  # noqa: E402

_DRAWING = re.compile(r"^!\[[^\]]*\]\((drawings/[\w-]+\.svg)\)$", re.MULTILINE)
_OUTSIDE = re.compile(r"\]\(\.\./examples(?:/(\w+))?/?(?:README\.md)?\)")
_FROM_EXPERIMENTS = re.compile(r"^<!-- verdicts of (Paper \d) -->$", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Fill what the navigation leaves to the folders, and add pages that it does not name."""
    listed = {page for _, pages in _sections(config.nav) for page in pages}
    found = sorted(p.name for p in (ROOT / "docs").glob("*.md"))
    more = [page for page in found if page not in listed]
    for section in config.nav:
        if isinstance(section, dict) and "Coming from" in section:
            section["Coming from"] = [p for p in more if p.startswith("coming_from_")]
            more = [p for p in more if not p.startswith("coming_from_")]
        if isinstance(section, dict) and "Examples" in section:
            section["Examples"] = list(example_pages(ROOT))
        if isinstance(section, dict) and "Reference" in section:
            section["Reference"].append(
                {"Packages": [f"reference/api/{name}.md" for name in PACKAGES]})
    if more:
        config.nav.append({"More": more})
    return config


def _sections(nav: list[Any]) -> list[tuple[str, list[str]]]:
    return [("", [part]) if isinstance(part, str) else next(iter(part.items())) for part in nav]


def on_files(files: Files, config: Any) -> Files:
    """Add the pages and the style that are made, not written."""
    made = {**reference_pages(), **example_pages(ROOT), "assets/manual.css": page_style()}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Put drawings and the experiments' tables into the page; links to examples stay here."""
    text = _DRAWING.sub(lambda found: _inline(found[1]), markdown)
    text = _OUTSIDE.sub(lambda found: f"](examples/{found[1] or 'index'}.md)", text)
    return _FROM_EXPERIMENTS.sub(lambda found: verdicts(found[1]), text)


def _inline(path: str) -> str:
    """A drawing as part of the page, whose own switch then chooses its colours."""
    text = (ROOT / "docs" / path).read_text(encoding="utf-8")
    return re.sub(r"<style>.*?</style>\n", "", text)


def verdicts(paper: str) -> str:
    """A paper's table of figures out of docs/experiments.md, which `reproduce` writes."""
    text = (ROOT / "docs" / "experiments.md").read_text(encoding="utf-8")
    part = text[text.index(f"\n## {paper}\n"):]
    lines = part[:part.index("\n### ")].splitlines()
    return "\n".join(line for line in lines if line.startswith("|"))
