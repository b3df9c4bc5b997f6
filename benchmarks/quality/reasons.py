"""Why a promise was not kept, or a wait was long: `python -m benchmarks.quality.reasons KIND …`.

Late rows after the warm-up over the loss; how many of them were delayed longer than anything that
had arrived before, which no rule that learns from delays can foresee; and the loss without these.
Then the mean wait over that of the best constant in hindsight that has *as many late rows*: where a
stream has a cliff (stalls of one length, one row in a hundred late by hours), the best constant at
the loss asked for stands on its edge, and a rule that loses a little less must wait far longer.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.quality.kinds import KINDS, counted, events_of
from benchmarks.quality.promise import LOSSES, waited
from slackwater.datasets import read_dataset
from slackwater.evaluate.live import needed_buffers
from slackwater.evaluate.metrics import constant_run
from slackwater.evaluate.run import Events, run, usable_events
from slackwater.reorder import Tide

__all__ = ["reasons", "unforeseen"]


def unforeseen(events: Events) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Rows that were delayed longer than all that arrived before their instant."""
    delay = events.arrival - events.time
    first = np.searchsorted(events.arrival, events.arrival)  # of the rows of the same instant
    longest = np.maximum.accumulate(delay)
    return np.asarray((first == 0) | (delay > longest[np.maximum(first - 1, 0)]))


def reasons(events: Events, loss: float) -> tuple[float, float, float, float]:
    """Late ÷ loss, the unforeseen part of it, late ÷ loss without; wait ÷ best at the same loss."""
    done, rows = run(events, Tide(loss=loss)), len(events)
    counts = counted(events) & (np.arange(rows) >= max(0.05 * rows, 10 / loss))
    late = done.late & counts
    record = late & unforeseen(events)
    needed = np.sort(needed_buffers(events.time, events.arrival, events.key))[::-1]
    same = waited(constant_run(events, int(needed[min(int(done.late.sum()), rows - 1)]) + 1))
    share = 1 / max(int(counts.sum()), 1) / loss
    return (late.sum() * share, record.sum() / max(late.sum(), 1), (late & ~record).sum() * share,
            waited(done) / same if same > 0 else float("nan"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("feeds", nargs="+", help="files, or names of generated kinds")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100_000)
    asked = parser.parse_args()
    print(f"{'':20} {'loss':>6} {'÷ loss':>7} {'unforeseen':>11} {'÷ loss without':>15} "
          f"{'wait ÷ best at the same loss':>29}")
    for feed in asked.feeds:
        streams = ([events_of(feed, seed, asked.rows) for seed in range(1, asked.seeds + 1)]
                   if feed in KINDS else [usable_events(read_dataset(feed),
                                                        max_future_skew="10000 days")])
        for loss in LOSSES:
            found = np.mean([reasons(events, loss) for events in streams], axis=0)
            print(f"{streams[0].name:20} {100 * loss:>4g} % {found[0]:7.2f} "
                  f"{100 * found[1]:9.0f} % "
                  f"{found[2]:15.2f} {found[3]:29.2f}", flush=True)


if __name__ == "__main__":
    main()
