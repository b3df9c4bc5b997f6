"""Compile the loops that the demo's pipeline needs, in a process of its own while Spark starts.

    python -m slackwater.demo.warm FOLDER ordered means
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import slackwater
from slackwater.demo.plant import make_plant
from slackwater.pipeline import Pipeline, load

__all__ = ["TOGETHER", "warm_up"]

TOGETHER = (("ordered", "means"), ("leaks", "heard"))
"""Steps that share a process; two cores have two."""


def warm_up(pipeline: Pipeline, names: tuple[str, ...]) -> None:
    """Run steps over a few seconds of the plant; if their loops are compiled that is quick."""
    rows = make_plant(seconds=60).table
    ways: dict[str, Callable[[str], object]] = {
        "ordered": lambda _: slackwater.reorder(
            rows, "Tide(loss=0.1%)", time="time", arrival="received", source="node"),
        "means": lambda text: slackwater.query(rows, text, time="time", arrival="time"),
        "leaks": lambda text: slackwater.match(
            rows, text, time="time", arrival="time", type="what", slack="0s"),
        "heard": lambda text: slackwater.query({"drops": rows, "hisses": rows}, text,
                                               arrival="received"),
    }
    for name in names:
        ways[name](pipeline.steps[name].text or "")


def main() -> None:
    """The steps named on the command line, of the pipeline in a folder."""
    warnings.simplefilter("ignore")
    warm_up(load(Path(sys.argv[1]) / "pipeline.yaml"), tuple(sys.argv[2:]))


if __name__ == "__main__":
    main()
