"""Reasons that make a block of trials meaningless, and those that only make it noisy."""

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

import pytest

from tests.support.canned_trials import stall_record
from tests.support.fake_bench import SPOILT, TRIAL_SECONDS, Deciding, FakeBench, stalled
from tuneproof.lab.load.stall_observation import StallRecord
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.turns import Turns
from tuneproof.proof.scenario.lab_links import LinkLostError

Trial = Callable[[], StallRecord]
LOST: Final = LinkLostError("the user-mode shaper of client ended during the trial")
RESTLESS: Final = VoidTrialError("nginx did not come to rest within 60 s")


def failing(error: Exception) -> Trial:
    def trial() -> StallRecord:
        raise error

    return trial


def second(trial: Trial) -> FakeBench:
    """Return a bench on which the second trial is this one, and the others are good."""
    return FakeBench(lambda arm, number: trial() if number == 2 else stalled(arm, number))


@pytest.mark.parametrize(
    "noise", [{"late_ms": 50.0}, {"steal_pct": 60.0}, {"late_ms": 50.0, "steal_pct": 60.0}], ids=repr
)
def test_a_trial_on_a_noisy_host_counts(noise: dict[str, Any], decide: Deciding) -> None:
    """Noise may require further blocks; a rule that discards noisy trials would depend on the arms' effects."""
    noisy = stall_record(lags_ms=([60.0], [1.0]), bulk=(100, 0), fast_ms=[5.0], baseline_ms=[4.0], **noise)
    cell = decide(second(lambda: noisy))
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 0)
    assert 60.0 in json.loads(decide.texts(cell)["effects.json"])["effect_per_block"]


@pytest.mark.parametrize(
    ("trial", "reason", "measured_s"),
    [
        (lambda: SPOILT, "2 bulk downloads ended before the window did", 6),
        (failing(LOST), LOST.what, 5),
        (failing(RESTLESS), RESTLESS.what, 5),
        (lambda: replace(stalled("", 2), turns=Turns(workers=())), None, 5),
    ],
    ids=["not-loaded", "link", "restless", "no-loop-iterations"],
)
def test_a_meaningless_trial_makes_its_block_void_and_another_block_replaces_it(
    trial: Trial, reason: str | None, measured_s: float, decide: Deciding
) -> None:
    """The arm's figures leave out the trial; its reason, its time and its record, if there is one, are kept."""
    cell = decide(second(trial))
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 1)
    assert cell.arms["loaded"]["trials"] == 5
    assert (cell.seconds, cell.measuring_seconds) == (6 * TRIAL_SECONDS, measured_s)
    samples = decide.samples(cell)
    assert [len(item["void_reasons"]) for item in samples] == [0, 1, 0, 0, 0, 0]
    assert reason is None or samples[1]["void_reasons"] == [reason]
    assert bool(samples[1]["raw"]) == (reason not in {LOST.what, RESTLESS.what})
