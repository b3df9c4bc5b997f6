"""Durations: exact, bounded, and in text never without a unit."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from slackwater.core.durations import LONGEST, UNITS, format_duration, micros
from slackwater.core.errors import ConfigError
from slackwater.core.times import FIRST_TIME, LAST_TIME
from slackwater.datasets.delays import DELAYS
from slackwater.datasets.feed import Feed
from slackwater.datasets.law import law_named
from slackwater.reorder.policies.drop_ratio import DropRatio
from slackwater.reorder.policies.kalman import Kalman
from slackwater.reorder.policies.kslack import KSlack
from slackwater.reorder.policies.latest_delay import LatestDelay
from slackwater.reorder.policies.named import POLICIES, as_policy
from slackwater.reorder.tide.policy import Tide, as_share


@given(st.integers(0, LONGEST))
def test_microseconds_survive_as_text_exactly(us):
    assert micros(f"{us}us") == us
    assert micros(f"{Decimal(us) / 1000}ms") == us


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 1000), st.sampled_from(sorted(UNITS))), min_size=1))
def test_parts_add_up(parts):
    text = " ".join(f"{count}{unit}" for count, unit in parts)
    assert micros(text) == sum(count * UNITS[unit] for count, unit in parts)


@pytest.mark.parametrize(("text", "us"), [
    ("500ms", 500_000), ("1 hour", 3_600_000_000), ("1m 30s", 90_000_000), ("0.5 s", 500_000),
    ("1.0000005s", 1_000_000), ("2 Days", 172_800_000_000), ("7µs", 7), ("+3s", 3_000_000),
])
def test_text(text, us):
    assert micros(text) == us


@pytest.mark.parametrize("text", ["", "s", "5 5s", "5s5", "1e3s", "--5s", "1,5s", "nan s", "inf",
                                  "5 parsecs", "٥s"])
def test_what_is_no_duration(text):
    with pytest.raises(ConfigError):
        micros(text)


@pytest.mark.parametrize("text", ["5", "0", "1.5", " 20 "])
def test_a_number_in_text_needs_a_unit(text):
    with pytest.raises(ConfigError, match="is not a duration") as caught:
        micros(text, name="timeout")
    assert caught.value.hint == f'add a unit: "{text.strip()}s" or "{text.strip()}ms"'


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, True, None, Decimal(5)])
def test_other_types_are_refused(value):
    with pytest.raises(ConfigError, match="must be text, a timedelta or whole microseconds"):
        micros(value)


@pytest.mark.parametrize("value", ["3652501d", "9" * 400 + "s", timedelta(days=10**8), 2**63,
                                   2**200])
def test_too_long(value):
    with pytest.raises(ConfigError, match=r"is too long\n  expected: at most 3652500d") as error:
        micros(value, name="horizon")
    assert error.value.step == "horizon"
    if not isinstance(value, str):
        with pytest.raises(ConfigError, match="is too long"):
            micros(-value, least=None)


def test_the_longest_can_be_added_to_any_time_many_times():
    assert micros("3652500 days") == LONGEST
    limits = np.iinfo(np.int64)
    assert limits.max > LAST_TIME + 20 * LONGEST
    assert limits.min < FIRST_TIME - 20 * LONGEST


@given(st.integers(0, 10**9))
def test_what_is_written_can_be_read_back(us):
    assert abs(micros(format_duration(us)) - us) <= us * 1e-5


def test_too_short():
    with pytest.raises(ConfigError, match="is too short"):
        micros("-1s")
    assert micros("-1s", least=None) == -1_000_000
    with pytest.raises(ConfigError, match="at least 1us"):
        micros(0, least=1)


def duration_parameters():
    for policy, kind in POLICIES.items():
        for field in kind.__dataclass_fields__.values():
            if str(field.type).startswith("Duration"):
                yield policy, field.name


@pytest.mark.parametrize(("policy", "field"), list(duration_parameters()))
def test_no_policy_takes_a_number_without_a_unit_from_text(policy, field):
    with pytest.raises(ConfigError, match="is not a duration") as caught:
        as_policy(f"{policy}({field}=5)")
    assert (caught.value.step, caught.value.hint) == (
        f"{policy}.{field}", 'add a unit: "5s" or "5ms"')


def test_no_law_of_delays_takes_one_either():
    with pytest.raises(ConfigError, match="add a unit"):
        law_named("lognormal(median=80)", DELAYS, what="delay")
    assert law_named("lognormal(median=80ms, sigma=1)", DELAYS, what="delay").sigma == 1


def test_in_python_a_whole_number_is_microseconds():
    assert as_policy("tide(max_timeout=5s)") == Tide(max_timeout=5_000_000)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf"), True, "2"])
@pytest.mark.parametrize("make", [
    lambda x: KSlack(scale=x), lambda x: LatestDelay(increase=x), lambda x: LatestDelay(decrease=x),
    lambda x: Kalman(process_noise=x), lambda x: Kalman(measurement_noise=x),
    lambda x: DropRatio(max_delay_from=x), lambda x: Feed(drift=x), lambda x: Feed(churn=x),
    lambda x: DELAYS["lognormal"](sigma=x), lambda x: DELAYS["pareto"](shape=x),
], ids=["scale", "increase", "decrease", "process", "measurement", "max_delay_from", "drift",
        "churn", "sigma", "shape"])
def test_parameters_are_finite_numbers(make, bad):
    with pytest.raises(ConfigError, match="is not a finite number"):
        make(bad)


@pytest.mark.parametrize("policy", ["kslack(scale=nan)", "bstt(increase=inf)", "tide(loss=nan)",
                                    "dratio(ratio=nan)", "tide(loss=inf)", "dratio(ratio=-1)"])
def test_nor_from_text(policy):
    with pytest.raises(ConfigError):
        as_policy(policy)


@pytest.mark.parametrize("share", [float("nan"), "nan", "nan%", float("inf"), "inf%", 0, 1, "-1%",
                                   "", None])
def test_shares(share):
    with pytest.raises(ConfigError, match="is not a share"):
        as_share(share, step="loss")


def test_a_number_of_numpy_is_a_number():
    assert KSlack(scale=np.float32(0.5)).scale == 0.5
