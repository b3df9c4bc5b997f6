"""`Tide` when sources die, join, come back or have wrong clocks: the others must not suffer."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from feeds import ROLES, SECOND, START, Told, batch_of, regular

from slackwater import Reorder
from slackwater.reorder import Tide

NAMES = [f"s{n}" for n in range(8)]
USUAL = 0.35  # a feed as below, undisturbed, stays under this mean latency


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def feed(rng, names=NAMES, end=300.0, **settings):
    return [row for name in names for row in regular(rng, name, end=end, **settings)]


def reasons(rows):
    return rows["_reason"].str.replace(r".*watermark: ", "", regex=True)


def test_an_undisturbed_feed_is_fast_and_loses_nothing(rng):
    told = Told(Tide(), batch_of(feed(rng)))
    assert len(told.late) == 0
    assert told.latency(30) < USUAL
    assert told.notes["sources"]["live"] == 8


def test_a_source_that_dies_is_waited_for_and_then_given_up(rng):
    rows = [r for r in feed(rng) if r[2] != "s3" or r[0] < 100]
    told = Told(Tide(), batch_of(rows))
    assert len(told.late) == 0
    assert told.latency(100, 101) > 0.5, "for a while they wait for it"
    assert told.latency(150, 300) < USUAL
    assert told.notes["sources"]["idle"] == 1
    dead = told.notes["sources"]["worst"][0]
    assert (dead["source"], dead["status"]) == ("s3", "idle")
    assert told.ready["_reason"].str.contains("source s3 silent for").any()


def test_ten_sources_join(rng):
    joiners = [f"new{n}" for n in range(10)]
    told = Told(Tide(), batch_of(feed(rng) + feed(rng, joiners, begin=100.0)))
    assert set(told.late["source"]) <= set(joiners), "no old source loses a row"
    assert set(reasons(told.late)) <= {f"new source {name}" for name in joiners}
    assert told.late["sequence"].max() < 8 if len(told.late) else True
    assert told.latency(130, 300) < USUAL
    assert told.notes["sources"]["live"] == 18


def test_declared_sources_lose_nothing_at_the_start(rng):
    names = [f"s{n}" for n in range(30)]
    rows = [row for n, name in enumerate(names) for row in regular(rng, name, begin=n / 6, end=60)]
    assert len(Told(Tide(sources=names), batch_of(rows)).late) == 0


def test_a_declared_source_that_never_comes_is_given_up(rng):
    told = Told(Tide(sources=[*NAMES, "ghost"]), batch_of(feed(rng, end=60)))
    assert len(told.late) == 0
    assert told.latency(2, 6) > 2.0
    assert told.latency(30, 60) < USUAL
    assert told.ready["_reason"].str.contains("declared sources not heard yet: 1").any()


@pytest.mark.parametrize("fresh_first", [False, True])
def test_a_source_comes_back_after_an_hour_with_its_backlog(rng, fresh_first):
    rows = feed(rng, end=4200.0)
    back = 3920 if fresh_first else 3900
    backlog = {r: back + n * 1e-3
               for n, r in enumerate(r for r in rows if r[2] == "s3" and 300 <= r[0] < 3900)}
    rows = [(r[0], backlog.get(r, r[1] if fresh_first or r[2] != "s3" or r[0] < 300
                               else max(r[1], back + 8)), r[2], r[3]) for r in rows]
    told = Told(Tide(), batch_of(rows))
    assert set(told.late["source"]) == {"s3"}, "the backlog of one makes no other row late"
    assert told.notes["debt"] > 0, "what is owed is shown"
    assert 7000 <= len(told.late) <= 7250
    assert told.latency(340, 3800, NAMES[:3]) < USUAL, "nobody waits for it while it is away"
    assert told.latency(3960, 4200, NAMES[:3]) < USUAL, "nor after it is back"
    back = told.ready[(told.ready["source"] == "s3") & (told.ready["time"] > START + 3910 * SECOND)]
    assert len(back) > 550, "what it sends then is in order again"


def test_all_sources_fall_silent_and_time_releases(rng):
    logic = Reorder(Tide(), ROLES).start()
    out = logic.push(batch_of(feed(rng, end=60.0)))
    assert out.notes["held"] > 0
    quiet = logic.tick(START + 80 * SECOND)
    assert quiet.notes["held"] == 0
    assert quiet.ready.num_rows == out.notes["held"]


def test_a_pause_of_all_loses_nothing(rng):
    rows = feed(rng, end=60.0) + [(t + 600, a + 600, s, n + 1000)
                                  for t, a, s, n in feed(rng, end=60.0)]
    told = Told(Tide(), batch_of(rows))
    assert len(told.late) == 0
    assert told.latency(610, 660) < USUAL + 0.1


@pytest.mark.parametrize("ahead", [1.0, 60.0, 240.0])
def test_a_clock_that_is_fast_keeps_back_its_own_events_only(rng, ahead):
    rows = feed(rng, NAMES[:7]) + feed(rng, ["fast"], clock=ahead)
    told = Told(Tide(), batch_of(rows))
    assert len(told.late[told.late["source"] != "fast"]) == 0
    assert told.latency(30, 295, NAMES[:7]) < USUAL


def test_a_clock_an_hour_ahead_is_quarantined(rng):
    told = Told(Tide(), batch_of(feed(rng, NAMES[:7]) + feed(rng, ["fast"], clock=3600.0)))
    assert len(told.late) == 0
    assert set(told.quarantined["source"]) == {"fast"}
    assert told.latency(30, 300) < USUAL


def test_a_fast_clock_alone_in_the_night_leaves_the_place_of_the_others(rng):
    honest = [r for r in feed(rng, NAMES[:4]) if not 100 <= r[0] < 200]
    told = Told(Tide(), batch_of(honest + feed(rng, ["fast"], clock=240.0)))
    assert len(told.late[told.late["source"] != "fast"]) == 0


def test_a_sequence_gap_is_waited_for_and_named(rng):
    rows = [(t, a + (2.0 if (s, n) == ("s2", 100) else 0.0), s, n) for t, a, s, n in feed(rng)]
    told = Told(Tide(), batch_of(rows))
    assert len(told.late) == 0, "the missing row was waited for"
    rows = [r for r in rows if (r[2], r[3]) != ("s2", 100)]
    told = Told(Tide(), batch_of(rows))
    assert told.ready["_reason"].str.contains("sequence gap at 100 in source s2").any()
    assert told.latency(70, 300) < USUAL, "a lost row is given up"


def test_a_slow_source_is_waited_for_once_it_has_kept_up(rng):
    """Its delay is three seconds longer than all others': not a backlog, and not to be lost."""
    rows = feed(rng) + regular(rng, "slow", begin=50, end=300, delay=3.0, spread=0.04)
    told = Told(Tide(), batch_of(rows))
    assert set(told.late["source"]) <= {"slow"}
    assert told.late["sequence"].max() < 16


