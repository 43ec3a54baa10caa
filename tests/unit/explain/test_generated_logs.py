"""Generated access logs with a known diagnosis: explain finds every long stall and makes no false finding.

``python -m tests.support.judged_logs`` judges 2,000 of them; see docs/development.md.
"""

from dataclasses import replace
from typing import Final

import pytest

from tests.support.judged_logs import Judged, are_good, judged
from tests.support.log_truths import ALTERNATIVES, LACKS, truth_of
from tuneproof.explain.diagnosis.findings import Cause

SEEDS: Final = (4, 7, 8, 12, 13, 19, 22, 23)


def test_the_seeds_cover_every_alternative_with_and_without_a_stall_and_every_cause() -> None:
    truths = [truth_of(seed) for seed in SEEDS]
    for stalls in (True, False):
        of_these = [truth for truth in truths if bool(truth.stall_s) is stalls]
        assert set().union(*(truth.alternatives for truth in of_these)) == set(ALTERNATIVES)
    assert {truth.lacks for truth in truths} == set(LACKS)
    assert frozenset().union(*(truth.causes for truth in truths)) == {
        Cause.EVENT_LOOP_STALL,
        Cause.BACKEND_SLOW,
        Cause.CLIENT_GONE,
    }


@pytest.mark.parametrize("seed", SEEDS)
def test_no_finding_is_false_and_no_long_stall_is_missed(seed: int) -> None:
    log = judged(seed)
    assert not log.wrong, log.truth
    assert not log.is_missed, log.truth


def logs(*found: Cause, of: int, long_stall: bool = True) -> list[Judged]:
    """Return this many judged logs with a stall, in which these causes were found."""
    stall = next(truth for truth in map(truth_of, range(99)) if truth.stall_s >= 0.1 and truth.lacks == "nothing")
    truth = replace(stall, causes=frozenset({Cause.EVENT_LOOP_STALL}), stall_s=0.1 if long_stall else 0.09)
    return [Judged(truth=truth, found=frozenset(found))] * of


RIGHT: Final = logs(Cause.EVENT_LOOP_STALL, of=19)


@pytest.mark.parametrize(
    ("given", "good"),
    [
        ([*RIGHT, *logs(of=1)], True),
        ([*RIGHT, *logs(of=2)], False),
        ([*RIGHT, *logs(of=9, long_stall=False)], True),
        ([*RIGHT, *logs(Cause.EVENT_LOOP_STALL, Cause.BACKEND_SLOW, of=1)], False),
    ],
    ids=["one of 20 missed", "two of 21", "short ones missed", "wrong"],
)
def test_a_run_fails_with_a_false_finding_or_more_than_one_missed_long_stall_in_20(
    given: list[Judged],
    good: bool,  # noqa: FBT001  # a parameter of the test
) -> None:
    assert are_good(given) is good
