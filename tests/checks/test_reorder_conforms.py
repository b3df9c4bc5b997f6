"""Every reorder policy keeps the promises of the kernel protocol."""

from __future__ import annotations

import pytest

from slackwater import Reorder, Roles
from slackwater.checks import sample_events, yield_checks
from slackwater.reorder import POLICIES
from tests.checks import as_param

ROLES = Roles("time", "arrival", "source", "sequence", key=("key",))
# Flink's rule lets nothing go by time alone, unless a silence is given after which a key is idle
GIVEN = {"BoundedOutOfOrderness": "BoundedOutOfOrderness(idleness=1s)"}
CASES = [
    as_param.param(policy, name, check)
    for policy in POLICIES
    for name, check in yield_checks(Reorder(GIVEN.get(policy, policy), ROLES),
                                   sample_events())
]
SHARED = [  # what a group of keys is estimated by is forgotten with the last of them
    as_param.param(f"{policy} by scope", name, check)
    for policy in ("KSlack", "DropRatio", "Tide")
    for name, check in yield_checks(Reorder(policy, ROLES, scope="key"), sample_events())
]


@pytest.mark.parametrize("check", [*CASES, *SHARED])
def test_policy(check):
    check()
