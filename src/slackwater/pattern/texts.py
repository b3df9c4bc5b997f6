"""Texts of several events against each other: their order, and LIKE.

Events carry a text as its code, a number that only tells whether two are equal.  The bytes (UTF-8)
of all codes stand one after the other; their order is that of the characters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from slackwater.pattern.stacks import inner

__all__ = ["NO_TEXTS", "Texts", "compare", "is_like", "texts_of"]

Int64 = NDArray[np.int64]
Bytes = NDArray[np.uint8]
_ANY, _ONE, _ESCAPE = ord("%"), ord("_"), ord("\\")


class Texts(NamedTuple):
    """Code c is data[start[c] … start[c + 1]]."""

    start: Int64
    data: Bytes


NO_TEXTS = Texts(np.zeros(1, np.int64), np.zeros(0, np.uint8))


def texts_of(values: pa.Array) -> Texts:
    """The texts of codes 0, 1, 2…"""
    known = values.cast(pa.large_string()).fill_null("")
    if not len(known):
        return NO_TEXTS
    _, offsets, data = known.buffers()
    ends = np.frombuffer(offsets, np.int64)[known.offset: known.offset + len(known) + 1]
    return Texts(np.array(ends), np.array(np.frombuffer(data, np.uint8)) if data is not None
                 else np.zeros(0, np.uint8))


@inner
def compare(texts: Texts, a: int, b: int) -> int:
    """−1, 0 or 1: the text of code a before, the same as, or behind that of code b."""
    data, i, j = texts.data, texts.start[a], texts.start[b]
    end, last = texts.start[a + 1], texts.start[b + 1]
    while i < end and j < last:
        if data[i] != data[j]:
            return -1 if data[i] < data[j] else 1
        i += 1
        j += 1
    return (1 if i < end else 0) - (1 if j < last else 0)


@inner
def _after(data: Bytes, i: int, end: int) -> int:
    """Where the character after the one at i begins."""
    i += 1
    while i < end and data[i] & 0xC0 == 0x80:
        i += 1
    return i


@inner
def is_like(texts: Texts, text: int, pattern: int) -> bool:
    """Whether a text fits a pattern: % any text, _ one character, a backslash takes both plainly.

    After a mismatch the last % takes one character more; no earlier one need be asked.
    """
    data = texts.data
    i, end = texts.start[text], texts.start[text + 1]
    p, last = texts.start[pattern], texts.start[pattern + 1]
    star, resume = np.int64(-1), np.int64(0)
    while True:
        if p < last and data[p] == _ANY:
            star, resume = p, i
            p += 1
            continue
        if p < last and i < end:
            if data[p] == _ONE:
                i, p = _after(data, i, end), p + 1
                continue
            at = p + 1 if data[p] == _ESCAPE and p + 1 < last else p
            if data[at] == data[i]:
                i, p = i + 1, at + 1
                continue
        elif p == last and i == end:
            return True
        if star < 0 or resume >= end:
            return False
        resume = _after(data, resume, end)
        i, p = resume, star + 1
