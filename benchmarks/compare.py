"""Kernels of two revisions, one after the other: `python -m benchmarks.compare REV [module …]`.

REV is a revision, or the folder of a working tree; this tree is measured against it.  Each runs its
own `kernels.*` (all of them, or those whose names contain one of the words given) in processes of
its own, in turns, and the better of two rounds counts; benchmarks that go by the same name in both
are compared.  Use a machine that does nothing else.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

HERE = Path(__file__).resolve().parents[1]
ROUNDS = 2
SLOWER = 1.05

Times = dict[tuple[str, str], float]


def seconds(tree: Path, module: str) -> Times:
    """Our seconds for each benchmark of a module, by its name and reference, in some tree."""
    found = tree / "benchmarks" / "latest.json"
    found.unlink(missing_ok=True)
    ran = subprocess.run(  # its exit code says whether limits are kept: not asked here
        [sys.executable, "-W", "ignore", "-m", "benchmarks", module], cwd=tree,
        env={**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"},
        capture_output=True, text=True, check=False)
    if not found.exists():
        raise SystemExit(f"{module} of {tree} failed:\n{ran.stderr[-2000:]}")
    return {(row["name"], row["reference"]): row["ours_s"]
            for row in json.loads(found.read_text())}


def best(trees: list[Path], module: str) -> list[Times]:
    """The better of some rounds, for each tree."""
    times: list[Times] = [{} for _ in trees]
    for _ in range(ROUNDS):
        for tree, known in zip(trees, times, strict=True):
            for name, value in seconds(tree, module).items():
                known[name] = min(value, known.get(name, value))
    return times


def modules(tree: Path, words: list[str]) -> set[str]:
    """The kernels' benchmarks of a tree that contain one of some words; no words: all."""
    names = {f"kernels.{file.stem}" for file in (tree / "benchmarks" / "kernels").glob("[a-z]*.py")}
    return {name for name in names if not words or any(word in name for word in words)}


def compare(before: Path, words: list[str]) -> None:
    """Print the ratio of each benchmark."""
    console = Console(width=None if sys.stdout.isatty() else 120)
    table = Table()
    for column in ("benchmark", "before (s)", "now (s)", "now ÷ before", ""):
        table.add_column(column, justify="right" if "(" in column else "left")
    both = modules(before, words) & modules(HERE, words)
    for module in sorted(both):
        console.print(f"[dim]{module} …[/dim]")
        old, new = best([before, HERE], module)
        for name in (name for name in new if name in old):
            ratio = new[name] / old[name]
            table.add_row(f"{name[0]} ({name[1]})", f"{old[name]:.3f}", f"{new[name]:.3f}",
                          f"{ratio:.2f}", "[red]slower[/red]" if ratio > SLOWER else "")
        for name in new.keys() ^ old.keys():
            table.add_row(f"{name[0]} ({name[1]})", *(
                f"{times[name]:.3f}" if name in times else "–" for times in (old, new)), "–", "")
    console.print(table)
    for module in sorted(modules(HERE, words) - both):
        console.print(f"{module} is not in the other revision")


def main(what: str, words: list[str]) -> None:
    """Compare with a folder, or with a revision in a tree that is made for it."""
    if Path(what).is_dir():
        compare(Path(what).resolve(), words)
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "before"
        git = ["git", "-C", str(HERE), "worktree"]
        subprocess.run([*git, "add", "--detach", str(tree), what], check=True)
        try:
            compare(tree, words)
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
