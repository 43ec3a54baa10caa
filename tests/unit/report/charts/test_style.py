"""Curves keep their extremes when they are thinned, ticks are round, and styles work on light and dark pages."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneproof.report.charts.curves import thin
from tuneproof.report.charts.style import COLOURS, _log_ticks, line_of, marker_of, shown

# A page's backgrounds in the light and the dark scheme.
LIGHT, DARK = "#FFFFFF", "#16181D"
# The limit for graphical objects: https://www.w3.org/TR/WCAG22/#non-text-contrast
LEAST_CONTRAST = 3.0


@given(
    st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300),
    st.integers(min_value=4, max_value=50),
)
def test_thinning_keeps_the_first_the_last_and_the_extremes(values: list[float], most: int) -> None:
    points = [(float(index), value) for index, value in enumerate(values)]
    kept = thin(points, most)
    assert len(kept) <= most
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert (min(value for _, value in kept), max(value for _, value in kept)) == (min(values), max(values))
    assert kept == sorted(set(kept) & set(points))


def test_a_short_curve_is_not_thinned() -> None:
    points = [(1.0, 5.0), (2.0, 6.0), (3.0, 5.5)]
    assert thin(points, 4) == points


@pytest.mark.parametrize(
    ("low", "high"),
    [(16.0, 25.0), (100.0, 103.0), (5.0, 5.5), (0.35, 50.0), (0.08, 63.0), (1e-3, 1e9), (40960.0, 33554432.0)],
)
def test_ticks_are_round_and_enclose_the_values(low: float, high: float) -> None:
    ticks = _log_ticks(low, high)
    within = [tick for tick in ticks if low <= tick <= high]
    assert ticks == sorted(ticks)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert len(within) <= 10
    assert len(within) >= 2 or high < 1.1 * low
    assert all(len(f"{tick:e}".split("e")[0].rstrip("0").rstrip(".")) <= 4 for tick in ticks)


@pytest.mark.parametrize("colour", COLOURS)
def test_colours_contrast_with_light_and_dark_pages(colour: str) -> None:
    assert min(contrast(colour, LIGHT), contrast(colour, DARK)) >= LEAST_CONTRAST


def test_no_two_of_twenty_curves_differ_by_colour_only() -> None:
    """Dashes repeat after six curves and markers after seven, so every pair of dash and marker is different."""
    assert len({line_of(index)["dash"] for index in range(6)}) == 6
    assert len({marker_of(index)["symbol"] for index in range(7)}) == 7
    assert len({(line_of(index)["dash"], marker_of(index)["symbol"]) for index in range(20)}) == 20


def test_foreign_names_are_short_and_without_markup() -> None:
    assert shown("a\n<b>") == "a &lt;b&gt;"
    assert len(shown("".join(random.Random(1).choices("abc", k=500)))) == 60  # noqa: S311 - not secret


def contrast(one: str, other: str) -> float:
    """Return the contrast between two colours (https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio)."""
    darker, lighter = sorted(luminance(colour) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
