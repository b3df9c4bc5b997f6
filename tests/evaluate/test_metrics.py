"""The metrics of paper 3: against the recordings' known values, and against a literal loop."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slackwater.core.errors import ConfigError
from slackwater.core.events import Roles
from slackwater.datasets import Dataset, Feed, Uniform, generate, read_dataset, simulated
from slackwater.evaluate import evaluate, profile, recommended_policies, reorder_table, sweep
from slackwater.evaluate.run import run, usable_events
from slackwater.reorder import Reorder

KNOWN = [  # recording, policy, not compensated, mean buffer (ms): an independent reading
    ("d-1", "sba", 11, 1000.0), ("d-1", "bsttda(fill=wait)", 19, 1261.3),
    ("d-1", "kslack", 2, 4374.2), ("d-3", "bstt", 20, 1348.4),
]


@pytest.mark.parametrize(("name", "policy", "late", "buffer"), KNOWN)
def test_known_values(recordings: list[Path], name: str, policy: str, late: int,
                      buffer: float) -> None:
    file = next(p for p in recordings if p.stem == name)
    [found] = evaluate(read_dataset(file), [policy])
    assert found.not_compensated == late
    assert found.mean_buffer_ms == pytest.approx(buffer, abs=0.05)


def test_disorder_of_the_recordings(recordings: list[Path]) -> None:
    found = [profile(read_dataset(p)) for p in recordings[:3]]
    assert [p.by_time for p in found] == [1544, 3666, 3277]
    assert [p.by_sequence for p in found] == [18, 5, 6]
    assert found[0].min_buffer_ms == 4653


def literal(times: list[int], arrivals: list[int], buffer: int) -> tuple[list[bool], list[int]]:
    """SPEC section 1 for a constant buffer, as slowly as it reads: late or not, released when."""
    held: list[int] = []
    late, released = [False] * len(times), [0] * len(times)
    greatest = None
    for j, (t, a) in enumerate(zip(times, arrivals, strict=True)):
        for i in sorted([i for i in held if times[i] + buffer <= a], key=lambda i: times[i]):
            released[i] = a
            greatest = times[i]
            held.remove(i)
        if greatest is not None and t < greatest:
            late[j], released[j] = True, a
        else:
            held.append(j)
    for i in held:
        released[i] = max(arrivals)
    return late, released


@given(st.lists(st.tuples(st.integers(0, 40), st.integers(0, 25)), min_size=1, max_size=40),
       st.integers(0, 20))
def test_metrics_are_those_of_a_literal_loop(events: list[tuple[int, int]], buffer: int) -> None:
    rows = sorted(((t, t + d) for t, d in events), key=lambda row: row[1])
    times, arrivals = [t for t, _ in rows], [a for _, a in rows]
    dataset = Dataset("d", pa.table({"time": times, "arrival": arrivals}),
                      Roles("time", "arrival", unit="ms"))
    policy = f"sba(buffer={buffer}ms)"
    late, released = literal(times, arrivals, buffer)
    done = run(usable_events(dataset), policy, literal=True)
    assert done.late.tolist() == late
    assert (done.released // 1000).tolist() == released
    [found] = evaluate(dataset, [policy], literal=True)
    latency = np.array(released) - np.array(times)
    assert found.not_compensated == sum(late)
    assert found.mean_buffer_ms == buffer
    assert found.latency_ms["mean"] == pytest.approx(latency.mean())
    assert found.latency_ms["p95"] == pytest.approx(np.percentile(latency, 95))
    assert found.latency_ms["max"] == latency.max()
    if found.out_of_order:
        assert found.not_compensated_pct == pytest.approx(
            100 * found.not_compensated / found.out_of_order)
    if found.min_buffer_ms:
        assert found.overfitting_pct == pytest.approx(100 * buffer / found.min_buffer_ms)


def test_keys_are_streams_of_their_own() -> None:
    feed = generate(Feed(sources=4, duration="30s", delay=Uniform("0ms", "2s")))
    by_source = Dataset("keyed", feed.table, Roles("time", "arrival", key=("source",)))
    [together] = evaluate(feed, ["bsttd(n=50)"])
    [apart] = evaluate(by_source, ["bsttd(n=50)"])
    alone = []
    for name in sorted(set(feed.table["source"].to_pylist())):
        rows = feed.table.filter(pa.compute.equal(feed.table["source"], name))
        alone += evaluate(Dataset(name, rows, feed.roles), ["bsttd(n=50)"])
    assert apart.out_of_order == sum(m.out_of_order for m in alone) < together.out_of_order
    assert apart.not_compensated == sum(m.not_compensated for m in alone)
    assert apart.min_buffer_ms == max(m.min_buffer_ms or 0 for m in alone)
    assert apart.mean_buffer_ms == pytest.approx(
        np.average([m.mean_buffer_ms for m in alone], weights=[m.events for m in alone]))


def test_another_engine_gives_the_rows_and_the_metrics_follow_them() -> None:
    dataset = simulated("g-2")
    calls = []

    def engine(table: pa.Table, kernel: Reorder) -> tuple[pa.Table, pa.Table, pa.Table]:
        calls.append(str(kernel.policy))
        return reorder_table(table, kernel)

    assert evaluate(dataset, ["sba(buffer=510ms)"], engine=engine) == evaluate(
        dataset, ["sba(buffer=510ms)"], literal=True)
    assert calls == ["Static(buffer='510ms')"]


def test_poison_is_counted_and_left_out() -> None:
    feed = generate(Feed(sources=2, duration="20s", poison=0.2, seed=4))
    clean = generate(Feed(sources=2, duration="20s", seed=4))
    [found] = evaluate(feed, ["sba"])
    assert found.events + found.quarantined == len(clean)
    events = usable_events(feed, max_delay="1 day")
    assert events.quarantined > found.quarantined > 0  # now those from 1970 as well
    [found] = evaluate(events, ["kslack"])
    assert found.mean_buffer_ms is not None
    assert found.mean_buffer_ms < 5000


def test_an_empty_dataset_has_figures_that_say_so() -> None:
    table = pa.table({"time": pa.array([], pa.int64()), "arrival": pa.array([], pa.int64())})
    dataset = Dataset("none", table, Roles("time", "arrival", unit="ms"))
    row = evaluate(dataset, ["bsttda"])[0].to_dict()
    assert (row["events"], row["out_of_order"], row["not_compensated_pct"]) == (0, 0, 0.0)
    assert row["mean_buffer_ms"] is row["min_buffer_ms"] is row["overfitting_pct"] is None
    assert set(row["latency_ms"].values()) == {None}
    figures = profile(dataset).to_dict()
    assert (figures["events"], figures["recommended"]) == (0, None)


def test_profile_without_arrivals_recommends_nothing() -> None:
    dataset = Dataset("t", pa.table({"time": [5, 9, 7]}), Roles("time", unit="ms"))
    figures = profile(dataset).to_dict()
    assert figures["out_of_order"] == {"by_time": 1, "by_time_pct": 33.3333, "by_sequence": None,
                                       "within_sources": None}
    assert figures["recommended"] is None
    assert figures["delay_ms"]["mean"] is None


def test_recommended_start_values_are_the_papers() -> None:
    dataset = Dataset("t", pa.table({"time": [0] * 100, "arrival": list(range(100))}),
                      Roles("time", "arrival", unit="ms"))
    advice = profile(dataset).to_dict()["recommended"]
    p98 = float(np.percentile(np.arange(100), 98))
    assert (advice["p98_ms"], advice["p98_of"]) == (pytest.approx(p98), "delay")
    assert advice["initial_ms"] == pytest.approx(5 * p98)
    assert advice["sba"]["buffer_ms"] == pytest.approx(6 * p98)
    offsets = {"bstt": 3, "bsttwa": 4, "bsttd": 2, "bsttda": 1, "bskf": 4}
    for name, times in offsets.items():
        assert advice[name]["offset_ms"] == pytest.approx(times * p98)
        assert advice[name]["initial_ms"] == pytest.approx(5 * p98)
    assert advice["kslack"]["initial_ms"] == pytest.approx(4 * p98)
    # what is recommended can be given back to the command as it stands
    assert [m.not_compensated for m in evaluate(dataset, [v["policy"] for v in advice.values()
                                                          if isinstance(v, dict)])] == [0] * 7


def test_recommended_rests_on_the_full_processing_time(recordings: list[Path]) -> None:
    found = profile(read_dataset(recordings[0]))
    assert found.p98_of == "full processing time"
    assert found.p98_us == 356_020
    assert recommended_policies(found.p98_us)["sba"].buffer == 6 * 356_020  # type: ignore[attr-defined]


def test_sweep_refuses_a_parameter_that_is_not_there() -> None:
    with pytest.raises(ConfigError, match="did you mean 'offset'"):
        sweep(simulated("g-2"), "bsttda", "ofset", ["1s"])


def test_sweep_more_buffer_never_loses_more() -> None:
    found = sweep(simulated("g-1"), "sba", "buffer", [f"{v}ms" for v in range(100, 1000, 100)])
    lost = [m.not_compensated for m in found]
    assert lost == sorted(lost, reverse=True)
    assert lost[0] > 1000
    assert lost[-1] == 0
