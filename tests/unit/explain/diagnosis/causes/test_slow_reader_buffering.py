"""Clients that do not read, and what nginx keeps for them."""

from typing import Any, Final

import pytest

from tests.support.canned_evidence import (
    both_legs,
    capture,
    established,
    evidence,
    listening,
    log,
    memory,
    pidstat,
    service,
    spread,
    table,
)
from tuneproof.explain.diagnosis.causes.slow_reader_buffering import assess
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.parse.capture.records import Side

_CLOSED: Final[dict[str, Any]] = {
    "zero_window_flows": 2,
    "from_client": Side(zero_windows=30, zero_window_episodes=2, zero_window_s=7.5),
}


def test_clients_that_keep_their_window_closed_prove_it() -> None:
    """At nginx's front only a client closes it."""
    found = assess(both_legs(front=_CLOSED))
    assert found.verdict is CauseVerdict.FOUND
    assert "closed their window to 10.0.0.2:8000 in 2 connections, for 7.5 s altogether" in found.for_[0].text


def test_a_moment_of_closed_windows_is_no_sign() -> None:
    """A client that writes to its disk closes its window for that long."""
    moment = {"zero_window_flows": 2, "from_client": Side(zero_windows=3, zero_window_s=0.9)}
    assert assess(both_legs(front=moment)).for_ == ()


def test_closed_windows_to_an_unknown_service_may_be_nginx_s_own() -> None:
    """Then nginx does not read; its listeners or a capture of both legs tell."""
    given = evidence(captures=[capture(service(**_CLOSED))])
    assert assess(given).verdict is CauseVerdict.POSSIBLE
    with_listeners = evidence(captures=[capture(service(**_CLOSED))], sockets=[table(listening())])
    assert assess(with_listeners).verdict is CauseVerdict.FOUND
    other = evidence(captures=[capture(service(**_CLOSED))], sockets=[table(listening(80))])
    assert assess(other).verdict is CauseVerdict.POSSIBLE
    assert "its buffers may be full" in assess(other).for_[0].text


def test_send_queues_that_the_clients_windows_limit_prove_it() -> None:
    """Half of the time there was no window; so does the timer of a window that is closed now."""
    limited = established(792_024, rwnd_limited_ms=5000.0, busy_ms=6000.0)
    found = assess(evidence(sockets=[table(listening(), limited)]))
    assert found.verdict is CauseVerdict.FOUND
    assert "1 socket of nginx's side hold up to 773 KiB" in found.for_[0].text
    closed = established(792_024, is_persisting=True)
    assert assess(evidence(sockets=[table(listening(), closed)])).verdict is CauseVerdict.FOUND


@pytest.mark.parametrize(
    ("queue", "limited_ms"), [(4_000_000, None), (792_024, 900.0), (792_024, 2000.0), (60_000, 5000.0)], ids=str
)
def test_a_fast_download_is_no_sign(queue: int, limited_ms: float | None) -> None:
    """It fills its send queue, too, but has a window for most of its time."""
    download = established(queue, rwnd_limited_ms=limited_ms, busy_ms=6000.0)
    assert assess(evidence(sockets=[table(listening(), download)])).verdict is CauseVerdict.NOT_SEEN


def test_long_send_queues_without_details_fit_it() -> None:
    """As in the article: ss -nt alone tells no window."""
    found = assess(evidence(sockets=[table(established(792_024, cwnd=None))]))
    assert found.verdict is CauseVerdict.POSSIBLE
    assert "ss -tanmi" in found.would_decide[0]


def test_sockets_to_the_backend_are_not_the_clients() -> None:
    """What nginx sends there is requests."""
    limited = established(792_024, port=40_001, rwnd_limited_ms=5000.0)
    assert assess(evidence(sockets=[table(listening(), limited)])).verdict is CauseVerdict.NOT_SEEN


def test_requests_that_go_on_after_the_backend_fit_it() -> None:
    """The log's rt is far above its urt."""
    assert assess(evidence(access_logs=[log(client_time_s=spread(0.0, 12.0))])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(access_logs=[log(client_time_s=spread(0.0, 0.9))])).verdict is CauseVerdict.NOT_SEEN


def test_memory_that_grows_or_is_large_fits_it() -> None:
    """Buffers are memory of its own; a worker at rest does not grow."""
    grows = assess(evidence(processes=[memory(30), memory(131)]))
    assert (grows.verdict, grows.for_[0].text) == (CauseVerdict.POSSIBLE, "nginx (PID 7) grew by 101 MiB to 131 MiB.")
    assert assess(evidence(processes=[memory(300)])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(pidstat=[pidstat("RSS", 5000.0, 464_136.0)])).verdict is CauseVerdict.POSSIBLE
    assert assess(evidence(processes=[memory(30, 129)])).verdict is CauseVerdict.NOT_SEEN
    assert assess(evidence(processes=[memory(30), memory(200, pid=8)])).verdict is CauseVerdict.NOT_SEEN


def test_windows_that_stay_open_rule_it_out() -> None:
    """Two hundred requests, and every client read."""
    assert assess(both_legs()).verdict is CauseVerdict.RULED_OUT


@pytest.mark.parametrize(
    ("limited_ms", "busy_ms", "verdict"),
    [
        (1000.0, 2000.0, CauseVerdict.FOUND),
        (999.0, 1999.0, CauseVerdict.NOT_SEEN),
        (200.0, 210.0, CauseVerdict.FOUND),
        (199.0, 199.0, CauseVerdict.NOT_SEEN),
        (300.0, 400.0, CauseVerdict.NOT_SEEN),
    ],
)
def test_a_window_limits_for_a_second_or_a_young_connection_nearly_always(
    limited_ms: float, busy_ms: float, verdict: CauseVerdict
) -> None:
    """A capture of half a second shows it as well as one of an hour."""
    socket = established(600_000, rwnd_limited_ms=limited_ms, busy_ms=busy_ms)
    assert assess(evidence(sockets=[table(listening(), socket)])).verdict is verdict
