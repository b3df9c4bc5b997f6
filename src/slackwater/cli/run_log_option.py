"""A run as commands name it: its log, its folder, or its pipeline file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from slackwater.core.errors import ConfigError

__all__ = ["RunName", "log_of"]

RunName = Annotated[Path, typer.Argument(
    metavar="RUN", show_default=False,
    help="A run log (JSON lines), a folder that has one, or a pipeline file that names one.")]


def log_of(run: Path) -> Path:
    """The file of the log; it need not be there yet."""
    if run.suffix in (".yaml", ".yml"):
        from slackwater.pipeline import load

        log = load(run).metrics.log
        if log is None:
            raise ConfigError("writes no run log", step=str(run),
                              hint="add metrics: {log: run.jsonl} to the pipeline file")
        return Path(log)
    from slackwater.view.read_log import find_log

    return find_log(run)
