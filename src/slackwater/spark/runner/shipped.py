"""Functions on their way to Spark's workers, which may lack this package: then they say so."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle

__all__ = ["shipped"]

Batches = Iterator[pa.RecordBatch]


def shipped(function: Callable[[Batches], Batches]) -> Callable[[Batches], Batches]:
    """The function, packed: a worker that cannot unpack it tells what to do about it.

    What is handed to Spark names nothing of this package, so that it can be read where the package
    is not; otherwise all that a user sees is a ModuleNotFoundError out of pickle.
    """
    packed: bytes = cloudpickle.dumps(function)

    def run(batches: Any) -> Any:
        import pickle
        import sys

        try:
            import slackwater  # noqa: F401
        except ImportError as missing:
            raise ImportError(
                f"No module named 'slackwater' where this worker runs ({sys.executable}). Install "
                "the wheel of the driver's version there, or ship a packed environment with "
                "spark.archives and PYSPARK_PYTHON: docs/deployment.md shows how. --py-files alone "
                "cannot do it: numpy, numba and pyarrow are needed, too.") from missing
        yield from pickle.loads(packed)(batches)

    return run
