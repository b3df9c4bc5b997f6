"""The commands by name; each is imported when it is asked for, so that the others cost nothing."""

from __future__ import annotations

import importlib
from typing import Any

import typer
from typer.core import TyperGroup

__all__ = ["NAMES", "Commands"]

NAMES = ("profile", "evaluate", "tune", "advise", "generate", "reorder", "synchronise", "query",
         "correlate", "reproduce", "demo", "check", "run", "dashboard", "report", "state",
         "gateway", "warm")
"""Every command; the module of the same name has a `command`, or an `app` with commands of its own.
"""


class Commands(TyperGroup):
    """The group that `slackwater` is."""

    def list_commands(self, ctx: Any) -> list[str]:
        """All names, in the order of the help."""
        return list(NAMES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name; None: there is none."""
        if cmd_name not in NAMES:
            return None
        module = importlib.import_module(f"slackwater.cli.{cmd_name}")
        if hasattr(module, "app"):
            made: Any = typer.main.get_group(module.app)
        else:
            one = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
            one.command(cmd_name)(module.command)
            made = typer.main.get_command(one)
        made.name = cmd_name
        return made
