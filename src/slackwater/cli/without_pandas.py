"""A command starts at once: pyarrow imports pandas for its first array, which no command needs.

That takes a sixth of a second, of the eight tenths that a short command has.  pyarrow looks for
pandas once in a process; so it is asked for an array while pandas cannot be found.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from typing import Any

__all__ = ["without_pandas"]

# those that run kernels in this process; Spark's own Python wants pandas
_HERE = {"profile", "evaluate", "tune", "advise", "generate", "reorder", "synchronise", "query",
         "correlate"}


class _Hidden(MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)


def without_pandas(words: Sequence[str]) -> None:
    """Let pyarrow do without, if these are the words of a command that does."""
    if not words or words[0] not in _HERE or any("spark" in word for word in words):
        return
    hidden = _Hidden()
    sys.meta_path.insert(0, hidden)
    try:
        import pyarrow as pa

        pa.array([0])
    finally:
        sys.meta_path.remove(hidden)
