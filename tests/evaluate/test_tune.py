"""`tune`: every policy is tried, the front is a front, the choice keeps what was asked for."""

from __future__ import annotations

import json

import pytest

from slackwater.core.errors import ConfigError, DataError
from slackwater.datasets import Dataset, Feed, Jittered, Stalls, generate
from slackwater.evaluate.run import usable_events
from slackwater.evaluate.tune import grid, trade_off_picture, tune
from slackwater.reorder import POLICIES, Tide, as_policy

FEED = generate(Feed(sources=6, duration="1 minute", rate=Jittered("200ms"), in_order=True,
                     stalls=Stalls("20s", "1s"), seed=4))


@pytest.fixture(scope="module")
def tuned():
    return tune(FEED, loss="1%")


def test_every_policy_is_tried(tuned):
    assert {type(t.policy).__name__ for t in tuned.trials} == set(POLICIES)
    assert len({t.policy for t in tuned.trials}) == len(tuned.trials)


def test_the_front_is_what_no_other_trial_beats(tuned):
    for one in tuned.trials:
        beaten = any(
            other.loss <= one.loss and other.latency_ms <= one.latency_ms
            and (other.loss, other.latency_ms) != (one.loss, one.latency_ms)
            for other in tuned.trials)
        if one.pareto:
            assert not beaten
        else:
            assert beaten or any(t.pareto for t in tuned.trials
                                 if (t.loss, t.latency_ms) == (one.loss, one.latency_ms))
    assert tuned.chosen in tuned.front


def test_the_fastest_within_the_loss_is_chosen(tuned):
    fit = [t for t in tuned.trials if t.loss <= 0.01]
    assert tuned.met
    assert tuned.chosen.loss <= 0.01
    assert tuned.chosen.latency_ms == min(t.latency_ms for t in fit)
    assert all(t.policy.loss <= 0.01 for t in tuned.trials if isinstance(t.policy, Tide))


def test_the_choice_can_be_pasted(tuned):
    again = as_policy(str(tuned.chosen.policy))
    assert again == tuned.chosen.policy


def test_least_loss_within_a_latency():
    found = tune(FEED, latency="600ms", sample=800)
    fit = [t for t in found.trials if t.latency_ms <= 600]
    assert found.met
    assert found.events == 800
    assert found.chosen.loss == min(t.loss for t in fit)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["target"] == {"latency_ms": 600}
    assert told["policy"] == str(found.chosen.policy)
    assert len(told["trials"]) == len(found.trials)


def test_a_target_out_of_reach_gets_the_closest():
    found = tune(FEED, latency="1ms", sample=300)
    assert not found.met
    assert found.chosen.latency_ms == min(t.latency_ms for t in found.trials)


def test_declared_sources_reach_tide():
    events = usable_events(FEED)
    tides = [p for p in grid(events, declare_sources=True) if isinstance(p, Tide)]
    assert tides
    assert all(p.sources == events.sources for p in tides)
    assert all(p.sources is None for p in grid(events) if isinstance(p, Tide))


def test_one_target_must_be_given():
    for both in ({}, {"loss": "1%", "latency": "1s"}):
        with pytest.raises(ConfigError, match="one target"):
            tune(FEED, **both)
    with pytest.raises(ConfigError, match="not a share"):
        tune(FEED, loss="3")
    with pytest.raises(ConfigError, match="sample needs events"):
        tune(FEED, loss="1%", sample=0)


def test_nothing_to_try_on():
    with pytest.raises(DataError, match="no event"):
        tune(Dataset("empty", FEED.table.slice(0, 0), FEED.roles), loss="1%")


def test_the_picture_has_every_policy_and_the_choice(tuned):
    picture = trade_off_picture(tuned)
    labels = [text.get_text() for text in picture.legends[0].get_texts()]
    assert labels == [*dict.fromkeys(type(t.policy).__name__ for t in tuned.trials),
                      "Pareto front", "chosen"]