def test_nobody_waits_for_a_clock_minutes_behind(rng):
    told = Told(Tide(), batch_of(feed(rng, NAMES[:7]) + feed(rng, ["behind"], clock=-240.0)))
    assert set(told.late["source"]) <= {"behind"}
    assert told.latency(30, 300, NAMES[:7]) < USUAL


def test_what_is_sent_at_once_an_hour_late_is_late_and_no_wrong_clock(rng):
    """Its rows have the same delay because they came together: that says nothing of its clock."""
    rows = feed(rng) + [(90.0 + n, 3700.0 + 0.001 * n, "offline", n) for n in range(50)]
    rows += regular(rng, "last", begin=3600, end=3720)
    told = Told(Tide(), batch_of(rows))
    assert (told.late["source"] == "offline").sum() == 50
    assert told.notes["odd_rows"] == 0


def test_every_row_says_why(rng):
    told = Told(Tide(), batch_of(feed(rng)))
    assert told.ready["_reason"].notna().all()
    assert told.ready["_reason"].str.startswith("waited for source s").mean() > 0.5


def test_without_a_source_column_each_key_is_one_source(rng):
    batch = batch_of(feed(rng, end=60)).drop_columns(["source", "sequence"])
    batch = batch.append_column("key", pa.array(np.arange(batch.num_rows) % 2))
    from slackwater import Roles

    told = Told(Tide(), batch, roles=Roles("time", "arrival", key=("key",), unit="us"))
    assert len(told.late) < 10
