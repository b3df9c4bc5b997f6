"""What a Python worker of Spark does between tasks, and need not.

After every task a worker looks through all its objects for garbage.  Those of the libraries that it
has loaded are some hundred thousand, which takes it 40 ms each time, several times per micro-batch.
None of them ever becomes garbage, so here they are put aside.  And before every task it has the
directories of all zip archives on its path read again, Spark's own among them: 20 ms more.
"""

from __future__ import annotations

import gc
import sys

__all__ = ["settle"]

_settled = 0  # modules that were loaded when objects were last put aside


def settle() -> None:
    """After a task: put aside what is loaded, if anything was since last time."""
    global _settled
    for path in [path for path in sys.path_importer_cache if path.endswith(".zip")]:
        del sys.path_importer_cache[path]  # an import that looks there opens it again
    if len(sys.modules) != _settled:
        _settled = len(sys.modules)
        gc.collect()
        gc.freeze()
