"""`Tide`'s promise on generated streams: `python -m benchmarks.quality.promise [--seeds 10]`.

For each kind of stream and each loss, over all seeds: the share of late rows after the warm-up
(5 % of the rows or 10 / loss rows, whichever is more) over the loss, and the mean wait over that of
the best constant buffer in hindsight; mean and worst.  Where a stream needs no buffer at all, the
wait is given in seconds.
"""

from __future__ import annotations

import argparse
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import numpy as np

from benchmarks.quality.kinds import KINDS, counted, events_of
from slackwater.evaluate.live import best_constant
from slackwater.evaluate.metrics import constant_run
from slackwater.evaluate.run import Run, run
from slackwater.reorder import Tide

__all__ = ["figures", "waited"]

LOSSES = (0.01, 0.001)


def waited(done: Run) -> float:
    """Mean wait in seconds; a late row waits for nothing."""
    return float(np.where(done.late, 0, done.released - done.events.arrival).mean()) / 1e6


def figures(name: str, seed: int, rows: int, loss: float) -> tuple[float, float, float]:
    """Late share over the loss; mean wait, and that of the best constant, in seconds."""
    events = events_of(name, seed, rows)
    counts = counted(events)
    done = run(events, Tide(loss=loss))
    warm = np.arange(rows) >= max(0.05 * rows, 10 / loss)
    buffer = best_constant(events.time[counts], events.arrival[counts], events.key[counts], loss)
    return (float(done.late[warm & counts].mean()) / loss, waited(done),
            waited(constant_run(events, buffer)))


def line(name: str, seeds: int, rows: int) -> str:
    """One kind of stream, at each loss."""
    parts = [f"{name:16}"]
    for loss in LOSSES:
        late, wait, best = np.array([figures(name, seed, rows, loss)
                                     for seed in range(1, seeds + 1)]).T
        if best.min() > 0:
            ratio = wait / best
            text = f"{ratio.mean():7.2f} {ratio.max():7.2f}  "
        else:
            text = f"{wait.mean():6.1f}s {wait.max():6.1f}s  "
        parts.append(f"{late.mean():7.2f} {late.max():7.2f} {text}")
    return " ".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("kinds", nargs="*", default=list(KINDS))
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rows", type=int, default=100_000)
    asked = parser.parse_args()
    print(" " * 16, *(f"{f'loss {100 * loss:g} %: late ÷ loss, wait ÷ best':>33}"
                       for loss in LOSSES))
    print(" " * 16, *([f"{'mean':>7} {'worst':>7} {'mean':>7} {'worst':>7}  "] * len(LOSSES)))
    with ProcessPoolExecutor(2) as pool:
        for text in pool.map(partial(line, seeds=asked.seeds, rows=asked.rows), asked.kinds):
            print(text, flush=True)


if __name__ == "__main__":
    main()
