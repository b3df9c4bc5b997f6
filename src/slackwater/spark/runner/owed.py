"""Results that wait in a shard's state, because its micro-batch has given enough.

Spark takes all that a shard gives in a micro-batch as one Arrow batch, which must stay below two
GiB and is in memory several times over.  What a shard releases at once has no such bound: after a
silence, or at the end, it is all that is held.  So what is too much for one micro-batch waits in
the state, in its order, and leaves with the next ones, before anything newer.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING

from pyspark.sql import Row

if TYPE_CHECKING:
    from slackwater.core.kernel import Store
    from slackwater.spark.runner.shard_state import Head

__all__ = ["MOST", "OWED", "bounded"]

OWED = "~owed"
"""The stream of the row that tells how many blobs wait, and the name of their state: no step's."""
MOST = 1 << 28
"""Bytes that a shard gives in a micro-batch, if the session does not say."""
_HEAD = 4        # bytes of the length of what is said of a blob


def bounded(results: Iterator[Row], head: Head, store: Store, most: int = MOST, *,
            tells: bool = True) -> Iterator[Row]:
    """What a shard gives in a micro-batch: what is owed first, then results, about `most` bytes.

    Parameters
    ----------
    results
        The rows that the shard has made of the micro-batch.
    head, store
        The shard's state.
    most
        Bytes; one blob is always given.
    tells
        Whether a row says how many blobs wait at the end, if any do.
    """
    room = most
    while head.owed[0] < head.owed[1] and room > 0:
        name = f"{OWED}/{head.owed[0]}"
        row = _read(store.get(name))
        store.drop(name)
        head.owed = (head.owed[0] + 1, head.owed[1])
        room -= len(row.blob)
        yield row
    for row in results:
        if row.blob is None:
            yield row  # numbers
        elif room > 0 and head.owed[0] == head.owed[1]:
            room -= len(row.blob)
            yield row
        else:
            store.put(f"{OWED}/{head.owed[1]}", _written(row))
            head.owed = (head.owed[0], head.owed[1] + 1)
    waiting = head.owed[1] - head.owed[0]
    if waiting and tells:
        yield Row(stream=OWED, status=None, whole=None, rows=0, blob=None,
                  stats=json.dumps({"owed": waiting}))


def _written(row: Row) -> bytes:
    said = json.dumps([row.stream, row.status, row.whole, row.rows]).encode()
    return len(said).to_bytes(_HEAD, "big") + said + row.blob


def _read(blob: bytes) -> Row:
    end = _HEAD + int.from_bytes(blob[:_HEAD], "big")
    stream, status, whole, rows = json.loads(blob[_HEAD:end])
    return Row(stream=stream, status=status, whole=whole, rows=rows, blob=blob[end:], stats=None)
