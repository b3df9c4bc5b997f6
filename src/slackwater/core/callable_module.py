"""Packages that can be called: ``slackwater.reorder(df)``.

``from slackwater.reorder import Tide`` must work as well, and importing a package would put it in
the place of a function with the same name.  So the package itself answers the call, by the function
of that name in `slackwater.frames`, which is imported then and not before.

May import: nothing of the package.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

__all__ = ["make_callable"]


class _Callable(ModuleType):
    """A package whose call is that of the function of its name in `slackwater.frames`."""

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.__wrapped__(*args, **options)

    @property
    def __wrapped__(self) -> Any:
        # `inspect.signature` and `help` look here
        frames = importlib.import_module("slackwater.frames")
        return getattr(frames, self.__name__.rpartition(".")[2])


def make_callable(name: str) -> None:
    """Let the package of this name be called."""
    sys.modules[name].__class__ = _Callable
