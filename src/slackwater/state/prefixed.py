"""One store shared by several logics, each with names of its own."""

from __future__ import annotations

from slackwater.kernel import Store

__all__ = ["Prefixed"]


class Prefixed:
    """A part of a store: every name starts with the prefix.

    Examples
    --------
    >>> from slackwater.kernel import MemoryStore
    >>> whole = MemoryStore()
    >>> Prefixed(whole, "first").put("held/1", b"rows")
    >>> list(whole)
    ['first:held/1']
    """

    def __init__(self, store: Store, prefix: str) -> None:
        self._store, self._prefix = store, prefix + ":"

    def get(self, name: str) -> bytes:
        """Fetch a blob."""
        return self._store.get(self._prefix + name)

    def put(self, name: str, blob: bytes) -> None:
        """Write or replace a blob."""
        self._store.put(self._prefix + name, blob)

    def drop(self, name: str) -> None:
        """Delete a blob."""
        self._store.drop(self._prefix + name)
