"""Names of columns: what a user may write for several of them, and which ones are ours.

Enters: what a user wrote, or the columns of the user's rows.  Leaves: tuples of names, or an error.
May import: errors.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from slackwater.core.errors import ConfigError

__all__ = ["ADDED", "ARRIVAL", "BUCKET", "ON_THE_WAY", "OWNER", "RAW", "RESERVED", "check_reserved",
           "column_names", "is_reserved", "unused"]

N = TypeVar("N", bound="str | tuple[str, str]")

ADDED = ("_status", "_reason", "_released", "_row", "_left_row", "_right_row")
"""Columns that operators add: what became of a row, why, when, and the row itself where results
have another shape than the input."""

BUCKET, OWNER = "_bucket", "_owner"
"""Where a row without keys is correlated, and whether this copy of it may be reported."""

ON_THE_WAY = (BUCKET, OWNER, "_bucket_left", "_bucket_right", "_shard", "_position",
              "_slackwater_row", "__key", "__time", "__n", "__clock", "__member", "__min")
"""Columns that rows carry between the parts of an operator, and that no user sees."""

ARRIVAL, RAW = "_arrival", "_raw"
"""When a row without an arrival column arrived, and the text of a row that a source could not read.
Sources and earlier steps of a pipeline give these to the next step, so its input may have them."""

RESERVED = (*ADDED, *ON_THE_WAY)
"""Names that no column of an operator's input or results may have, whatever their case."""

_FOLDED = frozenset(name.casefold() for name in RESERVED)


def is_reserved(name: str) -> bool:
    """Whether the name is one of ours; Spark takes names of different case for the same.

    Examples
    --------
    >>> is_reserved("_Status"), is_reserved("status"), is_reserved("__op")
    (True, False, False)
    """
    return name.casefold() in _FOLDED


def check_reserved(columns: Iterable[str], *, step: str, allow: tuple[str, ...] = ()) -> None:
    """Raise if the input has a column with a name of ours."""
    for name in columns:
        if name not in allow and is_reserved(name):
            raise ConfigError(
                f"the input has a column {name!r}, a name that operators use themselves", step=step,
                expected=f"no column called {', '.join(RESERVED)}, in upper or lower case",
                hint="rename it; if it comes from another operator, take ready(...) of its output")


def column_names(given: str | Iterable[N]) -> tuple[N, ...]:
    """One name or several (or pairs of names), as a tuple; a text is one name.

    Examples
    --------
    >>> column_names("room"), column_names(["room", "floor"])
    (('room',), ('room', 'floor'))
    """
    return (given,) if isinstance(given, str) else tuple(given)  # type: ignore[return-value]


def unused(stem: str, columns: Iterable[str]) -> str:
    """The stem with as many underscores in front as no column's name begins with.

    Examples
    --------
    >>> unused("_agg", ["time", "_agg0", "__AGG"])
    '___agg'
    """
    taken = [name.casefold() for name in columns]
    while any(name.startswith(stem) for name in taken):
        stem = f"_{stem}"
    return stem
