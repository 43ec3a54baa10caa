"""The list of verdicts, in colour and in plain ASCII."""

from dataclasses import replace

import pytest

from tests.support.written_results import a_cell, ratio
from tuneproof.report.terminal.table import render_table


def test_foreign_text_changes_neither_the_terminal_nor_the_layout() -> None:
    """A log file gets ASCII: no escape sequence, and no character that its encoding may lack."""
    cell = a_cell(name="停 \x1b]0;owned\x07 [red]x[/red] :smile:", verdict="inconclusive", reason="a → b ≥ 1 s")
    text = render_table([cell], color=False)
    assert text.isascii()
    assert r"\u505c \x1b]0;owned\x07 [red]x[/red] :smile:" in text
    assert "a -> b >= 1 s" in text
    assert r"停 \x1b]0;owned\x07 [red]x[/red] :smile:" in render_table([cell], color=True)


@pytest.mark.parametrize(
    ("verdict", "expected", "shown"),
    [
        ("refuted", "refuted", "\x1b[32mrefuted"),
        ("holds", "refuted", "\x1b[31mholds, expected: refuted"),
        ("inconclusive", "holds", "\x1b[33minconclusive"),
        ("inconclusive", None, "\x1b[33minconclusive\x1b"),
        ("holds", None, "  holds "),
        ("refuted", None, "  refuted "),
    ],
)
def test_colour_shows_whether_the_expectation_was_met(
    verdict: str, expected: str | None, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Green is as expected, even if refuted; red is not; yellow is undecided; no colour means no expectation."""
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    reason = "the interval contains the threshold" if verdict == "inconclusive" else ""
    text = render_table([a_cell(verdict=verdict, expected=expected, reason=reason)], color=True)
    assert shown in text
    assert expected is not None or "expected" not in text
    assert "\x1b[3" in shown or "\x1b[3" not in text


def test_a_reason_is_one_line_and_is_not_cut_to_the_terminals_width() -> None:
    long = "the host is too noisy: " + "steal 40 % " * 20
    text = render_table([a_cell(verdict="inconclusive", reason=f"{long}\nno module")], color=False)
    assert f"inconclusive: {long}no module\n" in text


def test_the_level_of_the_intervals_is_the_lowest_of_their_plans() -> None:
    """Older files do not contain the level, so none is printed."""
    effects = [replace(ratio(), plan_level=level) for level in (0.925, 0.91796875, None)]
    text = render_table([a_cell(str(number), effect=effect) for number, effect in enumerate(effects)], color=False)
    assert "\nintervals: each covers the true value with a chance of at least 91.8 %\n" in text
    assert "intervals" not in render_table([a_cell()], color=False)
