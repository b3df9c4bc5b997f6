"""Without an arrival column, where the clock of a key is its greatest time: the same promises."""

from __future__ import annotations

import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events, yield_checks
from slackwater.synchronise import FrontierSync
from tests.checks import as_param

ROLES = Roles("time", source="source", key=("key",))
KERNELS = {"Tide": Reorder("Tide", ROLES), "MeanPlusRange": Reorder("MeanPlusRange", ROLES),
           "KSlack": Reorder("KSlack", ROLES), "FrontierSync": FrontierSync(ROLES)}
WITH_BAD, GOOD = (sample_events(bad=bad).drop_columns(["arrival"]) for bad in (True, False))
# a row in doubt is refused when others contradict it, so after bad rows that came behind it or
# before them, as the input is cut: what is quarantined has no order
CUTS = ("cuts do not matter", "restarts do not matter", "a store apart does not matter")
CASES = [as_param.param(name, promise, check)
         for name, kernel in KERNELS.items()
         for events in (WITH_BAD, GOOD)
         for promise, check in yield_checks(kernel, events, arrival=None)
         if (promise in CUTS) == (events is GOOD)]


@pytest.mark.parametrize("check", CASES)
def test_kernel(check):
    check()
