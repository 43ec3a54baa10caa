"""Each shard computes the same split; together the shards are the whole run, and none is much longer than needed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuneproof.errors import BadInputError
from tuneproof.proof.matrix.split import Shard, digest, split
from tuneproof.report.results.keys import Key

GROUPS = st.dictionaries(
    st.builds(
        Key, st.text(max_size=3), st.just(""), st.sampled_from(("1.18", "1.22")), st.sampled_from(("bare", "wan"))
    ),
    st.integers(min_value=0, max_value=10_000).map(lambda tenths: tenths / 10),
    max_size=40,
)
COUNTS = st.integers(min_value=1, max_value=12)


@given(GROUPS, COUNTS, st.randoms(use_true_random=False))
def test_the_order_of_collection_does_not_matter(seconds: dict[Key, float], count: int, order: object) -> None:
    """Machines may collect the groups in different orders."""
    groups = list(seconds)
    order.shuffle(groups)  # type: ignore[attr-defined]
    shuffled = {group: seconds[group] for group in groups}
    assert split(shuffled, count) == split(seconds, count)
    assert digest(split(shuffled, count), count) == digest(split(seconds, count), count)


@given(GROUPS, COUNTS)
def test_no_shard_is_longer_than_the_bound_of_list_scheduling(seconds: dict[Key, float], count: int) -> None:
    """The bound is the mean load plus (1 - 1/shards) of the longest group (Graham 1969)."""
    chosen = split(seconds, count)
    loads = [sum(seconds[group] for group in chosen if chosen[group] == number) for number in range(1, count + 1)]
    longest = max(seconds.values(), default=0.0)
    assert max(loads) <= sum(seconds.values()) / count + longest * (1 - 1 / count) + 1e-6


def test_groups_go_to_the_shortest_shard_and_the_longest_group_goes_first() -> None:
    """For example, 5, 4, 3, 3, 3 on two shards are 5+3 and 4+3+3; groups of equal length are sorted by name."""
    seconds = {Key(name, "", "1.22", "bare"): length for name, length in zip("abcde", (3, 3, 3, 4, 5), strict=True)}
    chosen = split(seconds, 2)
    assert {group.scenario: shard for group, shard in chosen.items()} == {"e": 1, "d": 2, "a": 2, "b": 1, "c": 2}


def test_different_splits_have_different_fingerprints() -> None:
    """Another number of shards changes the fingerprint, even if every group is in the first shard."""
    chosen = {Key("a", "", "1.22", "bare"): 1}
    digests = {digest(chosen, 1), digest(chosen, 2), digest({Key("a", "", "1.22", "wan"): 1}, 1), digest({}, 1)}
    assert len(digests) == 4


@pytest.mark.parametrize("text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/3", "a/b", "1 /3", "1/1000000000000"])
def test_an_invalid_shard_is_rejected(text: str) -> None:
    """A shard that does not exist would silently run nothing."""
    with pytest.raises(BadInputError, match="no such shard"):
        Shard.parse(text)
