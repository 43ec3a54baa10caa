"""Differences between two versions: the ones that matter, and how they are reported."""

from collections.abc import Sequence

import pytest

from tuneproof.lab.load.counted import Figures
from tuneproof.yours.compared import Comparison, compared, reported
from tuneproof.yours.looks import FIGURES

ROUNDS = 5


def one(before: Sequence[Figures], after: Sequence[Figures]) -> Comparison:
    """Return the only comparison."""
    (found,) = compared("http://a/", before, after)
    return found


@pytest.mark.parametrize(
    ("name", "before", "after", "differs"),
    [
        ("upstream_connects", [32] * 5, [4] * 5, True),
        ("upstream_connects", [32, 32, 32, 32, 4], [4] * 5, False),  # one version shows both values
        ("upstream_connects", [3, 4, 4, 3, 4], [4, 5, 5, 5, 5], False),  # within the margin
        ("client_requests", [100] * 5, [1000] * 5, True),
        ("client_requests", [100] * 5, [1000, 1000, 100, 1000, 1000], False),  # not in every round
        ("worker_bytes", [1000] * 5, [1090, 1099, 1080, 1095, 1099], False),
        ("worker_bytes", [1000] * 5, [1200, 1150, 1300, 1200, 1200], True),
        ("kept", [0] * 5, [4] * 5, True),
        ("kept", [0] * 5, [0] * 5, False),
    ],
)
def test_a_difference_must_appear_in_every_round_and_never_within_one_version(
    name: str,
    before: list[float],
    after: list[float],
    differs: bool,  # noqa: FBT001 - a parameter of pytest's
) -> None:
    assert len(before) == len(after) == ROUNDS
    old, new = ([{name: value} for value in values] for values in (before, after))
    assert one(old, new).differs is differs
    assert one(new, old).differs is differs, "the order of the versions matters"


def test_a_changing_value_is_not_a_difference() -> None:
    """A date or an id has another value in each round."""
    before: list[Figures] = [{"header: date": 3, f"header date: {number}": 3} for number in range(5)]
    after: list[Figures] = [{"header: date": 3, f"header date: {number}": 3} for number in range(5, 10)]
    assert [found.differs for found in compared("a", before, after)] == [False, False]


def test_differences_between_containers_are_not_differences_between_versions() -> None:
    """Rounds alternate between two containers of each version, so a host name repeats, but not in every round."""
    names = ["a", "b", "a", "b", "a"]
    before: list[Figures] = [{f"header x-node: {name}": 3} for name in names]
    after: list[Figures] = [{f"header x-node: {name}2": 3} for name in names]
    assert not one(before, after).differs


def test_texts_are_shown_before_and_after() -> None:
    found = one([{"status: 200": 3, "status: 404": 1}] * 5, [{"status: 502": 3, "status: 404": 1}] * 5)
    assert (found.before, found.after, found.differs) == ("200", "502", True)


def test_a_header_that_only_one_version_sends_is_reported_once() -> None:
    """The header's value is not reported separately."""
    found = compared("a", [{"header: alt-svc": 3, "header alt-svc: h3": 3}] * 5, [{}] * 5)
    assert [(each.what, each.before, each.after) for each in found] == [("header", "alt-svc", "none")]


def test_the_largest_difference_comes_first_and_equal_ones_are_reported_once() -> None:
    """A different response comes before any number."""
    header = [{"header x: 1": 3.0}] * 5, [{"header x: 2": 3.0}] * 5
    found = [
        *compared("http://a/", *header),
        *compared("http://b/", *header),
        *compared("w", [{"worker_bytes": 1 << 20}] * 5, [{"worker_bytes": 3 << 20}] * 5),
        *compared("http://c/", [{"status: 200": 3}] * 5, [{"status: 400": 3}] * 5),
        *compared("http://c/", [{"kept": 1}] * 5, [{"kept": 1}] * 5),
    ]
    assert list(reported(found)) == [
        "status: 200 -> 400\n  at http://c/",
        "memory of a worker at its start: 1 MiB -> 3 MiB (3x)\n  at w",
        "header x: 1 -> 2\n  at http://a/ and 1 more",
    ]


def test_every_number_has_a_margin_with_its_reason() -> None:
    """A margin is a ratio of at least one: below one, equal numbers would differ."""
    assert all(figure.margin >= 1 and figure.why for figure in FIGURES.values())
