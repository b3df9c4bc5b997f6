"""What a checkpoint holds: read by Spark's own state reader, while nothing or something runs."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from slackwater.core.kernel import MemoryStore
from slackwater.core.state.survey import Survey, survey
from slackwater.spark.run.query_log import query_logs
from slackwater.spark.runner.near import Near
from slackwater.spark.runner.owed import OWED
from slackwater.spark.runner.shard_state import NEAR, STATE, Head
from slackwater.spark.runner.squeezed import plain

__all__ = ["StepState", "read_state", "shards_in"]

_WANTED = r"^[^/]+/(index$|keys/|marks/)"
"""What a survey reads; the rows themselves stay where they are."""


@dataclass
class StepState:
    """One step in one shard: what its snapshot tells, and the bytes of its state."""

    query: str
    step: str
    shard: int
    partition: int
    held: int
    bytes: int = 0
    blobs: int = 0
    found: Survey | None = None
    store: MemoryStore = field(default_factory=MemoryStore, repr=False)

    def to_json(self) -> dict[str, Any]:
        """Plain values."""
        found = self.found
        return {"query": self.query, "step": self.step, "shard": self.shard,
                "partition": self.partition, "held": self.held, "bytes": self.bytes,
                "blobs": self.blobs,
                "kind": None if found is None else found.kind,
                "keys": None if found is None else found.keys,
                "oldest": None if found is None else found.oldest,
                "watermark": None if found is None else found.watermark,
                "ahead": None if found is None else found.ahead,
                "marks": [] if found is None else [vars(mark) for mark in found.marks]}


def read_state(session: SparkSession, checkpoint: str, *, most: int = 10) -> list[StepState]:
    """The steps of every query in a checkpoint folder, shard by shard.

    Parameters
    ----------
    session
        A classic Spark session.
    checkpoint
        The folder that a pipeline names as its checkpoint, or that of one query.
    most
        How many keys to name per step and shard: those that are furthest back.

    Raises
    ------
    ConfigError
        Nothing has run with this checkpoint.
    """
    steps: list[StepState] = []
    for query, log in query_logs(session, checkpoint).items():
        steps += _steps(session, query, log.address, most)
    return steps


def _steps(session: SparkSession, query: str, place: str, most: int) -> list[StepState]:
    steps: dict[tuple[int, str], StepState] = {}
    for partition, shard, near in shards_in(session, place):
        head = Head.from_text(near.head)
        owed = head.owed[1] - head.owed[0]
        # results that wait for a micro-batch have no step, only blobs
        for step, held in {**head.held, **({OWED: owed} if owed else {})}.items():
            steps[shard, step] = StepState(query, step, shard, partition, held)
        for name, blob in near.blobs.items():
            _count(steps, shard, name.partition("/")[0], len(blob), 1)
            _read(steps, shard, name, blob)
    blobs = _entries(session, place).where(F.col("name") != NEAR)
    sizes = blobs.select("shard", F.substring_index("name", "/", 1).alias("step"),
                         F.length("blob").alias("bytes"))
    for row in sizes.groupBy("shard", "step").agg(
            F.sum("bytes").alias("bytes"), F.count("*").alias("blobs")).collect():
        _count(steps, row.shard, row.step, row.bytes, row.blobs)
    for row in blobs.where(F.col("name").rlike(_WANTED)).toLocalIterator():
        _read(steps, row.shard, row["name"], plain(row.blob, row.layout))
    for state in steps.values():
        if "index" in state.store:
            state.found = survey(state.store["index"], state.store, most=most)
    return [steps[key] for key in sorted(steps, key=lambda key: (key[1], key[0]))]


def _count(steps: dict[tuple[int, str], StepState], shard: int, step: str, size: int,
           blobs: int) -> None:
    if (shard, step) in steps:
        steps[shard, step].bytes += size
        steps[shard, step].blobs += blobs


def _read(steps: dict[tuple[int, str], StepState], shard: int, path: str, blob: bytes) -> None:
    step, _, name = path.partition("/")
    if (shard, step) in steps and re.match(_WANTED, path):
        steps[shard, step].store[name] = blob


def shards_in(session: SparkSession, place: str) -> list[tuple[int, int, Near]]:
    """The state partition, the label, and what is near, of each shard of a query."""
    rows = _entries(session, place).where(F.col("name") == NEAR).collect()
    return [(row.partition_id, row.shard, Near.from_bytes(plain(row.blob, row.layout)))
            for row in rows]


def _entries(session: SparkSession, place: str) -> DataFrame:
    """What the shards of a query keep."""
    return session.read.format("statestore").option("stateVarName", STATE).load(place).select(
        "partition_id", F.col("key.shard").alias("shard"),
        F.col("user_map_key.name").alias("name"), "user_map_value.*")
