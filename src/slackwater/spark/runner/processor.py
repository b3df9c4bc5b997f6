"""The stateful operator of a query: groups of steps, shard by shard."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from slackwater.spark.runner.shard_state import SparkStore
from slackwater.spark.session.worker import settle

if TYPE_CHECKING:
    from slackwater.spark.runner.group import Group

__all__ = ["GroupProcessor"]


class GroupProcessor(StatefulProcessor):
    """For transformWithState: groups are shards, rows are blobs and ticks.

    Before a query starts, Spark asks the processor in a process of its own which state it keeps.
    The kernels take no part in the answer, so they travel packed, and what runs them is imported
    with the first rows: else that process would load all of it, for every operator of every query.

    Parameters
    ----------
    groups
        The steps, and the labels of their shards.
    most
        Bytes that a shard gives in a micro-batch (see `slackwater.spark.runner.owed`).
    """

    def __init__(self, groups: tuple[Group, ...], most: int) -> None:
        self._packed, self._most = cloudpickle.dumps(groups), most

    @cached_property
    def _groups(self) -> dict[int, Group]:
        groups: tuple[Group, ...] = pickle.loads(self._packed)
        return {label: group for group in groups for label in group.labels}

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Open the state."""
        self._store = SparkStore(handle)

    def handleInputRows(self, key: Any, rows: Iterator[Row], timerValues: Any) -> Iterator[Row]:  # noqa: N802
        """Push a micro-batch, and let time pass."""
        from slackwater.spark.runner.owed import bounded
        from slackwater.spark.runner.shard import ShardRun, handed_on

        group = self._groups[key[0]]
        if group.passes is not None:
            yield from handed_on(group.passes, rows)
            return
        head = self._store.open(len(group.labels))
        found = ShardRun(group, head, self._store).run(list(rows))
        yield from bounded(found, head, self._store, self._most, tells=group.tells)
        self._store.flush(head)
        settle()

    def close(self) -> None:
        """Nothing is open."""
