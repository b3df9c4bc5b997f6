"""A profile as a picture: delays over time, and how they are distributed."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from slackwater.datasets import Dataset
from slackwater.evaluate import pictures
from slackwater.evaluate.disorder import out_of_order
from slackwater.evaluate.run import usable_events

__all__ = ["profile_picture"]


def profile_picture(dataset: Dataset) -> Figure:
    """Each event's delay, out-of-order ones marked; beside it, how many delays exceed x."""
    events = usable_events(dataset)
    delay = (events.arrival - events.time) / 1000
    disordered = out_of_order(events.time, events.key)
    with pictures.figure(pictures.WIDE, 2.6) as picture:
        left, right = picture.subplots(1, 2, width_ratios=(2, 1))
        x = (events.arrival - events.arrival[:1]) / 1e6
        for mask, colour, label in ((~disordered, "#8899aa", "in order"),
                                    (disordered, "#D55E00", "out of order")):
            left.plot(x[mask], delay[mask], linestyle="none", marker=".", markersize=1.5,
                      color=colour, label=label, rasterized=True)
        left.set_title(dataset.name, loc="left")
        left.set_xlabel("arrival (s after the first)")
        left.set_ylabel("delay (ms)")
        left.legend(markerscale=4, loc="upper right")
        if len(delay):
            exceed = 1 - np.arange(len(delay)) / len(delay)
            right.plot(np.sort(delay), exceed, color=pictures.COLOURS[0])
            right.set_yscale("log")
        right.set_xlabel("x (ms)")
        right.set_ylabel("share of delays ≥ x")
        return picture
