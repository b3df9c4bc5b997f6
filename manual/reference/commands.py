"""Every command with its arguments and options, as typer knows them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from typing import Any

import typer

from manual.reference.docstrings import table
from slackwater.cli.command_line import app

__all__ = ["commands", "commands_page"]


def commands() -> Iterator[tuple[str, Any]]:
    """Name (``state show``) and command of each; a group that does something itself, too."""
    root = typer.main.get_command(app)
    context = root.make_context("slackwater", [], resilient_parsing=True)
    for name in root.list_commands(context):
        command = root.get_command(context, name)
        below = getattr(command, "commands", {})
        if not below or getattr(command, "invoke_without_command", False):
            yield name, command
        for under, inner in below.items():
            yield f"{name} {under}", inner


def commands_page() -> str:
    """The page."""
    every = list(commands())
    parts = ["# Commands",
             "`slackwater COMMAND --help` prints the same. Commands that print tables take "
             "`--json` for machines. Exit codes: 0 done; 1 done in part, or a run that failed; "
             "2 a mistake in the arguments, the input or the file, with a "
             "message that says what to do.",
             table(("command", "does"), [
                 (f"[`slackwater {name}`](#{_anchor(name)})", _first(command.help or ""))
                 for name, command in every])]
    for name, command in every:
        parts += [f"## slackwater {name} {{ #{_anchor(name)} }}",
                  _plain(inspect.cleandoc(command.help or "")), *_parameters(name, command)]
    return "\n\n".join(parts) + "\n"


def _parameters(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params
               if p.param_type_name == "option" and not p.hidden and p.name != "help"]
    usage = " ".join([f"slackwater {name}", *(_argument(p) for p in arguments),
                      *(["[OPTIONS]"] if options else [])])
    yield f"```text\n{usage}\n```"
    if arguments:
        yield table(("argument", "meaning"),
                    [(f"`{_metavar(p)}`", _plain(p.help or "")) for p in arguments])
    panels: dict[str, list[Any]] = {}
    for option in options:
        panels.setdefault(getattr(option, "rich_help_panel", None) or "", []).append(option)
    for panel, members in panels.items():
        if panel:
            yield f"*{panel}*"
        yield table(("option", "meaning", "default"), [_option(one) for one in members])


def _option(one: Any) -> tuple[str, str, str]:
    names = ", ".join(f"`{n}`" for n in (*one.opts, *one.secondary_opts))
    value = "" if one.is_flag else f" `{_metavar(one)}`"
    meaning = _plain(one.help or "")
    said = re.search(r"\s*\[default: (.*?)\]", meaning)
    if said:
        return names + value, meaning.replace(said[0], ""), said[1]
    default = one.default() if callable(one.default) else one.default
    hidden = default in (None, False, (), [], "") or one.is_flag or str(default) == "Sentinel.UNSET"
    if one.required:
        return names + value, meaning, "*required*"
    return names + value, meaning, "" if hidden else f"`{getattr(default, 'value', default)}`"


def _argument(one: Any) -> str:
    return _metavar(one) if one.required else f"[{_metavar(one)}]"


def _metavar(one: Any) -> str:
    if one.metavar:
        return str(one.metavar)
    choices = getattr(getattr(one, "type", None), "choices", None)
    return "|".join(str(getattr(c, "value", c)) for c in choices) if choices \
        else str(one.name).upper()


def _anchor(name: str) -> str:
    return name.replace(" ", "-")


def _first(text: str) -> str:
    return _plain(inspect.cleandoc(text).split("\n\n")[0])


def _plain(text: str) -> str:
    """Typer's own marks have no meaning in Markdown; a star or an angle must stand for itself."""
    return text.replace("\b", "").replace("<", "&lt;").replace("*", "\\*")
