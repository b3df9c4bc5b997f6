"""Packages whose names are loaded when they are first used.

Spark starts a process for each question that it asks a Python source or a stateful operator, and a
process that only packs rows needs no compiler: what such a process imports is paid for every time.

May import: nothing of the package.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["lazy"]


def lazy(package: str, home: Mapping[str, str]) -> Callable[[str], Any]:
    """A package's ``__getattr__``: `home` says in which of its modules each name is.

    Examples
    --------
    >>> lazy("slackwater.core", {"micros": "durations"})("micros")("1s")
    1000000
    """

    for name in {module.partition(".")[0] for module in home.values()} & set(home):
        # importing the module puts it in the package under its name, in the place of what is in it
        raise ValueError(f"{package}.{name} would be the module as soon as that is imported")

    def __getattr__(name: str) -> Any:  # noqa: N807
        if name not in home:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(f"{package}.{home[name]}"), name)

    return __getattr__
