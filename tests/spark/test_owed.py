"""What a shard gives in a micro-batch is bounded; the rest comes later, in its order."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st
from parts.drain import drain
from pyspark.sql import Row

from slackwater.core.kernel import MemoryStore
from slackwater.spark import reorder
from slackwater.spark.runner.owed import OWED, bounded
from slackwater.spark.runner.shard_state import Head
from spark_feed import feed, write_files
from test_reorder_on_spark import stream


def result(n: int, size: int) -> Row:
    return Row(stream=f"s{n % 2}", status="ready", whole="_row", rows=n,
               blob=n.to_bytes(4, "big") + bytes(size), stats=None)


@given(batches=st.lists(st.lists(st.integers(0, 300), max_size=8), max_size=8),
       most=st.integers(1, 500))
def test_all_results_come_in_order_and_no_micro_batch_gives_much_more_than_asked(batches, most):
    head, store, want, got, n = Head(1), MemoryStore(), [], [], 0
    # batches without input at the end, until nothing waits
    for sizes in [*batches, *([] for _ in range(100))]:
        made = [result(n + i, size) for i, size in enumerate(sizes)]
        n += len(made)
        want += made
        numbers = Row(stream="s0", status=None, whole=None, rows=0, blob=None, stats="{}")
        given_ = list(bounded(iter([*made, numbers]), head, store, most=most))
        head = Head.from_text(head.to_text())  # a restart between any two
        assert numbers in given_, "numbers never wait"
        told = [row for row in given_ if row.stream == OWED]
        blobs = [row for row in given_ if row.blob is not None]
        got += blobs
        assert sum(len(row.blob) for row in blobs[:-1]) < most, "at most one blob over"
        waiting = len(want) - len(got)
        assert [json.loads(row.stats) for row in told] == ([{"owed": waiting}] if waiting else [])
    assert got == want
    assert not store, "what was given leaves no state"


def test_a_query_gives_all_rows_in_order_though_little_at_a_time(spark, tmp_path):
    table = feed(3000, keys=3, poison=False)
    write_files(table, tmp_path / "in", files=3)
    options = {"arrival": "arrival", "by": "key", "quiet": None}
    want = drain(reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1), "Static(buffer=1s)",
                         **options), tmp_path / "whole")
    spark.conf.set("spark.slackwater.maxResultBytes", "1")
    try:
        got = drain(reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1),
                            "Static(buffer=1s)", **options), tmp_path / "little")
        first = sum(map(len, got))
        assert 0 < first < sum(map(len, want)), "some of it waits"
        # files with a row of each key and no news
        for n in range(4):
            write_files(table.slice(0, 40), tmp_path / "more", files=1)
            (tmp_path / "more" / "0000.parquet").rename(tmp_path / "in" / f"9{n}.parquet")
        got += drain(reorder(stream(spark, tmp_path / "in", maxFilesPerTrigger=1),
                             "Static(buffer=1s)", **options), tmp_path / "little")
    finally:
        spark.conf.unset("spark.slackwater.maxResultBytes")

    def ready(batches):
        return {key: [r.row for batch in batches for r in batch
                      if r.key == key and r._status == "ready"] for key in ("k0", "k1", "k2")}

    assert {key: rows[:len(ready(want)[key])] for key, rows in ready(got).items()} == ready(want)
