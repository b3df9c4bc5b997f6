"""Every synchroniser keeps the promises of the kernel protocol."""

from __future__ import annotations

import pytest

from slackwater import Roles
from slackwater.checks import sample_events, yield_checks
from slackwater.synchronise import (
    FrontierSync,
    IndexedListSync,
    LinkedListSync,
    MergedTreeSync,
    RedBlackSync,
    TreeSync,
)
from tests.checks import as_param

ROLES = Roles("time", "arrival", "source", key=("key",))
METHODS = (FrontierSync, IndexedListSync, LinkedListSync, MergedTreeSync, RedBlackSync, TreeSync)
KERNELS = {m.__name__: m(ROLES, max_delay="200ms") for m in METHODS}
# the paper's structures are for study: one per key, written whole, with a bit per source for ever
FOR_PRODUCTION = ("silent keys are forgotten", "a snapshot costs what has changed")
CASES = [as_param.param(kernel, name, check)
         for kernel, config in KERNELS.items()
         for name, check in yield_checks(config, sample_events())
         if kernel == "FrontierSync" or name not in FOR_PRODUCTION]


@pytest.mark.parametrize("check", CASES)
def test_synchroniser(check):
    check()
