"""Metrics in words."""

from dataclasses import replace

import pytest

from tests.support.canned_results import cell
from tuneproof.catalogue import every_advice
from tuneproof.catalogue.advice import RunConditions
from tuneproof.report.figures import before_and_after, format_figure
from tuneproof.report.results.cells import Cell


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
        ("requests_per_s", 21300, "21300/s"),
        ("upstream_connects", 32, "32"),
    ],
)
def test_a_metric_is_told_in_the_unit_that_its_name_has(name: str, value: float, text: str) -> None:
    """And a number alone where it has none."""
    assert format_figure(name, value) == text


def test_a_change_is_told_only_where_both_arms_have_the_figure() -> None:
    """Of two arms, in their order."""
    arms = {"yours": {"grown_bytes": 2 << 20}, "patched": {"grown_bytes": 1 << 10}}
    found = replace(Cell.from_json(cell("a")), arms=arms, figure="grown_bytes")
    assert before_and_after(found) == "2 MiB \u2192 1 KiB"
    assert before_and_after(replace(found, figure="")) == ""
    assert before_and_after(replace(found, figure="other")) == ""
    assert before_and_after(replace(found, arms={"one": arms["yours"]})) == ""


def test_the_figures_of_claims_are_of_two_arms() -> None:
    """Others could not be told as before and after."""
    claims = [claim for advice in every_advice() for claim in advice.scenario(RunConditions()).claims if claim.figure]
    assert claims
    assert [claim.name for claim in claims if len(claim.arms) != 2] == []
