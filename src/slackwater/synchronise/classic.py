"""The methods of the paper as kernels: each is a data structure with an insertion and a test."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from slackwater.core.kernel import Store
from slackwater.synchronise.config import Synchroniser

if TYPE_CHECKING:
    from slackwater.synchronise.structure import ClassicLogic

__all__ = ["INDEXED", "LINKED", "MERGED", "RED_BLACK", "TREE", "Classic"]

TREE, MERGED, RED_BLACK, LINKED, INDEXED = range(5)


@dataclass(frozen=True)
class Classic(Synchroniser):
    """A method that keeps one structure a key; for study and comparison, not for many keys."""

    method: ClassVar[int]

    def logic(self, store: Store) -> ClassicLogic:
        """A logic with nothing held."""
        # the compiled loop knows every method, so it cannot be imported before them
        from slackwater.synchronise.structure import ClassicLogic

        return ClassicLogic(self, store)
