"""Blobs as they lie in Spark's state: compressed where that makes them shorter.

Spark gives a value's bytes to Python, and takes them, as text in a pickle: hardly 200 MB/s, where
LZ4 takes over 1 GB/s.  Pages of numbers shrink to a third or less by it, held rows to a half; so
does what Spark writes to the checkpoint with every micro-batch.
"""

from __future__ import annotations

import struct

import pyarrow as pa

__all__ = ["plain", "squeezed"]

_PLAIN, _LZ4 = 2, 3
"""What the column beside the bytes says of them; other numbers are of layouts before these."""
_SIZE = struct.Struct("<Q")
_SHORT = 256  # bytes that a round trip does not notice
_SAMPLE = 1 << 16
"""Of a longer blob so much is tried first: pictures and ciphers do not get shorter."""


def squeezed(blob: bytes) -> tuple[bytes, int]:
    """The bytes to keep, and what is to be said of them.

    Examples
    --------
    >>> kept = squeezed(bytes(10_000))
    >>> len(kept[0]) < 100, plain(*kept) == bytes(10_000)
    (True, True)
    >>> squeezed(b"short")
    (b'short', 2)
    """
    if len(blob) >= _SHORT and _shrinks(blob):
        small = _SIZE.pack(len(blob)) + pa.compress(blob, codec="lz4_raw", asbytes=True)
        if len(small) < len(blob):
            return small, _LZ4
    return blob, _PLAIN


def _shrinks(blob: bytes) -> bool:
    middle = memoryview(blob)[len(blob) // 2:][:_SAMPLE]
    return (len(blob) <= 2 * _SAMPLE
            or pa.compress(middle, codec="lz4_raw").size < len(middle) * 9 // 10)


def plain(kept: bytes, said: int) -> bytes:
    """What was squeezed."""
    if said != _LZ4:
        return bytes(kept)
    size, = _SIZE.unpack_from(kept)
    return pa.decompress(memoryview(kept)[_SIZE.size:], size, codec="lz4_raw", asbytes=True)
