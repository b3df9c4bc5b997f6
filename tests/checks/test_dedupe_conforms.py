"""Dedupe keeps the promises of the kernel protocol."""

from __future__ import annotations

import pytest

from slackwater import Roles
from slackwater.checks import sample_events, yield_checks
from slackwater.dedupe import Dedupe
from tests.checks import as_param

KERNELS = {
    "by key": Dedupe(Roles("time", "arrival", key=("key",)), within="100ms"),
    "by two columns": Dedupe(Roles("time", "arrival", key=("key", "type")), within="1 s"),
}
# rows pass at once, in the order in which they came: dedupe promises nothing about time order
CASES = [as_param.param(kernel, name, check)
         for kernel, config in KERNELS.items()
         for name, check in yield_checks(config, sample_events(), time=None, forgets="1 hour")]


@pytest.mark.parametrize("check", CASES)
def test_dedupe(check):
    check()
