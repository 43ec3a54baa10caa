"""The forest plot shows each block's effect, the estimate with its interval, and where the claim holds."""

import math

import pytest

from tests.support.canned_charts import cell, files, named, names, only, rows, traces
from tests.support.written_results import unsupported
from tuneproof.report.results.cells import Cell


def test_every_block_and_the_estimate_are_drawn_at_their_figures() -> None:
    """The dots are the effects in effects.json; estimate and interval are the cell's."""
    chart = named("forest", cell(), files(effects=[3.0, 5.0, 4.25]))
    assert only(chart, name="each round")["x"] == [3.0, 5.0, 4.25]
    assert only(chart, name="each round")["y"] == [0, 1, 2]
    assert only(chart, name="all rounds")["x"] == [4.0]
    assert only(chart, name="interval")["x"] == [2.5, 6.0]
    assert only(chart, name="threshold")["x"] == [2.0, 2.0]
    assert chart.figure["layout"]["yaxis"]["ticktext"] == ["round 1", "round 2", "round 3", "all rounds"]
    words = only(chart, mode="text")
    assert (words["text"], words["x"]) == (["← refuted ", " holds →"], [2.0, 2.0])
    assert words["textposition"] == ["middle left", "middle right"]
    assert chart.columns == ("round", "effect (ratio)", "interval from", "interval to")
    blocks = [(f"round {number}", effect, None, None) for number, effect in enumerate((3.0, 5.0, 4.25), start=1)]
    assert rows(chart) == [*blocks, ("all rounds", 4.0, 2.5, 6.0), ("threshold", 2.0, None, None)]


def test_a_margin_is_drawn_as_two_lines_between_which_the_claim_holds() -> None:
    alike = cell(value=1.0, interval=(0.9, 1.1), threshold=1.25, form="same")
    chart = named("forest", alike, files(effects=[0.95, 1.05]))
    assert only(chart, name="lower margin")["x"] == [0.8, 0.8]
    assert only(chart, name="upper margin")["x"] == [1.25, 1.25]
    assert traces(chart, name="threshold") == []
    words = [(trace["x"], trace["text"]) for trace in traces(chart, mode="text")]
    assert words == [([0.8, 0.8], ["← refuted ", " holds →"]), ([1.25, 1.25], ["← holds ", " refuted →"])]
    assert rows(chart)[-2:] == [("lower margin", 0.8, None, None), ("upper margin", 1.25, None, None)]
    assert "between the dashed margins" in chart.caption
    assert "threshold" not in chart.caption


def test_a_claim_of_the_form_order_is_drawn_like_one_of_the_form_more() -> None:
    chart = named(
        "forest", cell(unit="share", value=0.9, interval=(0.8, 1.0), form="order", threshold=0.75), files(effects=[0.9])
    )
    assert only(chart, name="threshold")["x"] == [0.75, 0.75]
    assert "to the right of the dashed threshold" in chart.caption


@pytest.mark.parametrize("form", ["more", "order"])
def test_a_claim_without_a_threshold_has_no_line(form: str) -> None:
    chart = named("forest", cell(threshold=None, form=form), files(effects=[3.0]))
    assert traces(chart, name="threshold") == traces(chart, mode="text") == []
    assert "threshold" not in chart.caption
    assert "threshold" in named("forest", cell(), files(effects=[3.0])).caption


ALIKE = cell(value=1.0, interval=(0.99, 1.01), threshold=5.0, form="same")
SHARE = cell(unit="share", value=0.1, interval=(-0.2, 0.3), threshold=0.05)


@pytest.mark.parametrize(
    ("of", "effects", "low", "high", "is_log"),
    [
        (cell(threshold=0.1), [3.0, 50.0], 0.1, 50.0, True),
        # Both margins are visible, although the effects are close together.
        (ALIKE, [1.0, 1.001], 0.2, 5.0, True),
        # A difference between shares may be zero or negative, and a ratio may be zero; all are shown on a linear axis.
        (SHARE, [-0.5, 0.2], -0.5, 0.2, False),
        (SHARE, [0.0, 0.2], 0.0, 0.2, False),
        (cell(), [3.0, 0.0], 0.0, 6.0, False),
    ],
)
def test_the_axis_shows_everything(of: Cell, effects: list[float], low: float, high: float, *, is_log: bool) -> None:
    """Positive ratios have a logarithmic axis, on which half and double are equally far from one."""
    chart = named("forest", of, files(effects=effects))
    axis = chart.figure["layout"]["xaxis"]
    assert axis["type"] == ("log" if is_log else "linear")
    assert axis["range"][0] < (math.log10(low) if is_log else low)
    assert axis["range"][1] > (math.log10(high) if is_log else high)
    assert str(axis.get("tickformat")).endswith("%") == (of is SHARE)
    assert only(chart, name="each round")["x"] == effects


def test_effects_that_are_not_numbers_are_left_out_and_the_others_keep_their_blocks() -> None:
    """A foreign file may contain anything."""
    chart = named("forest", cell(), files(effects=[3.0, None, "5", math.nan, True, 10**400, 7.0]))
    assert only(chart, name="each round")["x"] == [3.0, 7.0]
    assert [row[0] for row in rows(chart)] == ["round 1", "round 7", "all rounds", "threshold"]


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"effect_per_block": 3}', '{"effect_per_block": []}'])
def test_without_effects_of_blocks_there_is_no_plot(text: str) -> None:
    assert names(cell(), {"effects.json": text}) == []
    assert names(unsupported(), files(effects=[3.0])) == []
