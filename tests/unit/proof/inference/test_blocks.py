"""The order of arms within blocks is random and reproducible."""

from collections import Counter
from itertools import pairwise

import pytest

from tuneproof.proof.inference.experiment import block_order

_ARMS = ("default", "small", "shared")


def test_an_order_is_reproducible_and_does_not_depend_on_the_order_of_the_list() -> None:
    order = block_order(_ARMS, seed=7, block=3)
    assert sorted(order) == sorted(_ARMS)
    assert order == block_order(_ARMS, seed=7, block=3) == block_order(_ARMS[::-1], seed=7, block=3)


@pytest.mark.parametrize("varied", ["block", "seed"])
def test_every_order_is_equally_likely(varied: str) -> None:
    """In 6000 blocks or seeds, each of the six orders occurs 1000 times, within 4 standard deviations."""
    orders = Counter(
        block_order(_ARMS, seed=number if varied == "seed" else 1, block=number if varied == "block" else 1)
        for number in range(6000)
    )
    assert len(orders) == 6
    assert all(abs(count - 1000) < 116 for count in orders.values())


def test_successive_blocks_are_independent() -> None:
    """An order follows itself in one of six cases: 1000 of 6000, within 4 standard deviations."""
    orders = [block_order(_ARMS, seed=11, block=block) for block in range(6001)]
    repeats = sum(earlier == later for earlier, later in pairwise(orders))
    assert abs(repeats - 1000) < 116


def test_a_repeated_arm_is_rejected() -> None:
    with pytest.raises(ValueError, match="each arm appears once"):
        block_order(("default", "default"), seed=1, block=1)
