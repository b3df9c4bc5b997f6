"""What people and machines see: tables, progress, JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

__all__ = ["number", "print_json", "print_table", "progress"]

T = TypeVar("T")


def print_json(value: Any) -> None:
    """JSON on standard output; a number that is none (NaN) would be an error, not bad JSON."""
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; numbers stand right."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
                  pad_edge=False)
    body = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    for at, name in enumerate(columns):
        text = any(not _numeric(row[at]) for row in body)
        table.add_column(name, justify="left" if text else "right", no_wrap=not text)
    for row in body:
        table.add_row(*row)
    # in a file or a pipe there is no width to keep to
    console = Console(width=None if sys.stdout.isatty() else 240, highlight=False)
    if title:
        console.print(title, style="bold", markup=False)
    console.print(table)


def number(value: object) -> str:
    """A number as a person reads it; None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _numeric(text: str) -> bool:
    return text == "–" or text.replace(",", "").replace(".", "").replace("-", "").isdigit()


@contextmanager
def progress(what: str, total: int, *, quiet: bool) -> Iterator[Any]:
    """A bar on standard error; the value given is called with what is being done now."""
    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True,
                  disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda text: bar.update(task, advance=1, description=f"{what}: {text}")
