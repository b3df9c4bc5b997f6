"""The papers' experiments by name; each writes its data as CSV and its picture as PNG and PDF."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path

from slackwater.core.errors import ConfigError, did_you_mean

__all__ = ["experiment_names", "reproduce"]

Experiment = Callable[[Path, bool], list[Path]]
"""Takes the output folder and whether to run small (for tests); returns the files it wrote."""

_MODULES: dict[str, str] = {
    **dict.fromkeys(("dratio-fig5", "dratio-fig6", "dratio-fig7"),
                    "slackwater.evaluate.dratio_paper"),
    "dratio-promise": "slackwater.evaluate.dratio_promise",
    **dict.fromkeys(("reorder-fig5", "reorder-fig6", "reorder-fig7", "reorder-fig8", "reorder-fig9",
                     "reorder-table"), "slackwater.evaluate.reorder_paper"),
    **dict.fromkeys(("sync-table1", "sync-fig4", "sync-fig5", "sync-fig6"),
                    "slackwater.evaluate.sync_paper"),
    **dict.fromkeys((f"corr-fig{n}" for n in range(3, 9)), "slackwater.evaluate.corr_paper"),
    **dict.fromkeys((f"seq-fig{n}" for n in range(6, 10)), "slackwater.evaluate.seq_paper"),
}
"""Experiment name to the module whose EXPERIMENTS has it: imported only when asked for."""


def experiment_names() -> list[str]:
    """Every experiment that can be repeated."""
    return list(_MODULES)


def reproduce(name: str, out: Path, *, quick: bool = False) -> list[Path]:
    """Run an experiment, write its files into `out`, and return their paths."""
    if name not in _MODULES:
        raise ConfigError(f"there is no experiment {name!r}", step="reproduce",
                          expected=", ".join(_MODULES), hint=did_you_mean(name, _MODULES))
    out.mkdir(parents=True, exist_ok=True)
    experiments: dict[str, Experiment] = importlib.import_module(_MODULES[name]).EXPERIMENTS
    return experiments[name](out, quick)
