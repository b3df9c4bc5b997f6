"""The fenced blocks of the manual, and how each kind is run.

A comment of its own line before a block speaks to the harness: ``<!-- not run: reason -->``.  A
block with a title is a file of that name, which later blocks of the page may use.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LONG = ("run", "dashboard", "gateway")
"""Commands that go on until they are stopped: arguments are checked, and the file of `run`."""

_BLOCK = re.compile(r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?"
                    r"```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?"
                    r"\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block and where it stands."""

    page: Path
    line: int
    kind: str
    text: str
    title: str | None
    mark: str

    @property
    def where(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"

    @property
    def reason(self) -> str | None:
        """Why it is not run; None: it is."""
        head, _, reason = self.mark.partition("not run:")
        return reason.strip() or "?" if not head and self.mark.startswith("not run:") else None

    def commands(self) -> list[tuple[str, list[str]]]:
        """Each command of a console block, and the lines that it is said to print."""
        found: list[tuple[str, list[str]]] = []
        for line in self.text.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            elif found:
                found[-1][1].append(line)
        return found


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in _BLOCK.finditer(text):
        yield Block(page, text.count("\n", 0, found.start("kind")) + 1, found["kind"],
                    found["text"], found["title"], found["mark"] or "")


def needs_spark(page: Path) -> bool:
    """Whether the page's Python wants a session."""
    return any(b.kind == "python" and re.search(r"\bspark\b(?!\.md)", b.text)
               for b in blocks_of(page))


def run_python(page: Path, given: dict) -> int:
    """The Python blocks of a page, one after the other, in one namespace."""
    ran = 0
    for block in blocks_of(page):
        if block.kind == "python" and block.title is None and block.reason is None:
            code = compile("\n" * block.line + block.text, str(page), "exec")
            exec(code, given)
            ran += 1
    return ran


def run_command(line: str, folder: Path) -> None:
    """A command of a console block; those of `slackwater` in this process, which is faster."""
    words = shlex.split(line, comments=True)
    if words[0] == "make":
        target = f"\n{words[1]}:"
        assert target in (ROOT / "Makefile").read_text(), f"there is no {line}"
        return
    if Path(words[0]).name != "slackwater" or "|" in words:
        shell = f"export PATH={Path(sys.executable).parent}:$PATH PYTHONPATH={ROOT / 'src'}; {line}"
        done = subprocess.run(["bash", "-eo", "pipefail", "-c", shell], cwd=folder, text=True,
                              capture_output=True, timeout=120, check=False)
        assert done.returncode == 0, f"{line}\n{done.stderr}"
        return
    if words[1] in LONG:
        _check_arguments(words[1], words[2:], folder)
        return
    import typer

    from slackwater.cli.command_line import app

    ended = typer.main.get_command(app).main(words[1:], prog_name="slackwater",
                                             standalone_mode=False)
    assert not ended, line


def _check_arguments(name: str, words: list[str], folder: Path) -> None:
    from manual.reference.commands import commands
    from slackwater.pipeline import load

    command = dict(commands())[name]
    context = command.make_context(name, list(words))
    if name == "run" and (folder / context.params["file"]).exists():
        load(folder / context.params["file"])


def said(lines: list[str], printed: str) -> bool:
    """Whether the lines stand in the output in their order; … stands for anything."""
    pattern = r".*?".join(
        r"[^\n]*?".join(map(re.escape, line.split("…")))
        for line in lines if line.strip() not in ("", "…"))
    return re.search(pattern, printed, re.DOTALL) is not None
