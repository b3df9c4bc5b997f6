"""A large micro-batch in pieces: each step does with them what it does with the whole."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from slackwater import Reorder, Roles
from slackwater.spark.runner.operator_spec import Input
from slackwater.spark.runner.pieces import in_pieces
from slackwater.spark.runner.position import POSITION, in_position

STAMP = pa.timestamp("us", "UTC")


def partition(rng, rows: int, start: int, placed: bool) -> pa.RecordBatch:
    """Rows of one partition, mostly by arrival, with ties; some arrivals cannot be read."""
    arrival = start + np.sort(rng.integers(0, 40, rows)) * 100_000
    late = rng.integers(0, 30, rows) * 50_000
    swap = rng.random(rows) < 0.1
    arrival[swap] = rng.permutation(arrival[swap])
    columns = {"row": pa.array(rng.integers(0, 1 << 40, rows)),
               "time": pa.array(arrival - late).cast(STAMP),
               "arrival": pa.array(arrival, mask=rng.random(rows) < 0.03).cast(STAMP),
               "key": pa.array(rng.integers(0, 3, rows)),
               "text": pa.array(["x" * int(n) for n in rng.integers(0, 30, rows)])}
    if placed:
        columns[POSITION] = pa.array(rng.integers(0, 9, rows))
    return pa.RecordBatch.from_pydict(columns)


def outcome(kernel: Reorder, pieces: list[pa.RecordBatch]) -> dict[str, list[tuple]]:
    logic = kernel.start()
    outs = [*(logic.push(piece) for piece in pieces), logic.finish()]
    return {name: [(r["key"], r["row"], r["_released"]) for out in outs
                   for r in getattr(out, name).to_pylist()]
            for name in ("ready", "late", "quarantined")}


@given(seed=st.integers(0, 10_000), parts=st.integers(1, 4), most=st.integers(1, 4000),
       placed=st.booleans(), named=st.booleans())
def test_pieces_give_what_the_whole_gives(seed, parts, most, placed, named):
    rng = np.random.default_rng(seed)
    batches = [partition(rng, int(rng.integers(1, 60)), 1_700_000_000_000_000, placed)
               for _ in range(parts)]
    arrival = "arrival" if named else None
    kernel = Reorder("Static(buffer=400ms)", Roles("time", arrival, key=("key",)))
    pieces = list(in_pieces(batches, Input(arrival, None), most))
    assert sum(p.num_rows for p in pieces) == sum(b.num_rows for b in batches)
    whole, cut = outcome(kernel, [in_position(pa.concat_batches(batches))]), outcome(kernel, pieces)
    for name in ("ready", "late"):
        for key in range(3):
            assert [r for r in cut[name] if r[0] == key] == [r for r in whole[name] if r[0] == key]
    assert sorted(cut["quarantined"], key=str) == sorted(whole["quarantined"], key=str)


def test_pieces_are_small():
    rng = np.random.default_rng(1)
    batches = [partition(rng, 2000, 1_700_000_000_000_000, False) for _ in range(3)]
    whole = sum(b.nbytes for b in batches)
    sizes = [p.nbytes for p in in_pieces(batches, Input("arrival", None), whole // 8)]
    assert len(sizes) >= 7
    assert max(sizes) < whole / 4
