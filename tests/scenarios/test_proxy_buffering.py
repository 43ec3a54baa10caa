"""Claims about proxy_buffering: what a slow reader costs, and what takes the cost away."""

import pytest

from fixtures.measurements import Prove
from tuneproof.catalogue.proxy_buffering import SCENARIO

__all__ = ["SCENARIO"]

pytestmark = [pytest.mark.engine]


@pytest.mark.headline
@pytest.mark.claim("slow_reader_takes_the_bound")
def test_one_slow_reader_makes_nginx_hold_all_its_buffers(prove: Prove) -> None:
    """A fast backend fills them in seconds, and they stay full as long as the reader is slow."""
    prove()


@pytest.mark.claim("memory_grows_with_every_reader")
def test_every_slow_reader_costs_the_same_again(prove: Prove) -> None:
    """The bound is per connection: a dose-response with a law."""
    prove()


@pytest.mark.claim("buffering_off_is_bounded")
def test_without_buffering_a_slow_reader_costs_one_buffer(prove: Prove) -> None:
    """What nginx cannot pass on stays with the backend."""
    prove()


@pytest.mark.claim("small_buffers_spill_to_disk")
def test_with_small_buffers_the_surplus_goes_to_a_file(prove: Prove) -> None:
    """The disk takes what memory does not: that is what makes the loop stall elsewhere."""
    prove()


@pytest.mark.claim("one_reader_breaks_a_memory_limit")
def test_one_slow_reader_gets_a_worker_killed_and_the_remedy_spares_it(prove: Prove) -> None:
    """The article's incident in a container of its own; nothing else dies of it."""
    prove()
