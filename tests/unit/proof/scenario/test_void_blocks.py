"""What makes a block of trials meaningless, and what only makes it noisy."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from tests.support.canned_trials import stall_record
from tests.support.fake_bench import SPOILT, TRIAL_SECONDS, FakeBench, claim, measuring, stalled
from tuneproof.errors import LabError
from tuneproof.lab.load.stall_observation import StallObservation, StallRecord
from tuneproof.lab.load.waiting import VoidTrialError
from tuneproof.lab.protocol.turns import Turns
from tuneproof.proof.scenario.lab_links import LinkLostError
from tuneproof.report.results.run_file import ResultsWriter


@pytest.mark.parametrize(
    "noise", [{"late_ms": 50.0}, {"steal_pct": 60.0}, {"late_ms": 50.0, "steal_pct": 60.0}], ids=repr
)
def test_a_trial_on_a_noisy_host_counts(
    noise: dict[str, Any], writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a neighbour takes costs width, and perhaps blocks; a rule against it would select by what the arms cause."""
    noisy = stall_record(lags_ms=([60.0], [1.0]), bulk=(100, 0), fast_ms=[5.0], baseline_ms=[4.0], **noise)
    bench = FakeBench(lambda arm_name, number: noisy if number == 2 else stalled(arm_name, number))
    stall = claim("stall", "loaded")
    cell = measuring(bench, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 0)
    assert cell.effect is not None
    (path,) = [path for path in cell.evidence if path.endswith("effects.json")]
    assert 60.0 in json.loads((writer.folder / path).read_text(encoding="utf-8"))["effect_per_block"]


def test_a_host_that_is_noisy_all_the_time_is_no_reason_to_answer_nothing(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many blocks as on a quiet one, and the same verdict."""
    noisy = FakeBench(lambda _, number: stall_record(lags_ms=([20.0 + number % 3], [1.0]), late_ms=9.0, steal_pct=40.0))
    stall = claim("stall", "loaded")
    cell = measuring(noisy, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 0)


def test_a_trial_that_did_not_load_its_subject_makes_its_block_void(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One void block is replaced by another; its trial stays out of the arm's figures."""
    reason = "2 bulk downloads ended before the window did"
    bench = FakeBench(lambda arm_name, number: SPOILT if number == 2 else stalled(arm_name, number))
    stall = claim("stall", "loaded")
    cell = measuring(bench, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 1)
    assert cell.arms["loaded"]["trials"] == 5
    samples = (writer.folder / next(path for path in cell.evidence if path.endswith("samples.jsonl"))).read_text(
        encoding="utf-8"
    )
    reasons = [json.loads(line)["void_reasons"] for line in samples.splitlines()]
    assert [len(item) for item in reasons] == [0, 1, 0, 0, 0, 0]
    assert reasons[1] == [reason]


@pytest.mark.parametrize(
    "error",
    [
        LinkLostError("the wire of client ended during the trial"),
        VoidTrialError("nginx did not come to rest within 60 s"),
    ],
    ids=["link", "end"],
)
def test_a_trial_that_lost_its_link_makes_its_block_void(
    error: LabError, writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no record, but its reason and its time; the claim is decided by other blocks."""

    def canned(arm_name: str, number: int) -> StallRecord:
        if number == 2:
            raise error
        return stalled(arm_name, number)

    bench = FakeBench(canned)
    stall = claim("stall", "loaded")
    cell = measuring(bench, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 1)
    assert cell.arms["loaded"]["trials"] == 5
    assert cell.seconds == 6 * TRIAL_SECONDS
    assert cell.measuring_seconds == 5
    (path,) = [path for path in cell.evidence if path.endswith("samples.jsonl")]
    samples = [json.loads(line) for line in (writer.folder / path).read_text(encoding="utf-8").splitlines()]
    assert [item["void_reasons"] for item in samples] == [[error.what] if number == 2 else [] for number in range(1, 7)]
    assert samples[1]["raw"] == {}


def test_a_link_that_is_always_lost_makes_the_claim_unsupported(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A host on which wires do not live answers nothing."""

    def canned(*_: object) -> StallRecord:
        raise LinkLostError("the wire of client ended during the trial")

    stall = claim("stall", "loaded")
    cell = measuring(FakeBench(canned), writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("unsupported", 0, 5)


def test_too_many_void_blocks_make_the_claim_unsupported(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than half of the last look's nine blocks."""
    stall = claim("stall", "loaded")
    bench = FakeBench(lambda *_: SPOILT)
    cell = measuring(bench, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks, cell.effect) == ("unsupported", 0, 5, None)
    assert cell.arms == {"loaded": {"trials": 0}}
    assert "5 of 5 blocks were void" in cell.reason


def test_a_record_that_says_nothing_costs_its_trial_only(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run goes on, and the trial's evidence says why."""

    def canned(arm_name: str, number: int) -> StallRecord:
        record = stalled(arm_name, number)
        return record if number != 2 else replace(record, turns=Turns(workers=(), start_s=0.0, end_s=0.0))

    stall = claim("stall", "loaded")
    cell = measuring(FakeBench(canned), writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks) == ("holds", 5, 1)
    (path,) = [path for path in cell.evidence if path.endswith("samples.jsonl")]
    samples = [json.loads(line) for line in (writer.folder / path).read_text(encoding="utf-8").splitlines()]
    assert [bool(item["void_reasons"]) for item in samples].count(True) == 1


def test_an_effect_that_cannot_be_computed_once_makes_the_claim_unsupported_at_once(
    writer: ResultsWriter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A block left out by its outcome would bias the rest; its trial is a good one, and stays in the arm's figures."""

    def effect(block: Mapping[str, StallObservation]) -> float:
        lag_ms = block["loaded"].workers[0].lag_p50_ms or 0.0
        if lag_ms == 20.0:
            raise ValueError("there is nothing to compare 20 with")
        return lag_ms

    def condition(block: Mapping[str, StallObservation]) -> bool:
        return effect(block) > 0

    # Every third trial, the third one first, lags just 20 ms.
    stall = claim("stall", "loaded", effect=effect, condition=condition)
    bench = FakeBench(stalled)
    cell = measuring(bench, writer, monkeypatch, stall).decide(stall)
    assert (cell.verdict, cell.blocks, cell.void_blocks, cell.effect) == ("unsupported", 2, 0, None)
    assert cell.reason == "block 3 has no effect, which no repetition mends: there is nothing to compare 20 with"
    assert cell.arms["loaded"]["trials"] == len(bench.trials) == 3
    (path,) = [path for path in cell.evidence if path.endswith("samples.jsonl")]
    samples = [json.loads(line) for line in (writer.folder / path).read_text(encoding="utf-8").splitlines()]
    assert [item["void_reasons"] for item in samples] == [[]] * 3
