"""State that shrinks: what is gone costs nothing, and what others hold costs a push nothing.

Each row is a ratio within one run: at the end of a long stream against its first hundredth, beside
a million keys against beside a thousand, equal timestamps against distinct ones.
"""

from __future__ import annotations

import time

import numpy as np
import pyarrow as pa

from benchmarks.result import Result, best_of
from slackwater import Reorder, Roles
from slackwater.core.kernel import MemoryStore
from slackwater.window import Aggregate, Window

START = 1_700_000_000_000_000
KEYS, SOURCES, STEP = 10_000_000, 1_000_000, 50_000


def rows(first: int, count: int, every: int = 100, **names: str) -> pa.RecordBatch:
    """Rows 100 µs apart, a tenth of a second late; each named column has a value of its own."""
    number = np.arange(first, first + count)
    stamps = START + number * every
    columns = {"time": pa.array(stamps).cast(pa.timestamp("us", "UTC")),
               "arrival": pa.array(stamps + 100_000).cast(pa.timestamp("us", "UTC"))}
    text = pa.array(number).cast(pa.string())
    return pa.record_batch({**columns, **dict.fromkeys(names, text)})


def one_shot(kernel: Reorder, total: int, **names: str) -> list[Result]:
    store = MemoryStore()
    logic = kernel.start(store)
    taken: dict[str, tuple[float, float, float]] = {}
    for at in range(0, total, STEP):
        batch = rows(at, STEP, **names)
        logic.push(batch)
        logic.tick(int(batch["arrival"][-1].cast(pa.int64()).as_py()))
        index = logic.snapshot()
        if at + STEP in (max(total // 100, STEP), total):
            size = len(index) + sum(map(len, store.values()))
            again = MemoryStore(store)
            begun = time.perf_counter()
            restored = kernel.restore(index, again)
            little = rows(at + STEP, 1000, **names)
            restored.push(little)
            restore = time.perf_counter() - begun
            push = best_of(3, lambda little=little, logic=restored: logic.push(little))
            taken["end" if at + STEP == total else "begin"] = (size, restore, push)
    what = " and ".join(names)
    return [Result(f"{total:,} one-shot {what}s: {part}", end, "after the first 1 %", begin, 1.5)
            for part, begin, end in zip(("state bytes", "restore and first push", "push of 1,000"),
                                        taken["begin"], taken["end"], strict=True)]


def beside(keys: int) -> float:
    logic = Reorder("Static(buffer=1h)", Roles("time", "arrival", key=("key",))).start()
    for at in range(0, keys, STEP):
        logic.push(rows(at, min(STEP, keys - at), 1, key=""))
    singles = iter([rows(i, 1, 1, key="") for i in range(0, keys, max(keys // 200, 1))])
    return best_of(100, lambda: logic.push(next(singles)))


def tied(equal: bool) -> float:
    count = 100_000
    stamps = np.full(count, START) if equal else START + np.random.default_rng(1).permutation(count)
    batch = pa.record_batch({"time": stamps, "arrival": START + np.arange(count)})
    kernel = Reorder("Static(buffer=1s)", Roles("time", "arrival", unit="us"))

    def run() -> None:
        logic = kernel.start()
        logic.push(batch)
        logic.finish()

    return best_of(5, run)


def sum_by_day(count: int = 10_000_000) -> float:
    window = Window([Aggregate("sum", "value")], "1 day", "1 day", roles=Roles("time", unit="us"))
    logic = window.start()
    for at in range(0, count, 1_000_000):
        stamps = START + np.arange(at, at + 1_000_000) * 8000
        logic.push(pa.record_batch({"time": stamps, "value": np.ones(1_000_000)}))
    return len(logic.snapshot())


def run() -> list[Result]:
    keyed = Reorder("Static(buffer=50ms)", Roles("time", "arrival", key=("key",)),
                    forget_after="2s", max_future_skew="0s")
    sourced = Reorder("Tide(loss=1%)", Roles("time", "arrival", "source"), forget_after="2s",
                      max_future_skew="0s")
    tied(True)  # compiled
    return [
        *one_shot(keyed, KEYS, key=""),
        *one_shot(sourced, SOURCES, source=""),
        Result("push of one row beside 1,000,000 keys", beside(1_000_000), "beside 1,000 keys",
               beside(1000), 5),
        Result("100,000 equal timestamps", tied(True), "distinct ones", tied(False), 3),
        Result("SUM by day over 10 M rows, snapshot bytes", sum_by_day(), "1 MB", 1e6, 1),
    ]
