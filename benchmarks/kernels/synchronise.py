"""Synchronisers: thousands of sources against few, frontiers against trees, trees in seconds."""

from __future__ import annotations

import resource

from benchmarks.result import Result, best_of
from slackwater.core.events import Roles
from slackwater.papers.synchronisation.streams import Streams
from slackwater.synchronise import (
    FrontierSync,
    MergedTreeSync,
    RedBlackSync,
    Synchroniser,
    TreeSync,
)

_ROLES = Roles("time", "arrival", source="source", unit="us")


def _seconds(method: type[Synchroniser], streams: int, events: int, times: int = 3) -> float:
    """Seconds to push the events in batches of 100 000, without starting up."""
    made = Streams(streams, events)
    batch = made.batch()
    cuts = [batch.slice(at, 100_000) for at in range(0, events, 100_000)]
    config = method(_ROLES, sources=made.names)
    logics = [config.start() for _ in range(times + 1)]
    for cut in cuts:  # compile, and warm the caches
        logics[-1].push(cut)
    rest = iter(logics)

    def push() -> None:
        logic = next(rest)
        for cut in cuts:
            logic.push(cut)

    return best_of(times, push)


def run() -> list[Result]:
    few, many = (_seconds(FrontierSync, n, 1_000_000) for n in (15, 1_500))
    results = [Result("FrontierSync, 1 500 sources", many, "15 sources", few, 3.0,
                      f"{many * 1e3:.0f} ns an event")]
    frontier = _seconds(FrontierSync, 256, 100_000)
    for tree in (TreeSync, MergedTreeSync, RedBlackSync):
        slow = _seconds(tree, 256, 100_000, 2)
        results.append(Result("FrontierSync, 256 sources", frontier, tree.__name__, slow, 1 / 8,
                              f"{slow * 10:.2f} µs an event"))
    for tree in (TreeSync, MergedTreeSync):
        results.append(Result(f"{tree.__name__}, 1 500 streams × 10 000 events",
                              _seconds(tree, 1_500, 10_000, 1), "ten seconds", 10.0, 1.0))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    huge = _seconds(FrontierSync, 100_000, 1_000_000, 1)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    results.append(Result("FrontierSync, 100 000 sources", huge, "15 sources", few, None,
                          f"{grown:.0f} MiB more at the peak, two logics and the events"))
    return results
