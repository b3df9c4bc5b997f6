"""The grammars, one file a language, and their parsers.

Words are keywords where the grammar asks for them and names everywhere else.  Each grammar has two
parsers: the first keeps the `RESERVED` words for itself, so that a forgotten column is noticed
where it is missing; the second, for texts that the first refuses, lets them be names wherever no
keyword can stand.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache, partial
from pathlib import Path

import lark
from lark import Lark
from lark.lexer import PatternRE, PatternStr, TerminalDef

__all__ = ["ALWAYS_RESERVED", "RESERVED", "begins_reserved", "parser_of"]

ALWAYS_RESERVED = ("NOT", "NULL", "TRUE", "FALSE", "CASE")
"""Words that begin a value, and so are no columns unless quoted."""

RESERVED = ("SELECT", "FROM", "WHERE", "GROUP", "BY", "HAVING", "AS", "AND", "OR", "IN", "BETWEEN",
            "LIKE", "IS", "WHEN", "THEN", "ELSE", "END", "WITHIN", "RETURN", *ALWAYS_RESERVED)
"""Words that are names only where nothing else makes sense of a text."""


@lru_cache(maxsize=16)
def parser_of(name: str, start: str, *, soft: bool = False) -> Lark:
    """The parser of ``name.lark`` in this folder; made once."""
    return Lark.open(f"{name}.lark", rel_to=__file__, start=start, parser="lalr",
                     propagate_positions=True, maybe_placeholders=True,
                     edit_terminals=partial(_edit, soft=soft),
                     cache=_tables(f"{name}-{start}-{soft}"))


def _tables(name: str) -> str | bool:
    """Where a parser's tables are kept, which take 0.3 s to make: by what they are made from."""
    from slackwater.core.compiled import cache_folder

    folder = cache_folder()
    if folder is None:
        return False
    here = Path(__file__)
    texts = [file.read_bytes() for file in (here, *sorted(here.parent.glob("*.lark")))]
    made_from = b"".join(texts) + f"{lark.__version__} {unicodedata.unidata_version}".encode()
    kept = folder / hashlib.blake2b(made_from, digest_size=16).hexdigest()
    try:
        kept.mkdir(exist_ok=True)
    except OSError:
        return False  # a folder that can only be read
    return str(kept / name)


def begins_reserved(text: str, at: int = 0) -> bool:
    """Whether a reserved word stands at this place of a text."""
    return _reserved_word().match(text, at) is not None


@lru_cache(maxsize=1)
def _reserved_word() -> re.Pattern[str]:
    return re.compile(f"(?:{'|'.join(RESERVED)})(?![{_letter()}])", re.IGNORECASE)


@lru_cache(maxsize=1)
def _letter() -> str:
    r"""What a name goes on with, for a class of characters.

    ``\w`` leaves out the marks that many scripts put over, under and behind their letters.
    """
    marks, start = [], None
    for code in range(0x300, 0x10000):
        if unicodedata.category(chr(code))[0] == "M":
            start = code if start is None else start
        elif start is not None:
            marks.append(f"{chr(start)}-{chr(code - 1)}")
            start = None
    return r"\w" + "".join(marks) + "\u200c\u200d"


def _edit(terminal: TerminalDef, soft: bool) -> None:
    """Names in every script; keywords end where a word ends, and go before names."""
    pattern, bare = terminal.pattern, terminal.name.rpartition("__")[2]
    end = f"(?![{_letter()}])"
    if bare == "NAME":
        kept = ALWAYS_RESERVED if soft else RESERVED
        words = "|".join(kept)
        terminal.pattern = PatternRE(f"(?!(?:{words}){end})[^\\W\\d][{_letter()}]*", ("i",))
    elif isinstance(pattern, PatternStr) and re.fullmatch(r"\w+", pattern.value):
        terminal.pattern = PatternRE(re.escape(pattern.value) + end, ("i",))
        terminal.priority = max(terminal.priority, 1)


