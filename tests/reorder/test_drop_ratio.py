from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.reorder import DropRatio, MaxDelay, Reorder, as_policy
from slackwater.reorder.policies.drop_ratio_paper import buffer_size

START, RATE = 1_700_000_000_000_000, 10_000
ROLES = Roles("time", "arrival", unit="us")


def stream(seed, rows, sigma=None, change=None, mu=3.0, rate=RATE):
    """The paper's model: Poisson generation, normal delays; seconds."""
    rng = np.random.default_rng(seed)
    time = np.cumsum(rng.exponential(1 / rate, rows))
    if change is None:
        delay = rng.normal(mu, sigma, rows)
    else:
        phase = (time // change).astype(int)
        mus, sigmas = rng.uniform(0, 6, phase[-1] + 1), rng.uniform(0, 5, phase[-1] + 1)
        delay = rng.normal(mus[phase], sigmas[phase])
    arrival = time + delay
    order = np.argsort(arrival, kind="stable")
    return pa.record_batch({"time": START + (time[order] * 1e6).astype(np.int64),
                            "arrival": START + (arrival[order] * 1e6).astype(np.int64)})


def run(policy, batch, cuts=()):
    kernel = Reorder(policy, ROLES)
    logic = kernel.start()
    late, ready = 0, []
    edges = [0, *cuts, batch.num_rows]
    for a, b in pairwise(edges):
        out = logic.push(batch.slice(a, b - a))
        late += out.late.num_rows
        ready.append(out.ready)
        logic = kernel.restore(logic.snapshot()) if cuts else logic
    ready.append(logic.finish().ready)
    return late / batch.num_rows, pa.Table.from_batches(ready)


def mean_held(table):
    waited = table["_released"].cast(pa.int64()).to_numpy() - table["arrival"].to_numpy()
    return waited.sum() / (table["arrival"].to_numpy().max() - table["arrival"].to_numpy().min())


@pytest.mark.parametrize("ratio", [0.01, 0.005, 0.001])
@pytest.mark.parametrize(("seed", "sigma"), [(1, 1.0), (7, 3.0), (103, 5.0)])
def test_the_promise_holds_on_constant_streams_in_no_larger_a_buffer(seed, sigma, ratio):
    # hundred seconds at the paper's rate: with fewer, most of a stream is its beginning
    batch = stream(seed, 1_000_000, sigma=sigma)
    late, ours = run(DropRatio(ratio), batch)
    _, paper = run(DropRatio(ratio, literal=True), batch)
    assert 0 < late <= ratio
    assert mean_held(ours) <= mean_held(paper)


@pytest.mark.parametrize("ratio", [0.01, 0.001])
@pytest.mark.parametrize(("seed", "change"), [(2, 1.0), (3, 3.0), (4, 5.0)])
def test_the_promise_holds_on_changing_streams(seed, change, ratio):
    late, _ = run(DropRatio(ratio), stream(seed, 500_000, change=change))
    assert late <= ratio


def test_delays_do_not_count_from_zero():
    """Clocks that go wrong by an hour shift all delays: nothing else may change."""
    batch = stream(8, 200_000, sigma=2.0)
    shifted = batch.set_column(0, "time", pa.array(batch["time"].to_numpy() - 3_600_000_000))
    assert run(DropRatio(0.01), batch)[0] == run(DropRatio(0.01), shifted)[0]


@pytest.mark.parametrize("sigma", [1.0, 5.0])
def test_fast_events_do_not_speak_for_the_slow_ones(sigma):
    """Delays cut off at zero: what arrives first has none at all."""
    batch = stream(9, 500_000, sigma=sigma)
    time, arrival = batch["time"].to_numpy(), batch["arrival"].to_numpy()
    arrival = np.maximum(time, arrival)
    order = np.argsort(arrival, kind="stable")
    late, _ = run(DropRatio(0.001), pa.record_batch({"time": time[order],
                                                     "arrival": arrival[order]}))
    assert late <= 0.001


def test_a_first_second_that_is_overtaken_by_the_next():
    """The slow events of the first second come behind those of the second: they are not lost."""
    rng = np.random.default_rng(10)
    time = np.cumsum(rng.exponential(1e-4, 300_000))
    delay = np.where(time < 5, rng.normal(6, 0.6, 300_000), rng.normal(1.2, 1.4, 300_000))
    order = np.argsort(time + delay, kind="stable")
    batch = pa.record_batch({"time": START + (time[order] * 1e6).astype(np.int64),
                             "arrival": START + ((time + delay)[order] * 1e6).astype(np.int64)})
    late, _ = run(DropRatio(0.001), batch)
    assert late <= 0.001


def test_a_stray_event_does_not_make_a_stream_look_old():
    batch = stream(11, 300_000, sigma=2.0)
    stray = pa.record_batch({"time": [START - 3_600_000_000], "arrival": batch["arrival"][:1]})
    late, _ = run(DropRatio(0.001), pa.concat_batches([stray, batch]))
    assert late <= 0.001


def test_a_slow_stream_does_not_wait_for_ever():
    """An event a minute, 100 ms under way: after a few of them the buffer is known to be short."""
    rng = np.random.default_rng(12)
    time = START + np.arange(30) * 60_000_000
    batch = pa.record_batch({"time": time, "arrival": time + rng.integers(50_000, 150_000, 30)})
    notes = Reorder(DropRatio("1%"), ROLES).start().push(batch).notes
    assert notes["buffer"] < 1_000_000


def test_it_comes_down_again():
    calm = np.arange(200_000) * 1000 + START
    delay = np.where(np.arange(200_000) < 20_000, 5_000_000, 50_000)
    order = np.argsort(calm + delay, kind="stable")
    batch = pa.record_batch({"time": calm[order], "arrival": (calm + delay)[order]})
    logic = Reorder(DropRatio("1%"), ROLES).start()
    high = logic.push(batch.slice(0, 20_000)).notes["buffer"]
    low = logic.push(batch.slice(20_000)).notes["buffer"]
    assert high >= 5_000_000
    assert low < 500_000


@pytest.mark.parametrize("policy", [
    DropRatio(0.01), DropRatio(0.01, literal=True), DropRatio(0.001, literal=True), MaxDelay()],
    ids=["corrected", "literal", "literal, small", "max delay"])
def test_cuts_and_restarts_change_nothing(policy):
    batch = stream(4, 20_000, sigma=0.5, mu=1.0)
    late, whole = run(policy, batch)
    late_cut, pieces = run(policy, batch, cuts=(1, 3_000, 3_001, 11_111))
    assert late == late_cut
    assert pieces.equals(whole)


def test_the_paper_s_size():
    z = 2.3263478740408408
    assert buffer_size(z, 1.0, 1e-4) == pytest.approx(2**0.5 * z * 1e4, rel=1e-3)
    assert buffer_size(z, 0.0, 1.0) == 30


def test_the_paper_s_buffer_holds_that_many():
    batch = stream(5, 200_000, sigma=1.0)
    policy = DropRatio(0.01, literal=True, estimate_every=1000)
    logic = Reorder(policy, ROLES).start()
    held = logic.push(batch.slice(0, 150_000)).notes["held"]
    assert held == pytest.approx(2**0.5 * 2.326 * 1e4, rel=0.1)


def test_keys_do_not_share_the_literal_buffer():
    batch = stream(6, 20_000, sigma=0.3, mu=1.0)
    key = np.arange(20_000) % 2
    both = batch.append_column("key", pa.array(key))
    roles = Roles("time", "arrival", key=("key",), unit="us")
    policy = DropRatio(0.01, literal=True)
    out = Reorder(policy, roles).start().push(both)
    alone = Reorder(policy, ROLES).start().push(batch.take(pa.array(np.flatnonzero(key == 0))))
    assert (out.ready["time"].filter(pa.compute.equal(out.ready["key"], 0))
            .equals(alone.ready["time"]))


@pytest.mark.parametrize(("make", "message"), [
    (lambda: DropRatio(0), "is not a share"),
    (lambda: DropRatio("1.5"), "is not a share"),
    (lambda: DropRatio(0.01, samples=3), "is too small"),
    (lambda: MaxDelay(n=0), "at least one"),
    (lambda: as_policy("dratio(literal=no)"), "neither True nor False"),
])
def test_what_cannot_be_is_refused(make, message):
    with pytest.raises(ConfigError, match=message):
        make()


def test_by_name():
    assert as_policy("DropRatio(ratio=0.5%)") == DropRatio(0.005)
    assert as_policy("dratio") == DropRatio()
    assert as_policy(str(DropRatio())) == DropRatio()
    for text, literal in (("True", True), ("true", True), ("False", False), ("false", False)):
        assert as_policy(f"dratio(literal={text})") == DropRatio(literal=literal)
    assert as_policy("MaxDelay(n=100)") == MaxDelay(n=100)
