"""Promises that kernels do not keep yet, with the reason; a test that passes must leave here."""

from __future__ import annotations

import pytest

FORGOTTEN, COST, TICKS = ("silent keys are forgotten", "a snapshot costs what has changed",
                          "ticks do not matter")
WHY = {FORGOTTEN: "keys and sources are kept for ever",
       COST: "a page of 4096 keys is written if one of them changes",
       TICKS: "a tick times rows out that the next arrival would have released otherwise"}
EXPENSIVE = {"DelayRange", "DropRatio", "MeanPlusRange", "Tide", "WeightedMean", "FrontierSync",
             "IndexedListSync", "LinkedListSync", "MergedTreeSync", "RedBlackSync", "TreeSync",
             "select sliding"}


def param(kernel: str, promise: str, check, *, forgets: bool = False):
    """A check as a parameter, expected to fail where the promise is not kept."""
    fails = ((promise == FORGOTTEN and not forgets)
             or (promise == COST and kernel in EXPENSIVE)
             or (promise == TICKS and kernel.endswith("Sync")))
    marks = [pytest.mark.xfail(raises=AssertionError, strict=True, reason=WHY[promise])
             ] if fails else []
    return pytest.param(check, id=f"{kernel}: {promise}", marks=marks)
