"""Canned trials become a cell with a verdict, control, condition, expectation, and the claim's share of the cost."""

import json
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Final

import pytest

from tests.support import fake_bench
from tests.support.canned_trials import stall_record
from tests.support.fake_bench import SPOILT, TRIAL_SECONDS, Canned, Deciding, FakeBench, calm, claim, stalled
from tests.support.written_results import LINK
from tuneproof.catalogue.aa_control import aa_control
from tuneproof.lab.load.stall_observation import StallObservation, StallRecord
from tuneproof.lab.network.profiles import PROFILES
from tuneproof.lab.subject.versions import MAINLINE
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Form
from tuneproof.proof.scenario.claims import Claim
from tuneproof.report.results.cells import Cell

WAN: Final = PROFILES["wan"]
NO_STALL: Final = "the positive control (there is a stall) is refuted: no such effect on this host"


def lagging(*lags_ms: float) -> Canned:
    """Return trials in which the loaded worker has these lags in turn, repeatedly; the idle worker lags 1 ms."""
    return lambda _, number: stall_record(lags_ms=([lags_ms[number % len(lags_ms)]], [1.0]))


def written(decide: Deciding) -> list[dict[str, Any]]:
    cells: list[dict[str, Any]] = json.loads(decide.writer.path.read_text(encoding="utf-8"))["cells"]
    return cells


def effect_of(cell: Cell, *names: str) -> tuple[Any, ...]:
    """Return some fields of a cell's effect, which must be present."""
    assert cell.effect is not None
    return tuple(getattr(cell.effect, name) for name in names)


def test_a_claim_with_a_clear_effect_holds_and_its_cell_is_complete(decide: Deciding) -> None:
    """Five blocks are enough; the cell is in results.json before the method returns."""
    cell = decide(stalled)
    assert (cell.verdict, cell.expected, cell.blocks, cell.void_blocks, cell.reason) == ("holds", "holds", 5, 0, "")
    assert (cell.id, cell.lab) == ("stall/stall/nginx-1.22/bare", "stall/nginx-1.22/bare")
    assert (cell.claim, cell.source, cell.threshold) == ("stall is so", "an article", 5)
    # The ratios of the blocks are 20 to 22; the interval is from the smallest to the largest.
    assert effect_of(cell, "name", "unit", "value", "ci_low", "ci_high", "level", "plan_level") == (
        *("median lag, loaded ÷ idle", "ratio", 21, 20, 22),
        1 - 2 / 2**5,
        1 - 2 * 21 / 512,
    )
    assert (cell.arms["loaded"]["trials"], cell.arms["loaded"]["worker1_lag_p50_ms"]) == (5, 21)
    assert written(decide) == [cell.to_json()]


def test_a_claim_without_its_effect_is_refuted(decide: Deciding) -> None:
    """Five blocks below the threshold are an answer, too. If hosts may differ, it contradicts no expectation."""
    cell = decide(calm, expected=None)
    assert (cell.verdict, cell.expected, cell.contradicts) == ("refuted", None, False)
    assert decide(calm).contradicts


@pytest.mark.parametrize("changes", [{}, {"expired_since": "1.18", "expired_reason": "it is the default"}], ids=str)
def test_a_control_that_fails_makes_the_claim_untestable(changes: dict[str, Any], decide: Deciding) -> None:
    """Without the pathology, the claim's own figures mean nothing, and do not show that it has expired."""

    def canned(arm_name: str, number: int) -> StallRecord:
        return stalled(arm_name, number) if arm_name == "remedied" and not changes else calm(arm_name, number)

    control = claim("pathology", "default", sentence="there is a stall")
    cell = decide(canned, "remedied", control=control, **changes)
    assert (cell.verdict, cell.reason) == ("unsupported", NO_STALL)
    assert len(written(decide)) == 1, "the control was written as if it were a claim"
    assert cell.effect is not None, "the claim's own figures are kept"


def test_a_claim_of_equality_is_marked_in_its_cell(decide: Deciding) -> None:
    """The report needs the mark to draw and to describe the effect."""
    cell = decide(lagging(4.8, 4.9, 5.0), form=Form.SAME, threshold=5.05)
    assert (cell.verdict, cell.threshold) == ("holds", 5.05)
    assert effect_of(cell, "form", "count", "of") == ("same", None, None)


