from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core import stage
from slackwater.core.events import Roles
from slackwater.core.state.order import order_of
from slackwater.reorder import Reorder, Static
from slackwater.window import Aggregate, Window, Windowed

ROLES = Roles("time", unit="us")
BOTH = [Aggregate("min", "x"), Aggregate("max", "x")]


def brute(times, values, span):
    """For each row the least and the greatest value in (t − span, t], None where there is none."""
    found = []
    for t in times:
        inside = [v for u, v in zip(times, values, strict=True)
                  if t - span < u <= t and v is not None]
        found.append((min(inside, default=None), max(inside, default=None)))
    return found


def answers(outs):
    return [(r["min_x"], r["max_x"]) for out in outs for r in out.ready.to_pylist()]


@given(st.lists(st.tuples(st.integers(0, 60), st.none() | st.integers(-9, 9)), min_size=1,
                max_size=60), st.integers(1, 25), st.integers(0, 60), st.booleans())
def test_they_equal_brute_force_over_any_cut_and_restart(rows, span, cut, real):
    rows = sorted(rows, key=lambda row: row[0])
    times, values = [t for t, _ in rows], [v for _, v in rows]
    kind = pa.float64() if real else pa.int64()
    batch = pa.record_batch({"time": times, "x": pa.array(values, kind)})
    kernel = Window(BOTH, span, roles=ROLES)
    logic = kernel.start()
    outs = [logic.push(batch.slice(0, cut))]
    logic = kernel.restore(logic.snapshot())
    outs += [logic.push(batch.slice(cut)), logic.finish()]
    assert answers(outs) == brute(times, values, span)


@pytest.mark.parametrize("falling", [True, False])
def test_the_queue_grows_with_what_can_still_become_the_extreme(falling):
    n, span = 5_000, 3_000
    x = np.arange(n)[::-1] if falling else np.arange(n)
    kernel = Window(BOTH, span, roles=ROLES)
    logic = kernel.start()
    outs = []
    for at in range(0, n, 700):
        outs.append(logic.push(pa.record_batch({"time": np.arange(at, min(at + 700, n)),
                                                "x": x[at:at + 700]})))
        assert outs[-1].notes["retained"] <= span + 1
        logic = kernel.restore(logic.snapshot())
    outs.append(logic.finish())
    old = np.maximum(np.arange(n) - span + 1, 0)
    ends = np.sort(np.stack([x[old], x]), axis=0)
    assert answers(outs) == list(zip(*ends.tolist(), strict=True))


def test_only_candidates_are_kept():
    logic = Window([Aggregate("max", "x")], 10_000, roles=ROLES).start()
    out = logic.push(pa.record_batch({"time": np.arange(5_000), "x": np.arange(5_000)}))
    assert out.notes["retained"] == 1


@pytest.mark.parametrize("late", [False, True], ids=["all in time", "some late"])
def test_a_batch_of_several_pieces_gives_what_one_piece_gives(monkeypatch, late):
    rng = np.random.default_rng(5)
    arrival = np.arange(3_000) * 10
    time = arrival - rng.integers(0, 900 if late else 400, 3_000)
    batch = pa.record_batch({"time": time, "arrival": arrival, "x": rng.normal(size=3_000)})
    roles = Roles("time", "arrival", unit="us")
    kernel = Windowed(Reorder(Static(500), roles), Window(BOTH, 2_000, roles=roles))

    def outcome():
        logic = kernel.start()
        outs = logic.push(batch), logic.finish()
        return [pa.Table.from_batches([getattr(out, part) for out in outs])
                for part in ("ready", "late")] + [outs[-1].notes]

    whole = outcome()
    monkeypatch.setattr(stage, "_PIECE", 250)
    pieces = outcome()
    assert whole[:2] == pieces[:2]
    assert whole[2] == pieces[2]
    assert (whole[1].num_rows > 0) == late


@pytest.mark.parametrize("made", ["spread", "crowded", "one outlier", "equal", "falling"])
def test_the_order_of_times_is_the_stable_one(made):
    rng = np.random.default_rng(9)
    time = {"spread": rng.integers(0, 10**9, 5_000), "crowded": rng.integers(0, 40, 5_000),
            "one outlier": np.append(rng.integers(0, 10**6, 5_000), 10**15),
            "equal": np.full(5_000, 7), "falling": np.arange(5_000)[::-1].copy()}[made]
    assert (order_of(time) == np.argsort(time, kind="stable")).all()
    n = rng.permutation(len(time))
    assert (order_of(time, n) == np.lexsort((n, time))).all()
