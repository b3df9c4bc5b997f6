"""The small blobs of a shard, as one value.

Most shards of most queries are small: an index, a few pages of keys, the rows of some seconds.
Fetching and writing each of those blobs by itself would cost a round trip each; together they are
read and written with the shard's head.  What is near is written whole in every micro-batch that
changes anything of it, so its size is bounded.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

__all__ = ["Near"]

_MOST, _LARGEST = 32 * 1024, 16 * 1024
"""Bytes of all that is near, and of a blob: writing them takes about as long as a round trip."""
_LENGTHS = struct.Struct("<HI")
_HEAD = ""  # no blob's name


@dataclass
class Near:
    """Blobs by name.

    Parameters
    ----------
    blobs
        Those that are here.
    others
        Whether blobs were ever put elsewhere: a name that is not here may be there.
    head
        The shard's head, which is read with them.

    Examples
    --------
    >>> near = Near()
    >>> near.add("index", b"abc"), near.add("page", bytes(100_000))
    (True, False)
    >>> Near.from_bytes(near.to_bytes()).blobs
    {'index': b'abc'}
    """

    blobs: dict[str, bytes] = field(default_factory=dict)
    others: bool = False
    head: str = ""

    def __post_init__(self) -> None:
        self._size = sum(map(len, self.blobs.values()))

    def add(self, name: str, blob: bytes) -> bool:
        """Take a blob that is not here, if there is room: nothing is moved to make some."""
        if len(blob) > _LARGEST or self._size + len(blob) > _MOST:
            return False
        self.blobs[name] = blob
        self._size += len(blob)
        return True

    def remove(self, name: str) -> bool:
        """Whether it was here."""
        blob = self.blobs.pop(name, None)
        self._size -= len(blob or b"")
        return blob is not None

    def to_bytes(self) -> bytes:
        """For the state."""
        parts = [b"\x01" if self.others else b"\x00"]
        for name, blob in [(_HEAD, self.head.encode()), *self.blobs.items()]:
            text = name.encode()
            parts += [_LENGTHS.pack(len(text), len(blob)), text, blob]
        return b"".join(parts)

    @classmethod
    def from_bytes(cls, packed: bytes) -> Near:
        """From the state; nothing: a new shard."""
        if not packed:
            return cls()
        blobs: dict[str, bytes] = {}
        at = 1
        while at < len(packed):
            name, blob = _LENGTHS.unpack_from(packed, at)
            at += _LENGTHS.size
            blobs[bytes(packed[at:at + name]).decode()] = bytes(packed[at + name:at + name + blob])
            at += name + blob
        head = blobs.pop(_HEAD).decode()
        return cls(blobs, packed[0] == 1, head)
