"""Bring a query of one's own to its end: everything that is held is released."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from slackwater.core.errors import ConfigError
from slackwater.spark.runner.observed import operators_told
from slackwater.spark.runner.owed import OWED

__all__ = ["drain", "finishing"]

_finish: ContextVar[bool] = ContextVar("finish", default=False)


def finishing() -> bool:
    """Whether the operators that are made now tell their steps that nothing more comes."""
    return _finish.get()


def drain(make: Callable[[], DataStreamWriter]) -> None:
    """Take what is there, then release all that is held, as if nothing more came.

    The query ends, and its checkpoint holds no rows any more: open windows are closed, and an
    operator may be changed, though what it has learned stays with it.  Rows that come later go on
    from there.

    Parameters
    ----------
    make
        Makes the query from its sources on, as for every start, and gives its writer with the
        checkpoint, without a trigger.

    Examples
    --------
    >>> drain(lambda: reorder(stream(), arrival="arrival").writeStream.format("parquet")
    ...       .option("path", out).option("checkpointLocation", checkpoint))  # doctest: +SKIP
    """
    _run(make)
    while True:
        with _telling_the_end():
            ended = _run(make)
        told = [found for report in ended.recentProgress if (found := list(operators_told(report)))]
        if not told:
            raise ConfigError("the query has no operator that can be told that nothing more comes",
                              step="drain", hint="make the operators inside the function, too")
        if not any(OWED in steps for steps, _ in told[-1]):
            return


def _run(make: Callable[[], DataStreamWriter]) -> StreamingQuery:
    query = make().trigger(availableNow=True).start()
    query.awaitTermination()
    return query


@contextmanager
def _telling_the_end() -> Iterator[None]:
    before = _finish.set(True)
    try:
        yield
    finally:
        _finish.reset(before)
