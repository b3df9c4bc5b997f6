"""The body of a request as its bytes come in: of a given length, or in chunks."""

from __future__ import annotations

import re

from slackwater.gateway.http.answer import Refused

__all__ = ["Body"]

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,8})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?")
_LONGEST_LINE, _TRAILERS = 256, 4096
_FREE_CHUNKS, _SMALLEST = 256, 64


class Body:
    """Takes bytes until the body is whole.

    Parameters
    ----------
    length
        What the head says; None: it comes in chunks.
    most
        Bytes that are taken.
    drop
        Count the bytes, but do not keep them.
    """

    def __init__(self, length: int | None, most: int, *, drop: bool = False) -> None:
        self.data = bytearray()
        self._size, self._most, self._drop = 0, most, drop
        self._left = length or 0  # of the body, or of the chunk
        self._chunked = length is None
        self._line = b""
        self._chunks = self._trailers = 0
        self._after_chunk = self._in_trailers = False
        self.whole = length == 0

    def feed(self, data: bytes) -> bytes:
        """Take what belongs to the body; gives back what comes after it.

        Raises
        ------
        Refused
            If the chunks cannot be read, or are more than is taken.
        """
        byte = 0
        while byte < len(data) and not self.whole:
            if not self._left:
                byte = self._next_line(data, byte)
                continue
            taken = min(self._left, len(data) - byte)
            self._size += taken
            if self._size > self._most:
                raise self._too_large()
            if not self._drop:
                self.data += data if taken == len(data) else data[byte:byte + taken]
            byte += taken
            self._left -= taken
            if not self._left:
                self._after_chunk = self._chunked
                self.whole = not self._chunked
        return data[byte:]

    def _too_large(self) -> Refused:
        return Refused(413, f"the body is too large; at most {self._most} bytes")

    def _next_line(self, data: bytes, byte: int) -> int:
        text = self._line + data[byte:byte + _LONGEST_LINE + 2]
        end = text.find(b"\r\n")
        if end < 0:
            if len(text) > _LONGEST_LINE + 1:
                raise Refused(400, "a line between the chunks is too long")
            self._line = text
            return len(data)
        byte += end + 2 - len(self._line)
        self._line, line = b"", text[:end]
        if b"\n" in line or b"\r" in line:
            raise Refused(400, "a line between the chunks does not end in CR LF")
        if self._in_trailers:
            self._trailers += end + 2
            if self._trailers > _TRAILERS:
                raise Refused(431, "the fields after the last chunk are too long")
            self.whole = not line
        elif self._after_chunk:
            if line:
                raise Refused(400, "a chunk is longer than it says")
            self._after_chunk = False
        else:
            self._begin_chunk(line)
        return byte

    def _begin_chunk(self, line: bytes) -> None:
        found = _SIZE.fullmatch(line)
        if found is None:
            raise Refused(400, "the size of a chunk cannot be read")
        self._left = int(found[1], 16)
        self._in_trailers = self._left == 0
        if self._size + self._left > self._most:
            raise self._too_large()
        self._chunks += 1
        # a chunk costs more than its bytes: a body of single bytes would keep everybody waiting
        if self._chunks > _FREE_CHUNKS + self._size // _SMALLEST:
            raise Refused(413, f"the chunks are too small; send {_SMALLEST} bytes or more in each")
