"""A cell in words: numbers are short and not misleading, and foreign text is harmless."""

# ruff: noqa: RUF001 - the expected texts contain multiplication signs and dashes

from dataclasses import replace
from typing import Any

import pytest

from tests.support.canned_charts import cell
from tests.support.written_results import unsupported
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.report.results.cells import Effect, Remedy
from tuneproof.report.words import (
    before_and_after,
    expired_since,
    format_effect,
    format_figure,
    limit,
    measured,
    outcome,
    to_do,
    verdict,
)
from tuneproof.wording import format_number

RATIO = Effect(name="lag", unit="ratio", value=134.2, ci_low=98.0, ci_high=180.4)
SAME = Effect(name="control", unit="ratio", value=1.01, ci_low=0.9, ci_high=1.2, form="same")
COUNTED = Effect(name="right", unit="share", value=28 / 29, ci_low=0.846, ci_high=0.9982, count=28, of=29)
PARTLY = Effect(name="pairs", unit="share", value=0.95, ci_low=0.7, ci_high=1.0, form="order", count=11.4, of=12)
DIFFERENCE = Effect(name="slow", unit="share", value=-0.03, ci_low=-0.05, ci_high=0.01)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (134.2, "134"),
        (9.996, "10"),
        (0.0456, "0.0456"),
        (999.6, "1000"),
        (-12_345.0, "-12300"),
        (999_900.0, "1e+06"),
        (0.00001234, "1.23e-05"),
    ],
)
def test_a_number_has_three_significant_digits(value: float, shown: str) -> None:
    assert format_number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "interval", "shown"),
    [
        (134.2, "ratio", (98.0, 180.4), "134× [98–180]"),
        (0.5, "ratio", None, "0.5×"),
        (0.125, "share", (0.08, 0.16), "12.5 pp [8–16]"),
        (-0.03, "share", (-0.05, -0.01), "-3 pp [-5 to -1]"),
        (0.0, "share", (0.0, 0.0), "0 pp [0–0]"),
        # Limits have enough digits to differ.
        (0.99916, "ratio", (0.99912, 0.99921), "0.9992× [0.9991–0.9992]"),
    ],
)
def test_an_effect_is_shown_with_unit_and_interval(
    value: float, unit: str, interval: tuple[float, float] | None, shown: str
) -> None:
    assert format_effect(value, unit, interval) == shown


@pytest.mark.parametrize(
    ("effect", "shown", "threshold", "must_lie"),
    [
        (RATIO, "134× [98–180]", 10.0, "above 10×"),
        (SAME, "1.01× [0.9–1.2]", 1.25, "between 0.8× and 1.25×"),
        (COUNTED, "28 of 29 [84.6–99.8 %]", 0.9, "above 90 %"),
        (PARTLY, "95 % [70–100 %]", 0.75, "above 75 %"),
        (DIFFERENCE, "-3 pp [-5 to 1]", 0.1, "above 10 pp"),
        (DIFFERENCE, "-3 pp [-5 to 1]", 0.0, "above 0 pp"),
        (RATIO, "134× [98–180]", None, ""),
    ],
)
def test_a_measured_effect_and_its_limit_are_worded_for_the_claims_form(
    effect: Effect, shown: str, threshold: float | None, must_lie: str
) -> None:
    """A count is more precise than a share, a difference has no counts, and a margin has two limits."""
    of = replace(cell(), effect=effect, threshold=threshold)
    assert (measured(of), limit(of)) == (shown, must_lie)


