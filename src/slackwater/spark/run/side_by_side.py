"""The sinks of a micro-batch, written at the same time: each mostly waits for Spark and disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache

from pyspark.sql import SparkSession
from pyspark.util import inheritable_thread_target

__all__ = ["side_by_side"]

_MOST = 4


def side_by_side(session: SparkSession, writes: Sequence[Callable[[], None]]) -> None:
    """Do all of these; if some fail, the first of them that did is raised once all have ended."""
    if len(writes) < 2:
        for write in writes:
            write()
        return
    # the threads are to have the properties of this one: Spark stops the jobs of a query by them
    begun = [_pool().submit(inheritable_thread_target(session)(write)) for write in writes]
    failures = [error for error in (one.exception() for one in begun) if error is not None]
    if failures:
        raise failures[0]


@cache
def _pool() -> ThreadPoolExecutor:
    """One for all micro-batches: each new thread would have a thread of the JVM to itself."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="slackwater-sink")
