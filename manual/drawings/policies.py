"""Each policy at work on one small feed: the delays that it sees, and the buffer that it sets.

The curves are those of the real policies, run by the real kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from manual.drawings.canvas import Canvas
from slackwater.datasets import Feed, Jittered, Square, Stalls, generate
from slackwater.evaluate.run import Events, Run, run, usable_events

__all__ = ["SHOWN", "policy_drawings"]


@dataclass(frozen=True)
class Shown:
    """A policy as the picture has it, and what there is to see."""

    policy: str
    told: str


SHOWN = {
    "static": Shown("Static(buffer=600ms)", "a constant, whatever comes"),
    "latest-delay": Shown("LatestDelay", "jumps up when a delay does not fit, and decays"),
    "weighted-mean": Shown("WeightedMean(offset=300ms)", "follows the newest delays closely"),
    "delay-range": Shown("DelayRange(n=60, offset=150ms)", "the spread of the delays, not their "
                         "level"),
    "mean-plus-range": Shown("MeanPlusRange(n=60, offset=150ms)", "level and spread of the last "
                             "delays"),
    "kalman": Shown("Kalman(offset=300ms)", "the filtered delay and a margin"),
    "kslack": Shown("KSlack", "the greatest delay so far: never comes down"),
    "max-delay": Shown("MaxDelay", "the greatest recent delay, forgotten half by half"),
    "percentile": Shown("Percentile", "a high quantile of the delays"),
    "drop-ratio": Shown("DropRatio(ratio=5%)", "as much as keeps the share of late rows"),
    "tide": Shown("Tide(loss=5%)", "waits for sources, not for delays: mostly far less than "
                  "the longest delay"),
}
"""By the drawing's name."""

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 210, 62, 34, 172


def policy_drawings() -> dict[str, Canvas]:
    """A drawing for each policy."""
    return {f"policy-{name}": _draw(shown) for name, shown in SHOWN.items()}


@cache
def _feed() -> Events:
    """Six sources; the delays rise for a while and fall again, and one source stalls."""
    return usable_events(generate(Feed(
        sources=6, duration="40s", rate=Jittered("250ms"), in_order=True, seed=7,
        delay=Square("80ms", "400ms", noise="60ms", cycles=2, share=0.4),
        stalls=Stalls(interval="60s", length="800ms"))))


def _draw(shown: Shown) -> Canvas:
    done: Run = run(_feed(), shown.policy)
    events = done.events
    arrival = (events.arrival - events.arrival[0]) / 1e6
    delay = (events.arrival - events.time) / 1e3
    waited = np.maximum(done.released - events.arrival, 0) / 1e3
    buffer = waited + delay if shown.policy.startswith("Tide") else done.buffer / 1e3
    top = 1500.0
    canvas = Canvas(_WIDTH, _HEIGHT, shown.policy, f"Delays of the events of six sources over 40 "
                    f"seconds, and the time that {shown.policy} waits: {shown.told}. "
                    f"{int(done.late.sum())} of {len(events)} events are late; the mean wait is "
                    f"{waited[~done.late].mean():.0f} ms.")

    def at(x: float, y: float) -> tuple[float, float]:
        return (round(_LEFT + (_WIDTH - _LEFT - 14) * x / float(arrival[-1]), 1),
                round(_BOTTOM - (_BOTTOM - _TOP) * min(y, top) / top, 1))

    for level in (0, 500, 1000, 1500):
        canvas.line([at(0, level), at(float(arrival[-1]), level)], "rule", width=1)
        canvas.text(_LEFT - 8, at(0, level)[1] + 4, f"{level / 1000:g} s", "faint", at="end",
                    look="small")
    for x, y, late in zip(arrival, delay, done.late, strict=True):
        if late:
            canvas.cross(*at(x, y), size=4)
        else:
            canvas.dot(*at(x, y), "faint", size=1.6)
    every = slice(None, None, 3)
    canvas.line([at(x, y) for x, y in zip(arrival[every], buffer[every], strict=True)], "mark",
                width=2)
    canvas.text(_LEFT, 20, shown.policy, look="code")
    canvas.text(_WIDTH - 14, 20, f"{int(done.late.sum())} of {len(events)} late, mean wait "
                f"{waited[~done.late].mean():.0f} ms", "faint", at="end", look="small")
    canvas.dot(_LEFT + 6, 196, "faint", size=2.5)
    canvas.text(_LEFT + 14, 200, "delay of an event", "faint", look="small")
    canvas.cross(_LEFT + 150, 196, size=4)
    canvas.text(_LEFT + 160, 200, "late", "late", look="small")
    canvas.line([(_LEFT + 210, 196), (_LEFT + 234, 196)], "mark", width=2)
    canvas.text(_LEFT + 240, 200, "time from event to release" if shown.policy.startswith("Tide")
                else "buffer", "mark", look="small")
    return canvas
