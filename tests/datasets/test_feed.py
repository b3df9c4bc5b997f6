"""The general generator: each thing that can go wrong does, and nothing else changes by it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from slackwater.core.errors import ConfigError
from slackwater.datasets import (
    Bursty,
    Changing,
    Constant,
    Dataset,
    Feed,
    Jittered,
    Lognormal,
    Mixed,
    Normal,
    Pareto,
    Poisson,
    Ramp,
    Regular,
    Sine,
    Square,
    Stalls,
    Steps,
    Uniform,
    Widening,
    generate,
)
from slackwater.datasets.delays import DELAYS
from slackwater.datasets.law import law_named
from slackwater.datasets.rates import RATES

CALM = Feed(sources=4, duration="60s", rate=Regular("100ms"), delay=Constant("50ms"), seed=3)


def column(dataset: Dataset, name: str) -> np.ndarray:
    values = dataset.table[name]
    if pa.types.is_timestamp(values.type):
        values = values.cast(pa.int64())
    return values.to_numpy(zero_copy_only=False)


def test_the_same_seed_gives_the_same_rows_and_another_does_not() -> None:
    feed = Feed(sources=3, duration="20s", stalls=Stalls("5s", "1s"), poison=0.05, seed=1)
    assert generate(feed).table.equals(generate(feed).table)
    assert not generate(feed).table.equals(generate(replace(feed, seed=2)).table)


def test_rows_are_in_arrival_order_and_numbered_by_source() -> None:
    feed = generate(replace(CALM, delay=Uniform("0ms", "1s")))
    assert (np.diff(column(feed, "arrival")) >= 0).all()
    frame = feed.table.to_pandas().sort_values(["source", "sequence"])
    for _, rows in frame.groupby("source"):
        assert rows["sequence"].tolist() == list(range(600))
        assert rows["true_time"].is_monotonic_increasing


def test_without_trouble_the_clock_is_true_and_nothing_is_out_of_order() -> None:
    feed = generate(CALM)
    assert (column(feed, "time") == column(feed, "true_time")).all()
    assert (np.diff(column(feed, "time")) >= 0).all()
    assert set(feed.delays().tolist()) == {50_000}


def test_skew_and_drift_change_the_stamp_and_nothing_else() -> None:
    plain, skewed = generate(CALM), generate(replace(CALM, skew="200ms", drift=500.0))
    assert plain.table.drop(["time"]).equals(skewed.table.drop(["time"]))
    frame = skewed.table.to_pandas()
    error = (frame["time"] - frame["true_time"]).dt.total_seconds()
    by_source = error.groupby(frame["source"])
    assert by_source.mean().abs().max() > 0.05
    assert by_source.mean().nunique() == 4
    slopes = [np.polyfit(np.arange(len(e)), e, 1)[0] for _, e in by_source]
    assert max(abs(s) for s in slopes) > 1e-6  # 500 ppm of 0.1 s is 5e-5 s an event


def test_stalls_deliver_a_backlog_in_order() -> None:
    feed = generate(replace(CALM, stalls=Stalls("20s", "5s", "1ms"), in_order=True))
    delays = feed.delays()
    assert delays.min() == 50_000
    stuck = delays > 60_000
    assert 0.05 < stuck.mean() < 0.6
    for _, rows in feed.table.to_pandas().groupby("source"):
        assert rows["sequence"].is_monotonic_increasing
        gaps = rows["arrival"].diff().dt.total_seconds()
        assert gaps.max() > 1.0  # the silence
        assert (gaps < 0.002).sum() > 10  # and the backlog after it


def test_in_order_keeps_each_source_in_order() -> None:
    wild = replace(CALM, delay=Uniform("0ms", "2s"))
    for feed, ordered in ((wild, False), (replace(wild, in_order=True), True)):
        frame = generate(feed).table.to_pandas()
        each = [rows["sequence"].is_monotonic_increasing for _, rows in frame.groupby("source")]
        assert all(each) is ordered


def test_churn_makes_sources_join_and_leave() -> None:
    feed = generate(replace(CALM, sources=20, churn=0.5))
    spans = feed.table.to_pandas().groupby("source")["true_time"].agg(["min", "max", "count"])
    assert 3 < (spans["count"] < 590).sum() < 17


def test_duplicates_come_again_later_and_are_the_same_event() -> None:
    feed = generate(replace(CALM, duplicates=0.1))
    frame = feed.table.to_pandas()
    twice = frame[frame.duplicated(["source", "sequence"], keep=False)]
    assert 0.05 * 2400 < len(frame) - 2400 < 0.15 * 2400
    for _, pair in twice.groupby(["source", "sequence"]):
        assert len(pair) == 2
        assert pair["time"].nunique() == 1
        assert pair["value"].nunique() == 1
        assert pair["arrival"].nunique() == 2


def test_poison_is_missing_or_in_2099_or_in_1970() -> None:
    feed = generate(replace(CALM, poison=0.3))
    time = feed.table["time"].to_pandas()
    kinds = (time.isna().mean(), (time.dt.year == 2099).mean(), (time.dt.year == 1970).mean())
    for share in kinds:
        assert 0.06 < share < 0.14
    assert feed.table["true_time"].null_count == 0
    assert 0.25 < sum(kinds) < 0.35


def test_rates_have_the_mean_they_promise() -> None:
    rng = np.random.default_rng(1)
    for rate in (Regular("10ms"), Jittered("10ms"), Poisson("10ms"), Bursty("10ms", 10)):
        moments = rate.moments(100e6, 0.3, rng)
        assert len(moments) == pytest.approx(10_000, rel=0.1)
        assert (np.diff(moments) >= 0).all()
        assert moments.min() >= 0
        assert moments.max() < 100e6
    gaps = np.diff(Poisson("10ms").moments(100e6, 0, rng))
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.1)
    gaps = np.diff(Bursty("10ms", 10, "1ms").moments(100e6, 0, rng))
    assert np.median(gaps) < 1000 < gaps.mean()
    steady = Changing("1s", "1s").moments(10e6, 0.5, rng)
    assert steady.tolist() == pytest.approx([0.5e6 + n * 1e6 for n in range(10)])


def test_delay_laws() -> None:
    rng, at = np.random.default_rng(1), np.linspace(0, 1, 20_000, endpoint=False)
    assert Normal("100ms", "10ms").sample(at, rng).std() == pytest.approx(10_000, rel=0.05)
    assert Normal("0ms", "10ms").sample(at, rng).min() == 0
    assert np.median(Lognormal("80ms", 1.0).sample(at, rng)) == pytest.approx(80_000, rel=0.05)
    tail = Pareto("50ms", 2.0).sample(at, rng)
    assert tail.min() >= 50_000
    assert np.mean(tail > 500_000) == pytest.approx(0.01, abs=0.004)
    ramp = Ramp("0ms", "1s", "0ms").sample(at, rng)
    assert ramp[10_000] == pytest.approx(500_000)
    wide = Widening("10ms", "10ms", "1s").sample(at, rng)
    assert wide[:100].max() < 20_000 < 800_000 < wide[-1000:].max()
    steps = Steps(("50ms", "500ms"), "0ms").sample(at, rng)
    assert (steps[0], steps[-1]) == (50_000, 500_000)
    square = Square("1ms", "2ms", "0ms", cycles=1, share=0.25).sample(at, rng)
    assert np.mean(square == 2000) == pytest.approx(0.25, abs=0.001)
    sine = Sine("500ms", "100ms", "0ms", cycles=1).sample(at, rng)
    assert (sine.max(), sine.min()) == (pytest.approx(600_000), pytest.approx(400_000))
    mixed = Mixed(Constant("1ms"), Constant("1s"), 0.1).sample(at, rng)
    assert np.mean(mixed == 1_000_000) == pytest.approx(0.1, abs=0.01)


def test_laws_are_dealt_out_in_turn() -> None:
    feed = generate(replace(CALM, rate=(Regular("100ms"), Regular("300ms")),
                            delay=(Constant("10ms"), Constant("20ms"))))
    counts = feed.table.to_pandas().groupby("source").size().to_dict()
    assert counts == {"s0": 600, "s1": 200, "s2": 600, "s3": 200}
    frame = feed.table.to_pandas()
    delays = (frame["arrival"] - frame["time"]).dt.total_seconds().groupby(frame["source"]).max()
    assert delays.round(3).to_dict() == {"s0": 0.01, "s1": 0.02, "s2": 0.01, "s3": 0.02}


def test_laws_by_text() -> None:
    assert law_named("lognormal(median=80ms, sigma=0.6)", DELAYS, what="delay") == Lognormal(
        "80ms", 0.6)
    assert law_named("steps(levels=10ms/2s)", DELAYS, what="delay") == Steps(("10ms", "2s"))
    assert law_named("Poisson", RATES, what="rate") == Poisson()
    assert str(Pareto()) == "pareto(least=50ms, shape=2.5)"
    with pytest.raises(ConfigError, match="did you mean 'pareto'"):
        law_named("paretto", DELAYS, what="delay")
    with pytest.raises(ConfigError, match="did you mean 'sigma'"):
        law_named("lognormal(sigmma=1)", DELAYS, what="delay")
    with pytest.raises(ConfigError, match="cannot be given as text"):
        law_named("mixed(usual=lognormal)", DELAYS, what="delay")


@pytest.mark.parametrize(("wrong", "where"), [
    ({"sources": 0}, "Feed.sources"), ({"poison": 1.5}, "Feed.poison"),
    ({"duration": "0s"}, "Feed.duration"), ({"spread": 2.0}, "Feed.spread"),
    ({"start": "yesterday"}, "Feed.start"),
])
def test_nonsense_is_refused(wrong: dict[str, object], where: str) -> None:
    with pytest.raises(ConfigError, match=where):
        Feed(**wrong)  # type: ignore[arg-type]


def test_laws_refuse_nonsense() -> None:
    for make in (lambda: Regular("0ms"), lambda: Jittered(jitter=0.7), lambda: Bursty(burst=0),
                 lambda: Pareto(shape=0.0), lambda: Steps(()), lambda: Changing("0s", "1s")):
        with pytest.raises(ConfigError):
            make()
