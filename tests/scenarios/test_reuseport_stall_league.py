"""Claims about the mitigations that people recommend against the stall, and their league table."""

import pytest

from fixtures.measurements import Prove
from tuneproof.catalogue.reuseport_stall_league import League

pytestmark = [pytest.mark.engine, pytest.mark.timing]

SCENARIO = League().scenario()


@pytest.mark.claim("small_rmem_halves_lag")
def test_a_small_receive_buffer_halves_the_loop_lag(prove: Prove) -> None:
    """The article's own remedy: it bounds what one visit to a connection can read."""
    prove()


@pytest.mark.claim("no_temp_file_halves_lag")
def test_doing_without_a_temporary_file_halves_the_loop_lag(prove: Prove) -> None:
    """Writing the surplus to a file is a part of every visit."""
    prove()


@pytest.mark.claim("aio_threads_halve_lag")
def test_threads_that_write_the_file_do_not_halve_the_loop_lag(prove: Prove) -> None:
    """The file is written by others; the reading stays."""
    prove()


@pytest.mark.claim("buffering_off_halves_lag")
def test_proxy_buffering_off_halves_the_loop_lag(prove: Prove) -> None:
    """Nothing is read that the client does not take."""
    prove()


@pytest.mark.claim("limit_rate_halves_lag")
def test_a_limited_rate_halves_the_loop_lag(prove: Prove) -> None:
    """Nginx leaves the socket alone until its time has come."""
    prove()


@pytest.mark.claim("reuseport_off_halves_lag")
def test_switching_reuseport_off_does_not_halve_a_loaded_loops_lag(prove: Prove) -> None:
    """It keeps newcomers away from a busy worker, and does nothing for those that are there."""
    prove()


@pytest.mark.claim("receive_buffer_is_the_larger_factor")
def test_the_receive_buffer_is_the_larger_factor(prove: Prove) -> None:
    """A factorial of two by two says which of two causes carries how much; the table shows the whole league."""
    prove()
