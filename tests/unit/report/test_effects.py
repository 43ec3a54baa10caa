"""Numbers are short and honest, and foreign text is harmless."""

# ruff: noqa: RUF001 - the multiplication signs and dashes are the answers themselves

import pytest

from tuneproof.report.effects import format_effect, format_limit, format_measured
from tuneproof.report.results.cells import Effect
from tuneproof.wording import ascii_only, format_number, one_line

RATIO = Effect(name="lag", unit="ratio", value=134.2, ci_low=98.0, ci_high=180.4)
SAME = Effect(name="twins", unit="ratio", value=1.01, ci_low=0.9, ci_high=1.2, form="same")
COUNTED = Effect(name="right", unit="share", value=28 / 29, ci_low=0.846, ci_high=0.9982, count=28, of=29)
PARTLY = Effect(name="pairs", unit="share", value=0.95, ci_low=0.7, ci_high=1.0, form="order", count=11.4, of=12)
DIFFERENCE = Effect(name="slow", unit="share", value=-0.03, ci_low=-0.05, ci_high=0.01)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0, "0"),
        (134.2, "134"),
        (98.0, "98"),
        (9.996, "10"),
        (1.005, "1"),
        (0.0456, "0.0456"),
        (999.6, "1000"),
        (1049.0, "1050"),
        (-12_345.0, "-12300"),
        (999_900.0, "1e+06"),
        (0.00001234, "1.23e-05"),
    ],
)
def test_number_has_three_significant_digits(value: float, shown: str) -> None:
    """Neither a tail of digits that means nothing, nor an exponent for everyday sizes."""
    assert format_number(value) == shown


@pytest.mark.parametrize(
    ("value", "unit", "interval", "shown"),
    [
        (134.2, "ratio", (98.0, 180.4), "134× [98–180]"),
        (0.5, "ratio", None, "0.5×"),
        (0.125, "share", (0.08, 0.16), "12.5 pp [8–16]"),
        (-0.03, "share", (-0.05, -0.01), "-3 pp [-5 to -1]"),
        (0.0, "share", (0.0, 0.0), "0 pp [0–0]"),
    ],
)
def test_effect_is_shown_with_unit_and_interval(
    value: float, unit: str, interval: tuple[float, float] | None, shown: str
) -> None:
    """A ratio is a multiple, a difference of shares is in percentage points."""
    assert format_effect(value, unit, interval) == shown


@pytest.mark.parametrize(
    ("effect", "shown"),
    [
        (RATIO, "134× [98–180]"),
        (SAME, "1.01× [0.9–1.2]"),
        (COUNTED, "28 of 29 [84.6–99.8 %]"),
        (PARTLY, "95 % [70–100 %]"),
        (DIFFERENCE, "-3 pp [-5 to 1]"),
    ],
    ids=["ratio", "same", "counted", "parts-of-units", "difference"],
)
def test_measured_effect_is_shown_as_what_was_counted(effect: Effect, shown: str) -> None:
    """So many of so many say more than a share; a difference has no such units."""
    assert format_measured(effect) == shown


@pytest.mark.parametrize(
    ("threshold", "effect", "shown"),
    [
        (10.0, RATIO, "above 10×"),
        (1.25, SAME, "between 0.8× and 1.25×"),
        (0.9, COUNTED, "above 90 %"),
        (0.75, PARTLY, "above 75 %"),
        (0.1, DIFFERENCE, "above 10 pp"),
        (0.0, DIFFERENCE, "above 0 pp"),
    ],
    ids=["ratio", "same", "counted", "parts-of-units", "difference", "no-difference"],
)
def test_limit_says_where_the_interval_must_lie(threshold: float, effect: Effect, shown: str) -> None:
    """In the words of the claim's form: a margin has two ends."""
    assert format_limit(threshold, effect) == shown


def test_text_becomes_one_harmless_line() -> None:
    """Line ends become spaces, control characters become visible, letters stay."""
    assert one_line("a\r\n  b\tc \x1b[2J\x07 é×日") == r"a b c \x1b[2J\x07 é×日"


def test_ascii_text_keeps_the_meaning() -> None:
    """Usual signs have a stand-in; other characters are escaped, not lost."""
    assert ascii_only("134× [98–180] → ≥ 5 µs, é") == r"134x [98-180] -> >= 5 us, \xe9"


def test_a_narrow_interval_is_no_point() -> None:
    """Its ends are told with as many digits as tell them apart; the value has as many."""
    assert format_effect(0.99916, "ratio", (0.99912, 0.99921)) == "0.9992× [0.9991–0.9992]"
    assert format_effect(2.0, "ratio", (2.0, 2.0)) == "2× [2–2]"
