"""Facts about a stage after a step, worked out only if somebody reads them.

Most of them need a look at every key, and most callers want none: a push must not pay for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["Notes"]


class Notes(Mapping[str, Any]):
    """The notes of one step: ``held`` is known at once, the others when they are first read.

    They are always those after the step: whoever changes the stage calls `settle` before, which
    costs something only while the notes are still in somebody's hands.

    Examples
    --------
    >>> notes = Notes(2, lambda: {"held": 2, "keys": 1})
    >>> notes["held"], dict(notes)
    (2, {'held': 2, 'keys': 1})
    """

    __slots__ = ("__weakref__", "_ask", "_facts", "_held")

    def __init__(self, held: int, ask: Callable[[], Mapping[str, Any]]) -> None:
        self._held = held
        self._ask: Callable[[], Mapping[str, Any]] | None = ask
        self._facts: Mapping[str, Any] = {}

    def settle(self) -> Mapping[str, Any]:
        """Work out what has not been read yet."""
        if self._ask is not None:
            self._facts, self._ask = self._ask(), None
        return self._facts

    def __getitem__(self, name: str) -> Any:
        return self._held if name == "held" else self.settle()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.settle())

    def __len__(self) -> int:
        return len(self.settle())

    def __repr__(self) -> str:
        return repr(dict(self))
