"""Feeds × policies × loss: `python -m benchmarks.quality.tide [--loss 0.1%] FILE …`.

For each policy: the share of late rows after the warm-up (5 % of the rows or 10 / loss rows,
whichever is more, half of the rows at most) over the loss, the mean wait, and its ratio to that of
the best constant buffer in hindsight.  Rows more than `--max-delay` old are left out: wrong clocks.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

import numpy as np

from slackwater.datasets import read_dataset
from slackwater.evaluate.live import best_constant
from slackwater.evaluate.metrics import BEST, constant_run
from slackwater.evaluate.run import Events, Run, run, usable_events
from slackwater.reorder import (
    BoundedOutOfOrderness,
    DropRatio,
    KSlack,
    MeanPlusRange,
    Percentile,
    Policy,
    Tide,
)

LOSSES = (0.01, 0.001)


def policies(loss: float, span: int) -> dict[str, Policy]:
    """Those that take a loss, and others with their own settings."""
    return {"Tide": Tide(loss=loss), "DropRatio": DropRatio(ratio=loss),
            "Percentile": Percentile(loss=loss), "MeanPlusRange": MeanPlusRange(),
            "KSlack": KSlack(), "BoundedOutOfOrderness": BoundedOutOfOrderness(max(span, 0))}


def warm_up(rows: int, loss: float) -> int:
    """Rows before the promise begins."""
    return int(min(max(0.05 * rows, 10 / loss), rows / 2))


def figures(done: Run, loss: float, best: float) -> str:
    """One line of the table."""
    late = done.late[warm_up(len(done.events), loss):]
    wait = np.where(done.late, 0, done.released - done.events.arrival).mean() / 1000
    ratio = f"{wait / best:8.2f}" if best > 0 else "       –"
    return (f"{done.late.sum():8,} {100 * done.late.mean():8.3f} {late.mean() / loss:8.2f} "
            f"{wait:14,.1f} {ratio}")


def table(events: Events, losses: tuple[float, ...]) -> None:
    """Print one feed."""
    for loss in losses:
        print(f"\n{events.name}: {len(events):,} rows, {len(events.sources)} sources, "
              f"at most {100 * loss:g} % late")
        print(f"{'policy':22} {'late':>8} {'late %':>8} {'÷ loss':>8} {'mean wait ms':>14} "
              f"{'÷ best':>8}")
        buffer = best_constant(events.time, events.arrival, events.key, loss)
        done = constant_run(events, buffer)
        best = np.where(done.late, 0, done.released - events.arrival).mean() / 1000
        print(f"{BEST:22} {figures(done, loss, best)}")
        for name, policy in policies(loss, buffer or 0).items():
            print(f"{name:22} {figures(run(events, policy), loss, best)}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+")
    parser.add_argument("--loss", type=float, action="append")
    parser.add_argument("--max-delay", default=None, help="leave out rows older than this")
    asked = parser.parse_args()
    for file in asked.files:
        events = usable_events(read_dataset(file), max_future_skew="10000 days",
                               max_delay=asked.max_delay)
        table(replace(events, name=events.name), tuple(asked.loss or LOSSES))


if __name__ == "__main__":
    main()
