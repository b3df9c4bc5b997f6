"""Every figure and table of the five papers, by name, and what repeats it."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from slackwater.core.errors import ConfigError, did_you_mean
from slackwater.papers.outcome import Experiment, Outcome

__all__ = ["ENTRIES", "PAPERS", "Entry", "entry", "experiment_names", "reproduce", "run"]

PAPERS = {
    1: "Time synchronisation of data stream events with binary trees",
    2: "K. Lee, C.-G. Lee: Lazy Approaches for Interval Timing Correlation of Sensor Data Streams. "
       "Sensors, 2010",
    3: "W. Weiss, V. J. Expósito Jiménez, H. Zeiner: Dynamic Buffer Sizing for Out-of-Order Event "
       "Compensation for Time-Sensitive Applications. ACM Trans. Sensor Netw., 2020",
    4: "H. G. Kim, C. Kim, M. H. Kim: Adaptive Disorder Control in Data Stream Processing. "
       "Computing and Informatics 31, 2012",
    5: "M. Li, M. Liu, L. Ding, E. A. Rundensteiner, M. Mani: Event Stream Processing with "
       "Out-of-Order Data Arrival. ICDCS Workshops, 2007",
}
"""What the papers are, by the number under which they are named here."""


@dataclass(frozen=True)
class Entry:
    """One figure or table; `module` has the function that repeats it, under its name.

    `label` is empty for what is not in the paper but measures its method.
    """

    name: str
    paper: int
    label: str
    title: str
    module: str


def _figures(paper: int, prefix: str, package: str,
             rows: Sequence[tuple[str, str, str]]) -> list[Entry]:
    """`rows`: suffix of the name (``fig4``, ``table1``), module within the package, title."""
    return [Entry(f"{prefix}-{suffix}", paper, _label(paper, suffix), title,
                  f"slackwater.papers.{package}.{module}") for suffix, module, title in rows]


def _label(paper: int, suffix: str) -> str:
    for start, word in (("fig", "Fig."), ("table", "Table")):
        number = suffix.removeprefix(start)
        if suffix.startswith(start) and number.isdigit():
            return f"{word} {'I' if paper == 1 and start == 'table' else number}"
    return ""


ENTRIES: list[Entry] = [
    *_figures(1, "sync", "synchronisation", [
        ("fig1", "drawings", "Where time synchronisation stands in the engine"),
        ("fig2", "drawings", "Delayed arrivals of four streams"),
        ("fig3", "drawings", "The tree and its readiness tables"),
        ("table1", "counts", "Comparisons and updates of the methods"),
        ("fig4", "by_streams", "Processing time by number of streams"),
        ("fig5", "by_streams", "Visited nodes by number of streams"),
        ("fig6", "delays", "Processing time with delays on two streams"),
        ("latency", "delays", "System delay: what method 2 is for"),
    ]),
    *_figures(2, "corr", "correlation", [
        ("fig1", "drawings", "Bounds of the satisfaction probability"),
        ("fig2", "drawings", "What the look-up can conclude"),
        ("fig3", "by_rate", "Execution time by arrival rate"),
        ("fig4", "by_rate", "Response time by arrival rate"),
        ("fig5", "by_rate", "Mean length of the buffers"),
        ("fig6", "by_block", "Execution time by block size"),
        ("fig7", "by_block", "Hit ratio of the look-up by block size"),
        ("fig8", "by_confidence", "Execution time by confidence threshold"),
        ("fig9", "drawings", "Probe regions at high and low confidence"),
        ("algorithm7", "by_block", "Three readings of the look-up (Algorithm 7)"),
    ]),
    *_figures(3, "reorder", "buffer_sizing", [
        ("fig1", "drawings", "The architecture: sources, network, buffer"),
        ("fig2", "drawings", "A stream with out-of-order events"),
        ("fig3", "drawings", "The stream put in order, and its matches"),
        ("fig4", "drawings", "The moments of a message"),
        ("fig5", "figures", "What one parameter does"),
        ("fig6", "figures", "The algorithms on the D recordings"),
        ("fig7", "figures", "The algorithms on the S recordings"),
        ("fig8", "figures", "The algorithms on the simulated sets"),
        ("fig9", "figures", "Buffer time over the delays"),
        ("table1", "tables", "The datasets: clients, events, data rates"),
        ("table2", "tables", "The datasets: disorder and processing times"),
        ("all", "figures", "All algorithms on all sets that are at hand"),
    ]),
    *_figures(4, "dratio", "drop_ratio", [
        ("fig1", "drawings", "The adaptive method's estimate of the greatest delay"),
        ("fig2", "drawings", "The stream model"),
        ("fig3", "drawings", "The structure: buffer and estimator"),
        ("fig4", "drawings", "Algorithm 1, step by step"),
        ("fig5", "figures", "The adaptive method by W"),
        ("fig6", "figures", "Share of tuples dropped by the paper's method"),
        ("fig7", "figures", "Buffer sizes at D = 0.1 %"),
        ("promise", "promise", "Whether DropRatio keeps its bound, worst of fresh streams"),
    ]),
    *_figures(5, "seq", "sequences", [
        ("fig1", "drawings", "The query plan"),
        ("fig2", "drawings", "Active instance stacks and the sequences they give"),
        ("fig3", "drawings", "Streams with out-of-order events"),
        ("fig4", "drawings", "What appending would do to late events"),
        ("fig5", "drawings", "Where disorder breaks the plan"),
        ("fig6", "clock", "AIS-CLOCK: time for building the stacks"),
        ("fig7", "divider", "Stack partition: sequences built"),
        ("fig8", "divider", "Stack partition: time"),
        ("fig9", "overhead", "What being ready for disorder costs"),
    ]),
]
"""All of them, in the papers' order."""

_BY_NAME = {e.name: e for e in ENTRIES}


def experiment_names() -> list[str]:
    """Every experiment that can be repeated."""
    return list(_BY_NAME)


def entry(name: str) -> Entry:
    """The entry of that name."""
    if name not in _BY_NAME:
        raise ConfigError(f"there is no experiment {name!r}", step="reproduce",
                          expected=", ".join(_BY_NAME), hint=did_you_mean(name, _BY_NAME))
    return _BY_NAME[name]


def run(name: str, out: Path, *, quick: bool = False) -> Outcome:
    """Repeat a figure or table; its files go into `out`."""
    module = entry(name).module
    out.mkdir(parents=True, exist_ok=True)
    experiments: dict[str, Experiment] = importlib.import_module(module).EXPERIMENTS
    return experiments[name](out, quick)


def reproduce(name: str, out: Path, *, quick: bool = False) -> list[Path]:
    """Repeat a figure or table, and return the files that it wrote."""
    return run(name, out, quick=quick).files
