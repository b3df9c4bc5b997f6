"""`Tide` on real feeds (where they are at hand) and on generated kinds of streams."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.quality.kinds import KINDS, events_of, in_order, lognormal, poisson
from benchmarks.quality.promise import figures, waited
from slackwater.datasets import read_dataset
from slackwater.evaluate.live import best_constant
from slackwater.evaluate.metrics import constant_run
from slackwater.evaluate.run import Events, run, usable_events
from slackwater.reorder import Tide

SHARED = Path(os.environ.get("SLACKWATER_DATASETS", Path(__file__).parents[3] / "shared/datasets"))
FEEDS = {  # what may be late after the warm-up, over the loss; what may be waited, over the best
    "winlog-forwarding": {0.01: (3.2, 1.5), 0.001: (1.2, 1.5)},  # 1 %: a first stall of 45 s
    "binance-marketdata": {0.01: (1.2, 1.5), 0.001: (1.2, 1.5)},
    "lorawan-gateways": {0.01: (1.2, None), 0.001: (1.2, None)},
    "v2n-5g-echo": {0.01: (1.2, None), 0.001: (1.2, None)},
}


@pytest.mark.parametrize("loss", [0.01, 0.001])
@pytest.mark.parametrize("name", FEEDS)
def test_feeds(name, loss):
    file = SHARED / "feeds" / f"{name}.csv.gz"
    if not file.exists():
        pytest.skip(f"{file} is not there; SLACKWATER_DATASETS names the folder of feeds")
    events = usable_events(read_dataset(str(file)), max_future_skew="10000 days",
                           max_delay="1000s" if name.startswith("lorawan") else None)
    done = run(events, Tide(loss=loss))
    warm = int(max(0.05 * len(events), 10 / loss))
    share, ratio = FEEDS[name][loss]
    assert done.late[warm:].mean() <= share * loss
    best = waited(constant_run(events, best_constant(events.time, events.arrival, events.key,
                                                     loss)))
    if ratio is None:
        assert best == 0
        assert waited(done) < 0.2
    else:
        assert waited(done) <= ratio * best


# What cannot be met causally: a stall longer than all before, which holds more rows than may be
# late; a batch of rows that is sent twice, of which the loss allows seven here.  The allowance is
# late ÷ loss; the wait is measured against the best constant in hindsight.
BEYOND = {"heavy_heads": 3.0, "fast_stalls": 2.0, "copies": 1.5}
WAITS = {"heads_of_line": 3.5,  # a constant that gives up all stalls, just as many as may be late
         "whole_hours": 3.0,    # … or all that is two hours late
         "sessions": 4.0,       # sessions sent hours later come by the dozen, and seldom
         "archive": 3.5,        # of thousands of sources that are hardly known, until …
         "copies": 2.5,         # … or of batches sent twice: the plain buffer has learned
         "shifts": 2.6}         # … or of vehicles that have gone home
ROWS = 40_000


@pytest.mark.parametrize("name", KINDS)
def test_the_promise_is_kept_on_generated_streams(name):
    for seed in (1, 2, 3):
        late, wait, best = figures(name, seed, ROWS, 0.01)
        assert late <= BEYOND.get(name, 1.2)
        if best > 0:
            assert wait <= WAITS.get(name, 2) * best


def test_sources_that_begin_with_a_backlog_are_known_once_they_have_caught_up():
    """Half of their first delays are minutes, like wrong clocks'; later ones are as all others'."""
    rows, rng = 40_000, np.random.default_rng(2)
    time, source = poisson(rng, rows, 30, 50.0)
    arrival = np.maximum(time + lognormal(rng, rows, 0.1), rng.uniform(0, 200, 30)[source])
    arrival = in_order(time, arrival, source)
    order = np.argsort(arrival, kind="stable")
    moments = [(x[order] * 1e6).astype(np.int64) + 10**15 for x in (time, arrival)]
    done = run(Events("", *moments, np.zeros(rows, np.int64), source[order], None,
                      tuple(f"s{k}" for k in range(30)), 0), Tide(loss=0.01))
    assert np.mean((done.released - done.events.arrival)[rows * 3 // 4:]) < 10e6


def test_a_newcomer_is_not_waited_for_more_patiently_the_longer_the_stream_has_run():
    """Ten sources for 290,000 rows; then one more that sends a few events, and no more."""
    old = events_of("swapped", 1, 300_000)
    rows = np.arange(290_000, 290_000 + 5 * 200, 200)
    order = np.argsort(np.append(np.arange(len(old)), rows + 0.5))
    events = replace(
        old, time=np.append(old.time, old.time[rows])[order],
        arrival=np.append(old.arrival, old.arrival[rows])[order],
        key=np.zeros(len(order), np.int64),
        source=np.append(old.source, np.full(5, 10))[order], sources=(*old.sources, "brief"))
    done = run(events, Tide(loss=0.01))
    wait = (done.released - events.arrival)[~done.late] / 1e6
    assert wait[-9000:].max() < 5, "as long as the stream had lasted, when patience only drifted"


def test_what_stalls_have_taught_is_not_forgotten():
    """Each stall holds a hundred rows; the first ones cannot be foreseen, those after them can."""
    late = [figures("fast_stalls", seed, 100_000, 0.001)[0] for seed in (1, 2, 3)]
    assert np.mean(late) <= 2.5  # 9 when each was new
