"""What to change in the user's own nginx, as the run's end tells it."""

from dataclasses import replace
from typing import Any

from tests.support.canned_results import cell
from tuneproof.report.results.cells import Cell, Effect, Remedy
from tuneproof.report.terminal.own_nginx import render_gains


def own(claim: str, times: float, verdict: str = "holds", *, what: str = "keep connections", **figures: Any) -> Cell:
    remedy = Remedy(what=what, patch=f"+ {what}\n")
    effect = Effect(name="e", unit="ratio", value=times, ci_low=times, ci_high=times)
    arms = {"yours": {"upstream_connects": 32}, "patched": {"upstream_connects": figures.get("after", 4)}}
    return replace(
        Cell.from_json(cell("own")),
        claim=claim,
        verdict=verdict,
        expected=None,
        effect=effect,
        arms=arms,
        remedy=remedy,
        figure="upstream_connects",
    )


def test_the_largest_gain_comes_first_with_its_figures_and_its_patch() -> None:
    text = render_gains([own("a", 2.0), own("b", 8.0), own("c", 4.0, what="else")], told=["made"])
    lines = text.splitlines()
    assert lines[0] == "What to change, the largest gain first:"
    assert [line.split(":")[0].strip() for line in lines[1:4]] == ["b", "c", "a"]
    assert "b: 32 \u2192 4 (8" in lines[1]
    assert text.count("+ keep connections") == 1
    assert text.endswith("Around your files:\n  made")


def test_what_spoils_a_figure_is_told_beside_it() -> None:
    """Such as a limit of the configuration's own."""
    text = render_gains([replace(own("a", 8.0), reason="22 of 32 requests were refused")], told=[])
    assert "Mind:\n  own: 22 of 32 requests were refused" in text


def test_what_gains_nothing_is_told_as_well() -> None:
    text = render_gains([own("a", 1.0, "refuted", after=32)], told=[])
    assert text.startswith("Nothing that is proven here would gain anything.")
    assert "Of no use here:\n  a: 32 \u2192 32" in text