def test_a_counted_share_keeps_its_units_in_the_cell_and_its_exact_limits(decide: Deciding) -> None:
    """Five of five do not show a share above 90 %, so the claim has its own looks."""
    bench = FakeBench(stalled)
    sure: dict[str, Any] = {"effect": lambda _: Tally.yes(when=True), "scale": Scale.SHARE, "threshold": 0.9}
    early = decide(stalled, **sure)
    assert (early.verdict, early.blocks) == ("inconclusive", 9), "the looks of the depth do not decide"
    cell = decide(bench, own_looks=(29,), **sure)
    assert (cell.verdict, cell.blocks, len(bench.trials)) == ("holds", 29, 29)
    assert effect_of(cell, "unit", "count", "of", "value", "ci_high") == ("share", 29, 29, 1, 1)
    low, level = effect_of(cell, "ci_low", "level")
    # The limits are exact: this look's chance of an error is about 0.9**29, that of 29 successes at a share of 0.9.
    assert low == pytest.approx(0.9)
    assert 0.9 < level < 1 - 0.9**29


def test_a_difference_of_shares_has_no_count(decide: Deciding) -> None:
    """A count would concern only one arm."""
    cell = decide(stalled, effect=lambda _: 0.9 - 0.01, scale=Scale.SHARE, threshold=0.5)
    assert (cell.verdict, *effect_of(cell, "value", "count", "of")) == ("holds", 0.89, None, None)


def test_a_cell_describes_its_links(decide: Deciding) -> None:
    links = SimpleNamespace(records=lambda _: (LINK,), notes=lambda _: ["slower"], logs=lambda: {"client": "Linux\n"})
    cell = decide(FakeBench(stalled, links=links), network=WAN)
    assert (cell.links, cell.reason) == ((LINK,), "slower")
    assert (cell.id, cell.network, cell.expected) == ("stall/stall/nginx-1.22/wan", "wan", None)
    assert decide.texts(cell)["wire-client.log"] == "Linux\n"
    assert written(decide) == [cell.to_json()]


def lag_control(**changes: Any) -> Claim[StallObservation]:
    """Return an A/A control: the loaded worker's lag is the same in both arms within a factor of 2."""

    def lag_ms(seen: StallObservation) -> float:
        lag = seen.workers[0].lag_p50_ms
        assert lag is not None
        return lag

    control = aa_control(
        "same_lag", "They lag alike", arms=("first", "second"), value=lag_ms, what="lag", figure="lag_ms", decides=4.0
    )
    return replace(control, further_looks=(), **changes)


def lagging_controls(*second_ms: float) -> Canned:
    """Return trials with these lags in turn in the arm "second", and 20 ms in any other arm."""
    return lambda arm, number: stall_record(
        lags_ms=([second_ms[(number - 1) % len(second_ms)] if arm == "second" else 20.0], [1.0])
    )


@pytest.mark.parametrize(
    ("second_ms", "verdict", "reason"),
    [
        ((20.0,), "holds", ""),
        ((90.0,), "unsupported", "the A/A control same_lag (lag, first ÷ second) is refuted"),
        ((5.0, 90.0), "holds", "the A/A control same_lag (lag, first ÷ second) is inconclusive"),
    ],
    ids=["holds", "refuted", "inconclusive"],
)
@pytest.mark.parametrize("asked_first", ["claim", "control"])
def test_an_aa_controls_result_for_a_metric_applies_to_the_claims_that_use_it(
    second_ms: tuple[float, ...], verdict: str, reason: str, asked_first: str, decide: Deciding
) -> None:
    """It does not matter which is decided first. A claim on another metric is decided as usual."""
    control, same = lag_control(), claim("stall", "loaded", metric="lag_ms")
    other = claim("other", "loaded", figure="bytes")
    measurement = decide.measuring(FakeBench(lagging_controls(*second_ms)), same, other, control)
    if asked_first == "control":
        measurement.decide(control)
    cell = measurement.decide(same)
    assert (cell.verdict, cell.reason) == (verdict, reason)
    assert cell.effect is not None, "what was measured is shown"
    assert (measurement.decide(other).verdict, measurement.decide(other).reason) == ("holds", "")


def test_an_aa_control_that_is_not_measured_in_the_run_changes_nothing(decide: Deciding) -> None:
    """Such a control does not cause additional trials, either."""
    bench = FakeBench(lagging_controls(90.0))
    asked = claim("stall", "loaded", metric="lag_ms")
    cell = decide.measuring(bench, asked).decide(asked)
    assert (cell.verdict, cell.reason, set(bench.trials)) == ("holds", "", {"loaded"})


def test_an_aa_control_is_an_ordinary_claim_itself(decide: Deciding) -> None:
    """Two controls for one metric do not check each other."""
    first, second = lag_control(), lag_control(name="others")
    measurement = decide.measuring(FakeBench(lagging_controls(90.0)), first, second)
    assert [(cell.verdict, cell.reason) for cell in map(measurement.decide, (first, second))] == [("refuted", "")] * 2


