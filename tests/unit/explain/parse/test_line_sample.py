"""Samples of two logs show how many lines the logs share."""

from collections.abc import Iterable

from tuneproof.explain.parse.line_sample import LineSample, LineSampler


def sampled(numbers: Iterable[int], *, most_lines: int = 100) -> LineSample:
    sampler = LineSampler(most_lines)
    for number in numbers:
        sampler.add(f"line {number}\n")
    sampler.add("\n")
    return sampler.sample()


def test_small_logs_are_compared_line_by_line() -> None:
    one, two = sampled(range(60)), sampled(range(40, 140))
    assert one.has_all
    assert two.has_all
    assert one.shared(two) == (20, 60)
    assert two.shared(one) == (20, 100)
    assert sampled(()).shared(one) == (0, 0)


def test_samples_of_large_logs_show_which_share_of_lines_is_in_both() -> None:
    large, small = sampled(range(20_000), most_lines=2_000), sampled(range(15_000, 25_000), most_lines=2_000)
    assert not large.has_all
    assert len(large.checksums) <= 2_000
    shared, compared = small.shared(large)
    assert compared >= 500
    assert 0.4 < shared / compared < 0.6
