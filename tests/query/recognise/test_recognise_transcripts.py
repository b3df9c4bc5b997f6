"""The transcripts of MATCH_RECOGNIZE, in-process: whole, one by one, restarted, shuffled."""

from __future__ import annotations

import pytest

from tests import transcripts
from tests.query.recognise.cases import CASES, check, kernel_of


def test_there_are_enough_cases():
    names = [case.id for case in CASES]
    assert len(names) == len(set(names)) >= 120


@pytest.mark.parametrize("case", CASES)
def test_transcript(case):
    kernel = kernel_of(case)
    check(case, transcripts.replay(kernel, transcripts.whole(case)).ready)
    for restarts in ("none", "whole", "store"):
        found = transcripts.replay(kernel, transcripts.one_by_one(case), restarts)
        check(case, found.ready)
    for steps in transcripts.shuffles({**case, "any_order": "rows"}, 3):
        check(case, transcripts.replay(kernel, steps).ready)


@pytest.mark.parametrize("case", CASES)
def test_in_order_nothing_is_waited_for(case):
    kernel = kernel_of(case, slack="0s")
    one_by_one = transcripts.replay(kernel, transcripts.one_by_one(case))
    check(case, one_by_one.ready)
    whole = transcripts.replay(kernel, transcripts.whole(case))
    assert one_by_one.before_end == whole.before_end, "a match waits for the end of its batch"
