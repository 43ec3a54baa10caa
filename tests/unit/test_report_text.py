"""Numbers are short and honest, and foreign text is harmless."""

# ruff: noqa: RUF001 - the multiplication signs and dashes are the answers themselves

import pytest

from fixtures.report.text import ascii_only, format_effect, format_number, one_line


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


def test_text_becomes_one_harmless_line() -> None:
    """Line ends become spaces, control characters become visible, letters stay."""
    assert one_line("a\r\n  b\tc \x1b[2J\x07 é×日") == r"a b c \x1b[2J\x07 é×日"


def test_ascii_text_keeps_the_meaning() -> None:
    """Usual signs have a stand-in; other characters are escaped, not lost."""
    assert ascii_only("134× [98–180] → ≥ 5 µs, é") == r"134x [98-180] -> >= 5 us, \xe9"