def test_a_cell_without_an_effect_is_shown_as_nothing_or_as_the_placeholder() -> None:
    assert (measured(unsupported()), limit(unsupported()), outcome(unsupported())) == ("", "", "")
    assert (measured(unsupported(), nothing="none"), outcome(unsupported(), nothing="-")) == ("none", "-")


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("grown_bytes", 68157440.0, "65 MiB"),
        ("worker1_turn_bytes_p50", 163840, "160 KiB"),
        ("growth_bytes", 12, "12 B"),
        ("bulk_bytes_per_s", 2 << 30, "2 GiB/s"),
        ("worker_cpu_us_per_request", 43.2, "43.2 us"),
        ("worker1_turn_cpu_p50_ms", 1500, "1.5 s"),
        ("worker1_turn_cpu_p50_ms", 0.02, "20 us"),
        ("worker_cpu_share", 0.251, "25.1 %"),
        ("steal_pct", 25.1, "25.1 %"),
        ("requests_per_s", 21300, "21300/s"),
        ("upstream_connects", 32, "32"),
    ],
)
def test_a_metric_is_shown_with_a_unit_that_its_name_determines(name: str, value: float, text: str) -> None:
    assert format_figure(name, value) == text


def test_a_change_is_reported_only_if_the_figure_exists_in_both_arms() -> None:
    arms = {"yours": {"grown_bytes": 2 << 20}, "patched": {"grown_bytes": 1 << 10}}
    found = replace(cell(), arms=arms, figure="grown_bytes", effect=RATIO)
    assert (before_and_after(found), outcome(found)) == ("2 MiB → 1 KiB", "2 MiB → 1 KiB, 134× [98–180]")
    for other in (
        replace(found, figure=""),
        replace(found, figure="other"),
        replace(found, arms={"one": arms["yours"]}),
    ):
        assert (before_and_after(other), outcome(other)) == ("", "134× [98–180]")


def test_a_claim_with_a_figure_compares_two_arms() -> None:
    """Figures of more arms could not be shown as before and after."""
    claims = [claim for advice in every_advice() for claim in advice.scenario(RunConditions()).claims if claim.figure]
    assert claims
    assert [claim.name for claim in claims if len(claim.arms) != 2] == []


def test_an_unexpected_verdict_is_shown_with_the_expected_one() -> None:
    """For a refuted claim, the version that made it expire is shown, too, but not for a claim that still holds."""
    old = replace(cell(), expired_since="1.29.7")
    assert (verdict(old), expired_since(old)) == ("holds", "")
    refuted = replace(old, verdict="refuted")
    assert (verdict(refuted), expired_since(refuted)) == ("refuted, expected: holds", "nginx 1.29.7")
    assert verdict(replace(refuted, expected=None)) == "refuted"


@pytest.mark.parametrize(
    ("changes", "begins"),
    [
        ({}, "Expect this on nginx 1.22. Check your files: ./lab audit CONF"),
        ({"line": "sendfile on;"}, 'Expect this on nginx 1.22 if your configuration has "sendfile on;".'),
        ({"verdict": "refuted", "expected": "refuted"}, "Do not rely on it with nginx 1.22."),
        ({"verdict": "refuted", "expected": None, "expired_since": "1.11"}, "Drop the advice from nginx 1.11 on."),
        (
            {"verdict": "refuted"},
            "The result is unexpected. Repeat the test before you act on it: ./lab run -k claim --depth full",
        ),
        ({"verdict": "inconclusive"}, "Change nothing yet."),
        ({"verdict": "unsupported", "effect": None}, "The reason is above. ./lab doctor shows whether"),
        ({"remedy": Remedy(what="w", patch="p"), "figure": "n"}, "Make the change below: 32 → 4."),
        ({"remedy": Remedy(what="w", patch="p", only_if="stalls")}, "Consider the change below."),
        ({"remedy": Remedy(what="w", patch="p", reaches_others=True)}, "Consider the change below."),
        (
            {"remedy": Remedy(what="w", patch="p"), "verdict": "refuted", "expected": None},
            "Change nothing: the patch gains",
        ),
    ],
)
def test_every_verdict_is_shown_with_what_to_do(changes: dict[str, Any], begins: str) -> None:
    arms = {"yours": {"n": 32}, "patched": {"n": 4}}
    assert to_do(replace(cell(), arms=arms, **changes)).startswith(begins)
