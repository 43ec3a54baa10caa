"""The number of gaps in a capture that are kept."""

from tuneproof.explain.parse.capture.sequence import MAX_GAPS, Gaps


def test_the_oldest_gaps_are_forgotten_even_after_a_segment_split_one() -> None:
    gaps = Gaps()
    for number in range(MAX_GAPS):
        gaps.open(100 * number, 100 * number + 50, number)
    assert gaps.fill(10, 10) == 0
    gaps.open(100 * MAX_GAPS, 100 * MAX_GAPS + 50, MAX_GAPS)
    assert [gaps.fill(100 * number, 50) for number in range(MAX_GAPS + 1)] == [None, *range(1, MAX_GAPS + 1)]
