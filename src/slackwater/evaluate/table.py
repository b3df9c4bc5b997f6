"""Policies × datasets: the table, and how it is written."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from slackwater.datasets import Dataset
from slackwater.evaluate.metrics import Metrics, evaluate

__all__ = ["PAPER", "compare", "label", "write_csv"]

PAPER = ("sba", "bstt", "bsttwa", "bsttd", "bsttda", "bskf", "kslack")
"""The algorithms of paper 3, in its order."""


def compare(datasets: Iterable[Dataset], policies: Sequence[str] = PAPER,
            each: Callable[[str], None] = lambda name: None) -> list[Metrics]:
    """Every policy on every dataset, by the papers' rule; `each` hears which dataset is done."""
    found: list[Metrics] = []
    for dataset in datasets:
        found += evaluate(dataset, policies, literal=True)
        each(dataset.name)
    return found


def write_csv(rows: Iterable[Metrics], path: Path) -> Path:
    """One line a run; the latencies in columns of their own."""
    path.parent.mkdir(parents=True, exist_ok=True)
    flat = []
    for row in (m.to_dict() for m in rows):
        for kind in ("latency", "wait"):
            figures = row.pop(f"{kind}_ms")
            row |= {f"{kind}_{name}_ms": value for name, value in figures.items()}
        flat.append(row)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(flat[0]) if flat else ["dataset"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(flat)
    return path


def label(policy: str) -> str:
    """A policy's name as the paper writes it: acronyms in capitals."""
    return policy.upper() if policy.lower() in PAPER else policy
