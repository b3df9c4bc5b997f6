"""Event streams to work on: read from files, or generated from a seed with the truth beside them.

Enters: a file and its column roles, or a description of a feed.
Leaves: a `Dataset`: an Arrow table in arrival order, and the roles of its columns.
May import: errors, durations, events, reorder.
"""

from slackwater.datasets.dataset import Dataset, in_arrival_order
from slackwater.datasets.delays import (
    Constant,
    Delay,
    Lognormal,
    Mixed,
    Normal,
    Pareto,
    Ramp,
    Sine,
    Square,
    Steps,
    Uniform,
    Widening,
)
from slackwater.datasets.feed import Feed, generate
from slackwater.datasets.files import read_dataset, write_table
from slackwater.datasets.published import SIMULATED, Summary, simulated
from slackwater.datasets.rates import Bursty, Changing, Jittered, Poisson, Rate, Regular
from slackwater.datasets.recordings import find_recordings, is_recording
from slackwater.datasets.stalls import Stalls

__all__ = [
    "SIMULATED",
    "Bursty",
    "Changing",
    "Constant",
    "Dataset",
    "Delay",
    "Feed",
    "Jittered",
    "Lognormal",
    "Mixed",
    "Normal",
    "Pareto",
    "Poisson",
    "Ramp",
    "Rate",
    "Regular",
    "Sine",
    "Square",
    "Stalls",
    "Steps",
    "Summary",
    "Uniform",
    "Widening",
    "find_recordings",
    "generate",
    "in_arrival_order",
    "is_recording",
    "read_dataset",
    "simulated",
    "write_table",
]
