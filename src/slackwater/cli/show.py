"""What people and machines see: tables, progress, JSON."""

from __future__ import annotations

import itertools
import os
import re
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import typer
from rich import box
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table
from rich.text import Text

from slackwater.core.account import Account
from slackwater.core.plain import plain, to_json
from slackwater.view.findings import Part

__all__ = ["computed", "number", "print_account", "print_json", "print_parts", "print_table",
           "progress", "working"]

_T = TypeVar("_T")
_WIDE = 240  # in a file or a pipe there is no width to keep to
_NARROW = 12  # a text column is folded down to this before a column is left out
_EVERY = 4.0  # seconds between lines where there is no terminal
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")


def print_json(value: Any) -> None:
    """JSON on standard output."""
    typer.echo(to_json(value, indent=2))


def print_account(account: Account) -> None:
    """What became of the rows, on standard error: remarks first, the counts as the last line."""
    for remark in account.remarks():
        typer.echo(f"warning: {remark}", err=True)
    typer.echo(account.line(), err=True)


def print_parts(parts: Iterable[Part]) -> None:
    """Tables and sentences, one after the other."""
    for part in parts:
        if isinstance(part, str):
            typer.echo(part)
        else:
            print_table(part.title, part.columns, part.rows)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table; numbers are right-aligned, cells are shown as they are, never read as markup.

    On a terminal it keeps to the width: long texts are folded, and columns for which there is no
    room are named below.
    """
    body = [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in rows]
    body = [[_CONTROL.sub(lambda found: repr(found[0])[1:-1], cell) for cell in row]
            for row in body]
    width = None if sys.stdout.isatty() or "COLUMNS" in os.environ else _WIDE
    console = Console(width=width, highlight=False)
    is_text = [any(not _numeric(row[at]) for row in body) for at in range(len(columns))]
    shown = _fitting(columns, body, is_text, console.width)
    table = Table(header_style="bold", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0),
                  pad_edge=False)
    for at in range(shown):
        table.add_column(Text(columns[at]), justify="left" if is_text[at] else "right",
                         no_wrap=not is_text[at], overflow="fold")
    for row in body:
        table.add_row(*(Text(cell) for cell in row[:shown]))
    if title:
        console.print(title, style="bold", markup=False)
    console.print(table)
    if shown < len(columns):
        more = "1 column" if len(columns) - shown == 1 else f"{len(columns) - shown} columns"
        console.print(f"… and {more} that did not fit: "
                      f"{', '.join(columns[shown:])}", markup=False)


def _fitting(columns: Sequence[str], body: list[list[str]], is_text: list[bool],
             width: int) -> int:
    """How many columns fit, at least one."""
    used = 0
    for at, name in enumerate(columns):
        whole = max([len(name), *(len(row[at]) for row in body)])
        used += (min(whole, max(_NARROW, len(name))) if is_text[at] else whole) + 2
        if used > width and at:
            return at
    return len(columns)


def number(value: object) -> str:
    """A value as a person reads it; None as a dash."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    told = plain(value)
    return told if isinstance(told, str) else to_json(told)


def _numeric(text: str) -> bool:
    return text == "–" or text.replace(",", "").replace(".", "").replace("-", "").isdigit()


@contextmanager
def working(what: str, *, quiet: bool, lines: bool = False) -> Iterator[Callable[[str], None]]:
    """A line on a terminal's standard error that says what is done now, and for how long.

    The value given is called with what is to be said.  Without a terminal nothing is said, or with
    `lines` a line of text every few seconds.
    """
    console = Console(stderr=True)
    if lines and not quiet and not console.is_terminal:
        with _in_lines(what) as say:
            yield say
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False),
               TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True,
                  disable=quiet or not console.is_terminal) as line:
        task = line.add_task(what, total=None)
        yield lambda text: line.update(task, description=f"{what}: {text}", refresh=True)


@contextmanager
def _in_lines(what: str) -> Iterator[Callable[[str], None]]:
    """A line when something else is begun (what is before the colon), and every few seconds."""
    now, ended, began = "", threading.Event(), time.monotonic()

    def say(text: str) -> None:
        nonlocal now
        if text.partition(":")[0] != now.partition(":")[0]:
            typer.echo(f"{what}: {text}", err=True)
        now = text

    def repeat() -> None:
        while not ended.wait(_EVERY):
            typer.echo(f"{what}: {now} ({time.monotonic() - began:.0f} s)", err=True)

    thread = threading.Thread(target=repeat, name="slackwater-progress", daemon=True)
    thread.start()
    try:
        yield say
    finally:
        ended.set()
        thread.join()


def computed(what: str, results: Iterable[_T], *, quiet: bool) -> Iterator[_T]:
    """Results one by one, with a line as `working` has it while the next one is worked out.

    Never while one is being shown: a live line takes all that is printed for its own terminal.
    """
    left = iter(results)
    while True:
        with working(what, quiet=quiet):
            one = next(left, None)
        if one is None:
            return
        yield one


@contextmanager
def progress(what: str, total: int, *, quiet: bool,
             lines: bool = False) -> Iterator[Callable[[str], None]]:
    """A bar on standard error; the value given is called with what has just been done.

    Without a terminal nothing is shown, or with `lines` a line of text every few seconds.
    """
    console = Console(stderr=True)
    if lines and not quiet and not console.is_terminal:
        done = itertools.count(1)
        with _in_lines(what) as say:
            say(f"0 of {total}")
            yield lambda text: say(f"done: {next(done)} of {total}, {text}")
        return
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
               TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True,
                  disable=quiet or not console.is_terminal) as bar:
        task = bar.add_task(what, total=total)
        yield lambda text: bar.update(task, advance=1, description=f"{what}: {text}")
