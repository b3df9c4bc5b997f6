"""The checks can fail: for each promise there is a kernel that breaks it, and is caught."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from slackwater.checks import CHECKS, sample_events, yield_checks
from slackwater.checks.mutants import MUTANTS, Mutant
from slackwater.checks.reference import FixedWait
from slackwater.checks.subject import KINDS, collect, run
from slackwater.core.events import Roles
from slackwater.reorder import Reorder, Static

DOCS = Path(__file__).parents[2] / "docs" / "checks.md"
PROMISES = [check.name for check in CHECKS]


@cache
def caught(mutant: str) -> tuple[str, ...]:
    """The checks that a mutant does not pass."""
    found = []
    for name in PROMISES:
        checks = dict(yield_checks(Mutant(name=mutant), sample_events(), forgets="1 hour"))
        try:
            checks[name]()
        except AssertionError:
            found.append(name)
    return tuple(found)


@pytest.mark.parametrize("promise", PROMISES)
def test_the_unbroken_kernel_passes(promise):
    dict(yield_checks(FixedWait(), sample_events(), forgets="1 hour"))[promise]()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught_by_its_check(mutant):
    assert MUTANTS[mutant] in caught(mutant)


def test_every_promise_has_a_mutant():
    assert sorted(set(MUTANTS.values())) == sorted(PROMISES)


def test_the_table_in_the_docs_is_true():
    rows = re.findall(r"^\| `(\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", DOCS.read_text(), re.MULTILINE)
    table = {name: (promise, tuple(p for p in also.split("; ") if p != "—"))
             for name, _, promise, also in rows}
    assert table == {name: (promise, tuple(c for c in caught(name) if c != promise))
                     for name, promise in MUTANTS.items()}


def test_the_reference_gives_the_rows_of_reorder():
    events = sample_events(400)
    kernels = (Reorder(Static("100ms"), Roles("time", "arrival", key=("key",)),
                       max_delay="1 minute"), FixedWait())
    theirs, ours = (collect(run(kernel, [events])) for kernel in kernels)
    for kind in KINDS:
        assert [r["row"] for r in theirs[kind]] == [r["row"] for r in ours[kind]]
