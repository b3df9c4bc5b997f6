"""Tells a MATCH_RECOGNIZE query from other SELECTs, before anything heavy is imported."""

from __future__ import annotations

import re

__all__ = ["is_recognise"]

_WORD = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|(\bMATCH_RECOGNI[ZS]E\s*\()""",
    re.IGNORECASE | re.DOTALL)


def is_recognise(text: str) -> bool:
    """Whether a query has MATCH_RECOGNIZE, outside texts, quoted names and comments.

    Examples
    --------
    >>> is_recognise("SELECT * FROM s MATCH_RECOGNIZE (PATTERN (A))")
    True
    >>> is_recognise("SELECT x FROM s [RANGE 1 s] WHERE y = 'MATCH_RECOGNIZE ('")
    False
    """
    return any(found[1] for found in _WORD.finditer(text))
