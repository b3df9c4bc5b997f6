"""The module between a synchroniser and a consumer that may fail."""

from __future__ import annotations

import pyarrow as pa
import pytest

from slackwater.core.events import Roles
from slackwater.synchronise import FrontierSync, SyncModule

ROLES = Roles("time", "arrival", "source", unit="ms")
START = 1_700_000_000_000


class FullError(Exception):
    pass


class Consumer:
    """Takes rows, and raises when it is told to."""

    def __init__(self) -> None:
        self.got: list[int] = []
        self.fails = False

    def __call__(self, rows: pa.RecordBatch) -> None:
        if self.fails:
            raise FullError
        self.got += rows["n"].to_pylist()


def rows(*times: int | None, first: int = 0) -> pa.RecordBatch:
    return pa.record_batch({
        "time": pa.array([None if t is None else START + t for t in times], pa.int64()),
        "arrival": pa.array([START + 1000] * len(times)), "source": ["a"] * len(times),
        "n": list(range(first, first + len(times)))})


def module(consumer: Consumer, capacity: int = 2) -> SyncModule:
    return SyncModule(FrontierSync(ROLES, sources=("a",)), consumer, capacity=capacity)


def test_rows_that_the_consumer_did_not_take_stay():
    consumer = Consumer()
    running = module(consumer)
    running.push(rows(0, 1))
    consumer.fails = True
    with pytest.raises(FullError):
        running.push(rows(2, 3, 4, first=2))
    with pytest.raises(FullError):
        running.feed(1)
    assert (consumer.got, running.waiting) == ([], 5)
    consumer.fails = False
    assert running.feed(2) == 2
    running.finish()
    assert consumer.got == [0, 1, 2, 3, 4]


def test_late_and_quarantined_rows_come_with_the_next_call():
    consumer = Consumer()
    running = module(consumer)
    running.push(rows(0, 1, 5))
    consumer.fails = True
    with pytest.raises(FullError):
        running.push(rows(2, None, 6, 7, first=3))
    consumer.fails = False
    out = running.push(rows(8, first=7))
    assert out.late["n"].to_pylist() == [3]
    assert out.quarantined["n"].to_pylist() == [4]
    assert len(running.push(rows(9, first=8))) == 0, "they come once"
    running.finish()
    assert consumer.got == [0, 1, 2, 5, 6, 7, 8]


def test_the_same_after_a_restart():
    consumer = Consumer()
    running = module(consumer)
    running.push(rows(0, 1, 5))
    consumer.fails = True
    with pytest.raises(FullError):
        running.push(rows(2, None, 6, 7, first=3))
    saved = running.snapshot()
    consumer.fails = False
    again = module(consumer)
    again.restore(saved)
    out = again.finish()
    assert (out.late["n"].to_pylist(), out.quarantined["n"].to_pylist()) == ([3], [4])
    assert consumer.got == [0, 1, 2, 5, 6]


def test_finish_can_be_called_again():
    consumer = Consumer()
    running = module(consumer, capacity=10)
    running.push(rows(0, 1, None))
    consumer.fails = True
    with pytest.raises(FullError):
        running.finish()
    consumer.fails = False
    running.finish()
    assert consumer.got == [0, 1]
