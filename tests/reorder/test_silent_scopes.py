"""Keys and scopes that were silent for `forget_after` start afresh, however the input is cut."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from slackwater import Reorder, Roles

START = 1_700_000_000_000_000
ROLES = Roles("time", "arrival", "source", key=("room", "device"), unit="us")
FORGET = 1000

# mostly short gaps, and some that are longer than the time after which a scope is forgotten
events = st.lists(st.tuples(
    st.sampled_from([0, 1, 5, 20, 100, 400, FORGET, FORGET + 1, 3 * FORGET]),
    st.one_of(st.integers(0, 300), st.sampled_from([1500, 1600, 2500])),
    st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1, max_size=40)


def batch_of(rows):
    arrival = START + np.cumsum([gap for gap, *_ in rows])
    return pa.record_batch({
        "row": np.arange(len(rows)), "time": arrival - [delay for _, delay, *_ in rows],
        "arrival": arrival, "room": [room for *_, room, _ in rows],
        "device": [device for *_, device in rows], "source": [device for *_, device in rows]})


def outcomes(kernel, batch, cuts, restarts):
    """The ready and the late rows of each key, in order, each with the time at which it left."""
    logic, found = kernel.start(), []
    for number, (first, last) in enumerate(zip([0, *cuts], [*cuts, batch.num_rows], strict=True)):
        out = logic.push(batch.slice(first, last - first))
        found.append(out)
        if number in restarts:
            logic = kernel.restore(logic.snapshot())
    found.append(logic.finish())
    rows = [(what, row) for out in found for what in ("ready", "late")
            for row in getattr(out, what).to_pylist()]
    fates = {}
    for what, row in rows:
        fates.setdefault((what, row["room"], row["device"]), []).append(
            (row["row"], row["_released"]))
    return fates


@pytest.mark.parametrize("scope", ["room", None])
@pytest.mark.parametrize("policy", ["KSlack(initial=50us)", "Tide(loss=10%)",
                                    "MeanPlusRange(n=4, initial=50us, offset=10us)"])
@given(rows=events, cuts=st.sets(st.integers(1, 39)), restarts=st.sets(st.integers(0, 39)))
@example(rows=[(0, 0, "a", "y"), (FORGET, 0, "a", "x"), (1, 0, "a", "y"), (1, 0, "a", "y")],
         cuts={1}, restarts=set())  # what a silent key held left before the others were heard
@example(rows=[(0, 1500, "a", "x"), (1, 0, "a", "y"), (1, 1500, "a", "y"), (1, 1500, "a", "y"),
               (400, 0, "a", "y"), (20, 0, "a", "y")],
         cuts={1}, restarts=set())  # the first row of a batch decided who confirmed a delay
def test_any_cut_and_restart(policy, scope, rows, cuts, restarts):
    kernel = Reorder(policy, ROLES, scope=scope, forget_after=f"{FORGET}us", max_future_skew="0s")
    batch = batch_of(rows)
    cuts = sorted(cut for cut in cuts if cut < len(rows))
    assert outcomes(kernel, batch, cuts, restarts) == outcomes(kernel, batch, [], set())


def test_a_long_delay_is_forgotten_with_the_silence():
    """KSlack never comes down again, but for a scope that starts afresh."""
    kernel = Reorder("KSlack(initial=50us, scale=0)", ROLES, scope="room",
                     forget_after=f"{FORGET}us")
    rows = [(0, 300, "a", "x"), (FORGET + 301, 0, "a", "y"), (60, 0, "a", "y")]
    logic = kernel.start()
    out = logic.push(batch_of(rows))
    assert 1 in out.ready["row"].to_pylist(), "it waited for a delay that is long forgotten"


@pytest.mark.parametrize("skew", ["0s", "5 minutes", "2 days"])
def test_a_key_that_is_new_is_taken_up_to_forget_after(skew):
    """Whatever skew is allowed: a day's default would otherwise make all rows of new keys late."""
    kernel = Reorder("KSlack(initial=50us)", ROLES, forget_after="1 day", max_future_skew=skew)
    day = 86_400_000_000
    late = kernel.start().push(batch_of([
        (0, 0, "a", "x"), (4 * day, 0, "a", "x"), (1, 0, "a", "new"), (1, day, "a", "old"),
        (1, day + 1, "a", "too old")])).late
    assert late["device"].to_pylist() == ["too old"]
