"""The number of state partitions of a checkpoint, changed while nothing runs.

A shard, with the kernels that run in it, is never divided: there are more shards than partitions
from the start, and another number of partitions only puts them together differently.  So what a
shard has learnt, promised and holds is untouched, and results are the same by construction, for
every kernel and for Spark's own stateful operators beside them.  To split and merge the states of
kernels key by key would have to be right for each of them, and could not be for clocks and
estimates that keys share.  The price: no more tasks can share the work than there are shards.

Spark's own tool moves the state (since 4.2).  It adds a micro-batch without input to the
checkpoint, whose commit is the moment when the new number counts; one that was interrupted is
repeated by the same call.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from slackwater.core.errors import ConfigError, SnapshotError
from slackwater.spark.run.lock import locked
from slackwater.spark.run.query_log import QueryLog, query_logs
from slackwater.spark.run.state import shards_in
from slackwater.spark.runner.shard_state import Head

__all__ = ["Moved", "migrate_state"]


@dataclass(frozen=True)
class Moved:
    """A query whose state partitions are as many as asked for, and were not perhaps.

    Parameters
    ----------
    query
        Its name.
    before, after
        The number of partitions.
    steps
        The number of shards of each step that has a state: as many partitions can have a part of
        it.
    """

    query: str
    before: int | None
    after: int
    steps: dict[str, int]

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)


def migrate_state(session: SparkSession, checkpoint: str, partitions: int) -> list[Moved]:
    """Give the state of all queries of a checkpoint another number of partitions.

    Nothing may run with the checkpoint.  The next start goes on with the new number, whatever
    ``spark.sql.shuffle.partitions`` says.

    Parameters
    ----------
    session
        A classic Spark session, of 4.2 or later.
    checkpoint
        The folder that a pipeline names as its checkpoint, or that of one query.
    partitions
        How many.

    Raises
    ------
    ConfigError
        Nothing has run with this checkpoint, another run has it, or Spark cannot do it.
    SnapshotError
        A micro-batch is pending: it must be finished under the plan that it was planned with.
    """
    if partitions < 1:
        raise ConfigError("there must be at least one partition", step="state migrate",
                          got=partitions)
    if getattr(session, "_jsc", None) is None or not hasattr(
            type(session), "_streamingCheckpointManager"):
        raise ConfigError("this Spark cannot repartition a state", step="state migrate",
                          expected="a classic session of Spark 4.2 or later",
                          got=f"Spark {session.version}")
    with locked(session, checkpoint):
        return [_moved(session, name, log, partitions)
                for name, log in query_logs(session, checkpoint).items()]


def _moved(session: SparkSession, name: str, log: QueryLog, partitions: int) -> Moved:
    before = log.partitions
    if log.pending or before != partitions:
        try:
            session._streamingCheckpointManager.repartition(log.address, partitions)
        except Py4JJavaError as error:
            raise _refusal(error, name, log) from None
    return Moved(name, before, partitions, _shards(session, log))


def _refusal(error: Py4JJavaError, name: str, log: QueryLog) -> SnapshotError:
    words = str(error.java_exception.getMessage())
    if "LAST_BATCH_FAILED" in words:
        return SnapshotError(
            f"micro-batch {log.planned} of {name!r} is planned and not done", step="state migrate",
            got=log.address,
            hint="finish it first: start the query once more as it was, with availableNow "
                 "(a pipeline: slackwater run FILE --until-done --keep-held)")
    if "LAST_BATCH_ABANDONED_REPARTITION" in words:
        return SnapshotError(
            f"a change to {log.partitions} partitions was interrupted", step="state migrate",
            got=log.address, hint=f"finish it first: --partitions {log.partitions}")
    return SnapshotError(f"Spark cannot repartition the state of {name!r}: {words}",
                         step="state migrate", got=log.address)


def _shards(session: SparkSession, log: QueryLog) -> dict[str, int]:
    """How many shards each step has, as their heads know; of Spark's own operators nothing."""
    try:
        heads = [Head.from_text(near.head) for _, _, near in shards_in(session, log.address)]
    except PySparkException:
        return {}
    return {step: head.shards for head in heads for step in sorted(head.held) if "~" not in step}