@pytest.mark.parametrize(
    ("unmet", "verdict", "reason"),
    [
        ((), "holds", "it was so in 5 of 5 rounds"),
        ((3,), "holds", "it was so in 8 of 9 rounds"),
        ((3, 7), "inconclusive", "too few of 9 rounds agree; it was so in 7 of 9 rounds"),
        ((3, 4), "inconclusive", "too few of 5 rounds agree; it was so in 3 of 5 rounds"),
        (range(10), "refuted", "it was so in 0 of 5 rounds"),
    ],
    ids=["always", "all-but-once", "all-but-twice", "twice-early", "never"],
)
def test_a_block_that_does_not_meet_the_condition_counts_against_the_claim(
    unmet: Collection[int], verdict: str, reason: str, decide: Deciding
) -> None:
    def canned(_: str, number: int) -> StallRecord:
        return SPOILT if number == 1 else stall_record(lags_ms=([20.0], [1.0]), measuring_s=float(number))

    def condition(block: Mapping[str, StallObservation]) -> bool:
        assert set(block) == {"loaded", "idle"}
        return int(block["loaded"].measuring_s) - 1 not in unmet

    cell = decide(canned, "loaded", "idle", condition=condition, condition_name="it was so")
    assert (cell.verdict, cell.reason, cell.void_blocks) == (verdict, reason, 1)


@pytest.mark.parametrize(
    ("version", "canned", "verdict", "reason"),
    [
        ("1.30", calm, "refuted", "expired since nginx 1.29.7: it is the default"),
        ("1.26", calm, "refuted", ""),
        ("1.30", stalled, "holds", ""),
    ],
    ids=["expired", "older", "expired-and-holds"],
)
def test_the_reason_of_a_refuted_claim_names_the_version_and_why_it_expired(
    version: str, canned: Canned, verdict: str, reason: str, decide: Deciding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On an older version, the claim is just refuted. A claim that holds does not need a reason."""
    monkeypatch.setattr(fake_bench, "LAB", fake_bench.LAB._replace(nginx=version))
    cell = decide(canned, expired_since="1.29.7", expired_reason="it is the default")
    assert (cell.nginx, cell.verdict, cell.reason) == (version, verdict, reason)
    assert cell.expected == ("holds" if version == "1.26" else "refuted")
    assert (cell.name, cell.expired_since) == ("stall", "" if version == "1.26" else "1.29.7")


@pytest.mark.parametrize(
    ("canned", "verdict", "reason"),
    [
        (calm, "refuted", "because of this build: it counts otherwise"),
        (stalled, "holds", ""),
        (lagging(2.0, 20.0), "inconclusive", "too few of 5 rounds agree"),
    ],
    ids=["expected", "unexpected", "undecided"],
)
def test_the_build_is_the_reason_only_for_the_verdict_that_it_explains(
    canned: Canned, verdict: str, reason: str, decide: Deciding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fake_bench, "LAB", fake_bench.LAB._replace(nginx=MAINLINE))
    cell = decide(canned, by_build="it counts otherwise")
    assert (cell.verdict, cell.expected, cell.reason) == (verdict, "refuted", reason)


def test_the_costs_of_the_cells_add_up_to_all_trials_and_the_set_up(decide: Deciding) -> None:
    """Claims share arms and are decided at different looks; the control's own arm counts, too."""

    def canned(arm_name: str, number: int) -> StallRecord:
        # The shared arm's claim is decided at the first look, the wavering one's at the last.
        lag_ms = 2.0 if arm_name == "wavering" and number in {2, 7} else 12.0 + 0.1 * (number % 3)
        return stall_record(lags_ms=([lag_ms], [1.0]), measuring_s=2.0)

    control = claim("pathology", "default")
    claims = (
        claim("first", "shared"),
        claim("second", "shared", "own", control=control),
        claim("third", "wavering", "shared", control=control),
    )
    bench = FakeBench(canned)
    measurement = decide.measuring(bench, *claims, setup_s=6.0)
    cells = {item.name: measurement.decide(item) for item in claims}
    assert cells["third"].verdict == "inconclusive"
    assert len(bench.trials) == 5 * 4 + 4 * 2
    assert sum(cell.seconds for cell in cells.values()) == pytest.approx(TRIAL_SECONDS * len(bench.trials) + 6)
    assert sum(cell.measuring_seconds for cell in cells.values()) == pytest.approx(2 * len(bench.trials))
    # This claim's cost is a third of each of the five shared trials and of the set-up.
    assert cells["first"].seconds == pytest.approx(5 * TRIAL_SECONDS / 3 + 2)
