"""State: what a call costs beside much that is live, and after much that has been forgotten."""

from __future__ import annotations

import time
from collections import deque

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.result import Result, best_of
from slackwater.core.kernel import MemoryStore
from slackwater.core.state import Buffer, Keys, Pages, Rows
from slackwater.core.state.order import order_of

LIVE, FEW = 1_000_000, 1_000
ONE_SHOT, CHUNK = 10_000_000, 25_000  # after the first 1 % the number of live keys is level
TEXT_ROWS = 4_000_000
EQUAL = 100_000
ONCE = "the same beside 1,000"


def run() -> list[Result]:
    return [*text_keys(), *one_row_calls(), *one_row_pushes(), *one_shot_keys(), *equal_times()]


def names(numbers: np.ndarray) -> pa.RecordBatch:
    return pa.record_batch({"key": pc.binary_join_element_wise(
        "sensor", pa.array(numbers).cast(pa.string()), "-")})


def text_keys() -> list[Result]:
    """Slots of many rows, against what Arrow takes to encode the same column."""
    results = []
    for distinct in (16, 100_000):
        batch = names(np.random.default_rng(1).integers(0, distinct, TEXT_ROWS))
        keys = Keys("keys", ["key"], MemoryStore())
        keys.slots(batch)
        results.append(Result(
            f"slots of 4 M rows, {distinct:,} text keys",
            best_of(5, lambda keys=keys, batch=batch: keys.slots(batch)),
            "Arrow's dictionary_encode",
            best_of(5, lambda batch=batch: batch.column(0).dictionary_encode()), limit=2))
    return results


def one_row_calls() -> list[Result]:
    """A call with one known key, and one with a new key that is forgotten again."""

    def cost(live: int) -> tuple[float, float]:
        keys = Keys("keys", ["key"], MemoryStore())
        keys.slots(names(np.arange(live)))
        known = [names(np.array([i])) for i in np.random.default_rng(1).integers(0, live, 500)]
        new = [names(np.array([live + i])) for i in range(500)]

        def look() -> None:
            for batch in known:
                keys.slots(batch)

        def come_and_go() -> None:
            for batch in new:
                keys.forget(keys.slots(batch)[1])

        look()
        come_and_go()
        return best_of(5, look) / 500, best_of(5, come_and_go) / 500

    (known, new), (known_few, new_few) = cost(LIVE), cost(FEW)
    return [Result("one known key beside 1 M live keys", known, ONCE, known_few, limit=5,
                   detail=f"{known * 1e6:.0f} µs"),
            Result("one new key beside 1 M live keys", new, ONCE, new_few, limit=5,
                   detail=f"{new * 1e6:.0f} µs")]


def one_row_pushes() -> list[Result]:
    """One row due, one row held, beside many rows of other keys."""

    def cost(rows: int) -> float:
        passed = np.full(rows + 1, -1)
        buffer = Buffer("held", MemoryStore(), lambda slot, time, n: time <= passed[slot])
        number = np.arange(rows)
        buffer.add(Rows(1 + number, number, number, pa.record_batch({"x": number})))
        one, zero = np.ones(1, bool), np.zeros(1, np.int64)
        rows_of_one = [Rows(zero, np.array([i]), np.array([rows + i]), pa.record_batch({"x": [i]}))
                       for i in range(400)]

        def push() -> None:
            passed[0] = -1
            for i, row in enumerate(rows_of_one):
                buffer.add(row)
                held = buffer.upto(zero, np.array([i]))
                held.payload(zero)
                buffer.leave(held, one)
                passed[0] = i

        push()
        return best_of(5, push) / len(rows_of_one)

    many, few = cost(LIVE), cost(FEW)
    return [Result("one row in and out beside 1 M held rows", many, ONCE, few, limit=5,
                   detail=f"{many * 1e6:.0f} µs")]


def one_shot_keys() -> list[Result]:
    """Keys that come once and are forgotten after two more chunks, with a row of numbers each."""
    store = MemoryStore()
    keys, table = _tables(store)
    chunks: deque[np.ndarray] = deque()
    early = None
    for first in range(0, ONE_SHOT, CHUNK):
        slots, fresh = keys.slots(names(np.arange(first, first + CHUNK)))
        table.grow(keys.room)
        table.reset(fresh)
        table["last"][slots] = first
        chunks.append(fresh)
        if len(chunks) > 2:
            gone = chunks.popleft()
            keys.forget(gone)
            table.reset(gone)
        if first == ONE_SHOT // 100:
            early = _measure(keys, table, store, first)
    assert early is not None
    late = _measure(keys, table, store, ONE_SHOT)
    what = ("bytes of state (MB)", "load (s)", "1,000 rows (s)")
    return [Result(f"after 10 M one-shot keys: {name}", ours, "after the first 1 %", reference,
                   limit=1.5, detail=f"{len(keys):,} live" if "bytes" in name else "")
            for name, ours, reference in zip(what, late, early, strict=True)]


def _tables(store: MemoryStore) -> tuple[Keys, Pages]:
    return Keys("keys", ["key"], store), Pages("last", {"last": np.int64(-1)}, store)


def _measure(keys: Keys, table: Pages, store: MemoryStore, seen: int) -> list[float]:
    """Bytes in the store, seconds to load it, and seconds of a call of 1,000 rows, half known."""
    metas = keys.save(), table.save()
    size = sum(len(blob) for blob in store.values()) / 1e6
    batch = names(np.arange(seen - 500, seen + 500))
    load, call = float("inf"), float("inf")
    for _ in range(7):
        copy = MemoryStore(store)
        begin = time.perf_counter()
        again, numbers = _tables(copy)
        again.load(metas[0])
        numbers.load(metas[1])
        loaded = time.perf_counter()
        slots, fresh = again.slots(batch)
        numbers.grow(again.room)
        numbers.touch(slots)
        numbers.reset(fresh)
        call = min(call, time.perf_counter() - loaded)
        load = min(load, loaded - begin)
    return [size, load, call]


def equal_times() -> list[Result]:
    rng = np.random.default_rng(1)
    distinct = rng.permutation(EQUAL) * 1_000
    equal = np.full(EQUAL, 7)
    results = []
    for what, n in (("in order", np.arange(EQUAL)), ("shuffled", rng.permutation(EQUAL))):
        order_of(equal, n)
        order_of(distinct, n)
        results.append(Result(f"order of 100 k equal times, arrivals {what}",
                              best_of(15, lambda n=n: order_of(equal, n)), "100 k distinct times",
                              best_of(15, lambda n=n: order_of(distinct, n)), limit=3))
    return results
