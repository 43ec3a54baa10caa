"""Claims about keepalive to upstream: what it gains, for whom, why, and since when it goes without saying."""

import pytest

from fixtures.measurements import Prove
from tuneproof.catalogue.upstream_keepalive import SCENARIO

__all__ = ["SCENARIO"]

pytestmark = [pytest.mark.engine, pytest.mark.timing]


@pytest.mark.claim("keepalive_raises_throughput")
def test_keepalive_raises_the_throughput_of_what_a_version_does_by_itself(prove: Prove) -> None:
    """The article's claim, and the one that a new default made needless."""
    prove()


@pytest.mark.claim("kept_connections_raise_throughput")
def test_kept_connections_raise_the_throughput_against_closed_ones(prove: Prove) -> None:
    """Whatever the defaults: the effect itself has not gone."""
    prove()


@pytest.mark.claim("keepalive_helps_few_at_once")
def test_keepalive_helps_with_few_requests_at_once(prove: Prove) -> None:
    """The saving is per request, not per crowd."""
    prove()


@pytest.mark.claim("keepalive_helps_kept_clients")
def test_keepalive_helps_clients_that_keep_their_connections(prove: Prove) -> None:
    """Without the client's own connection set-up the upstream's is a larger part of the work."""
    prove()


@pytest.mark.claim("keepalive_helps_asyncio")
def test_keepalive_helps_a_python_backend_on_an_event_loop(prove: Prove) -> None:
    """Accepting a connection costs Python more than answering on one."""
    prove()


@pytest.mark.claim("keepalive_helps_closing_backend")
def test_keepalive_does_not_help_a_backend_that_closes(prove: Prove) -> None:
    """A connection is kept by both of its ends, and http.server speaks HTTP/1.0."""
    prove()


@pytest.mark.claim("keepalive_helps_limited_backend")
def test_keepalive_helps_a_backend_with_little_cpu(prove: Prove) -> None:
    """The article's pod with 0.06 CPU."""
    prove()


@pytest.mark.claim("keepalive_comes_near_direct")
def test_with_keepalive_nginx_comes_near_the_backend_itself(prove: Prove) -> None:
    """What is left is the price of a proxy."""
    prove()


@pytest.mark.headline
@pytest.mark.claim("connections_are_the_cause")
def test_connections_that_are_not_opened_are_the_cause(prove: Prove) -> None:
    """The kernel's count of connections that nginx opened."""
    prove()


@pytest.mark.claim("twins_are_as_fast")
def test_of_two_identical_subjects_neither_is_faster(prove: Prove) -> None:
    """The A/A control: a method that finds an effect here finds one everywhere."""
    prove()
