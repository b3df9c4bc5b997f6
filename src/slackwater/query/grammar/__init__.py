"""The grammars, one file a language, and their parsers."""

from __future__ import annotations

from functools import lru_cache

from lark import Lark

__all__ = ["parser_of"]


@lru_cache(maxsize=16)
def parser_of(name: str, start: str) -> Lark:
    """The parser of ``name.lark`` in this folder; made once."""
    return Lark.open(f"{name}.lark", rel_to=__file__, start=start, parser="lalr",
                     propagate_positions=True, maybe_placeholders=True)
