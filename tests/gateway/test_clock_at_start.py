"""A gateway that starts on a clock which nothing confirms: a year ahead of its last event."""

from __future__ import annotations

import time

from slackwater.gateway import Limits, Log
from tests.gateway.test_clock_and_readers import NOW, SECOND, YEAR, Clocks

HOUR = 3600 * SECOND


def test_a_clock_far_ahead_of_the_last_event_heals_when_it_is_set_right():
    clocks = Clocks()
    clocks.wall += YEAR
    clock = clocks.start(seen=NOW - HOUR)
    assert clock.now() == clocks.wall, "the machine may have been off for a year"
    assert "ahead of the last event" in clock.problem
    clocks.passes(60 * SECOND)
    clocks.wall -= YEAR
    for _ in range(5):
        clocks.passes(100 * SECOND)
        assert clock.now() == clocks.wall + YEAR
    clocks.passes(200 * SECOND)
    assert clock.now() == clocks.wall
    assert clock.problem is None
    clocks.wall -= YEAR // 2
    for _ in range(20):
        clocks.passes(100 * SECOND)
        assert clock.now() == clocks.wall + YEAR // 2, "only once, and only such a clock"


def test_a_clock_is_not_set_back_behind_what_is_known():
    clocks = Clocks()
    clocks.wall += YEAR
    clock = clocks.start(seen=NOW - HOUR)
    clock.now()
    clocks.wall -= 2 * YEAR
    for _ in range(20):
        clocks.passes(100 * SECOND)
        assert clock.now() == clocks.wall + 2 * YEAR


def test_a_clock_that_stays_is_doubted_no_longer():
    clocks = Clocks()
    clocks.wall += YEAR
    clock = clocks.start(seen=NOW - HOUR)
    clocks.passes(HOUR + SECOND)
    assert clock.now() == clocks.wall
    assert clock.problem is None
    assert not clock.doubted


def test_events_are_not_old_by_a_clock_that_nothing_confirms(tmp_path):
    limits = Limits(segment_size=200, retain_age=86_400 * SECOND, min_free=0, look_every=0.01)
    with Log(tmp_path, limits) as log:
        for n in range(20):
            log.append([b'{"n":%d}' % n]).result(10)
    (tmp_path / "clock").unlink(missing_ok=True)  # as after a reboot
    with Log(tmp_path, limits, clock=lambda: time.time_ns() // 1000 + YEAR) as log:
        time.sleep(0.2)
        assert log.first == 0
        assert "ahead of the last event" in log.warning
