"""Lines of a log, made small enough to show: a browser hangs on a name of a megabyte."""

from __future__ import annotations

from itertools import islice
from typing import Any

__all__ = ["TEXT", "bounded", "cut"]

TEXT = 1000
"""Characters of a name or a value that are shown."""
_DEPTH = 20  # structures within structures


def cut(text: str, most: int = TEXT) -> str:
    """The text, or the beginning of a long one."""
    return text if len(text) <= most else text[:most] + "…"


def bounded(value: Any, most: int | None = None, depth: int = _DEPTH) -> Any:
    """The value with long texts cut, and what is nested too deeply left out.

    Parameters
    ----------
    value
        As JSON has it.
    most
        Members of a structure and elements of a list that are kept; None: all.
    depth
        How deep structures may be nested.

    Examples
    --------
    >>> bounded({"x" * 2000: [1, 2, 3]}, most=2) == {"x" * 1000 + "…": [1, 2]}
    True
    >>> bounded([[["deep"]]], depth=2)
    [['…']]
    """
    if isinstance(value, str):
        return cut(value)
    if not isinstance(value, (dict, list)):
        return value
    if not depth:
        return "…"
    if isinstance(value, dict):
        return {cut(str(name)): bounded(one, most, depth - 1)
                for name, one in islice(value.items(), most)}
    return [bounded(one, most, depth - 1) for one in islice(value, most)]
