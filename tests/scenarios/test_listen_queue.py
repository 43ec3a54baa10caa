"""Claims about accept queues: who waits, how many get in, and what the counters say."""

import pytest

from fixtures.measurements import Prove
from tuneproof.catalogue.listen_queue import SCENARIO

__all__ = ["SCENARIO"]

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@pytest.mark.headline
@pytest.mark.claim("long_backlog_spares_connects")
def test_a_burst_of_connects_waits_behind_a_short_queue_and_not_behind_a_long_one(prove: Prove) -> None:
    """A SYN that finds the queue full is dropped, and comes again after a second."""
    prove()


@pytest.mark.claim("queue_holds_backlog_plus_one")
def test_a_queue_takes_its_backlog_and_one_more(prove: Prove) -> None:
    """The kernel compares with "greater than": a dose-response with a law."""
    prove()


@pytest.mark.claim("overflows_and_drops_rise_together")
def test_a_full_accept_queue_raises_both_counters(prove: Prove) -> None:
    """ListenDrops counts what ListenOverflows counts, and more: see the half-open connections."""
    prove()


@pytest.mark.claim("listener_lock_drops_syns")
def test_a_storm_of_syns_overflows_no_listeners_backlog(prove: Prove) -> None:
    """Advice from kernels before 4.4, whose listeners took a lock for every SYN."""
    prove()
