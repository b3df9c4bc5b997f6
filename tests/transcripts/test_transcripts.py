"""The transcripts of reorder, synchronise and window, in-process."""

from __future__ import annotations

import pytest

from tests import transcripts

CASES = [pytest.param(stage, case.values[0], id=f"{stage}, {case.id}")
         for stage in transcripts.STAGES for case in transcripts.load(stage)]
ANY_ORDER = [case for case in CASES if "any_order" in case.values[1]]


@pytest.mark.parametrize("stage", transcripts.STAGES)
def test_there_are_enough_cases(stage):
    cases = [case.values[0] for case in transcripts.load(stage)]
    assert len(cases) >= 12
    assert len({case["name"] for case in cases}) == len(cases)


@pytest.mark.parametrize(("stage", "case"), CASES)
def test_transcript(stage, case):
    kernel = transcripts.kernel_of(stage, case)
    transcripts.check(stage, case, transcripts.replay(kernel, transcripts.whole(case)))
    for restarts in ("none", "whole", "store"):
        found = transcripts.replay(kernel, transcripts.one_by_one(case), restarts)
        transcripts.check(stage, case, found)


@pytest.mark.parametrize(("stage", "case"), ANY_ORDER)
def test_other_orders(stage, case):
    kernel = transcripts.kernel_of(stage, case)
    for steps in transcripts.shuffles(case):
        transcripts.check(stage, case, transcripts.replay(kernel, steps), when=False)


@pytest.mark.parametrize(("stage", "case"), CASES)
def test_a_transcript_that_is_wrong_is_found_out(stage, case):
    wrong = {**case, "late": [*case.get("late", []), "nobody"]}
    found = transcripts.replay(transcripts.kernel_of(stage, case), transcripts.whole(case))
    with pytest.raises(AssertionError):
        transcripts.check(stage, wrong, found)
