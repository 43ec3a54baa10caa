"""Connections to chosen workers, and bulk downloads on them."""

import itertools
import math
import os
import socket
import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from images.client.loadgen import placement
from images.client.loadgen.bulk import download
from images.client.loadgen.crowds import unread_bytes
from images.client.loadgen.http1 import exchange
from images.client.loadgen.placement import PlacementError, place
from tests.support.closed_ports import closed_port
from tests.support.fake_nginx import BULK, HANG_S, PROBE, Behaviour, FakeNginx, placed


def request_downloads(found: dict[int, list[socket.socket]]) -> list[socket.socket]:
    """Request a download on each connection that is not a probe's, as a trial does; return these connections."""
    connections = list(itertools.chain.from_iterable(group[1:] for group in found.values()))
    for connection in connections:
        connection.sendall(BULK)
    return connections


def test_every_worker_gets_a_probe_and_the_requested_bulk_downloads() -> None:
    with FakeNginx(Behaviour(worker_pids=(31, 7))) as server, placed(server, 3, 0) as found:
        assert {pid: len(connections) for pid, connections in found.items()} == {7: 4, 31: 1}
        assert list(found) == [7, 31]
        for pid, connections in found.items():
            assert [exchange(connection, PROBE).worker_pid for connection in connections] == [pid] * len(connections)
        assert {request.trial for request in server.requests} == {"t"}, "every request of the search names its trial"


@pytest.fixture
def _patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the search wait for every response of a burst, however slow this machine is."""
    monkeypatch.setattr(placement, "_QUIET_S", HANG_S)


def test_the_search_for_an_unreachable_worker_ends_at_its_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """No connection stays open. Each reading of the clock advances it by 0.1 s."""
    clock = itertools.count(100)
    monkeypatch.setattr(placement, "time", types.SimpleNamespace(monotonic=lambda: next(clock) / 10))
    with FakeNginx(Behaviour(worker_pids=(11,))) as server:
        with pytest.raises(PlacementError, match=r"after 1 s connections per worker: \{11: 4\}, wanted \(4, 0\)"):
            place("127.0.0.1", server.port, workers=2, per_worker=(4, 0), trial="t", timeout_s=1)
        assert next(clock) == 100 + 1 + 11
        server.wait_for_open(0)


@pytest.mark.usefixtures("_patient")
def test_a_long_search_does_not_use_up_the_connections_of_nginx() -> None:
    """However long the search is, each worker keeps only as many connections as it may need."""
    bursts = 8
    rare_worker = (*[11] * (16 * bursts - 1), 12)
    with FakeNginx(Behaviour(worker_pids=rare_worker)) as server, placed(server, 4, 0):
        assert len(server.requests) == 16 * bursts
        assert server.most_open < 16 * bursts / 2
        server.wait_for_open(6)


def count_bursts(monkeypatch: pytest.MonkeyPatch, *, before_second: Callable[[], None]) -> list[int]:
    """Return a list that gets the number of unanswered connections at each burst; call a function before the second."""
    bursts: list[int] = []
    start_burst = placement._Search.start_burst

    def counted(search: placement._Search) -> None:
        bursts.append(search.unanswered)
        if len(bursts) == 2:
            before_second()
        start_burst(search)

    monkeypatch.setattr(placement._Search, "start_burst", counted)
    return bursts


def test_lost_packets_do_not_delay_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel repeats a lost SYN after a second (RFC 6298, section 2). Other connections are used meanwhile."""
    with FakeNginx(Behaviour(deaf=True)) as server:
        bursts = count_bursts(monkeypatch, before_second=server.listen)
        with placed(server, 2, 1):
            # When the second burst begins, most of the first is still unanswered.
            assert bursts[0] == 0
            assert bursts[1] > 8
            server.wait_for_open(5)


def test_responses_after_the_start_of_the_next_burst_do_not_end_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    second = threading.Event()
    bursts = count_bursts(monkeypatch, before_second=second.set)
    with FakeNginx(Behaviour(answers_after=second)) as server, placed(server, 2, 1):
        assert bursts[:2] == [0, 16]
        server.wait_for_open(5)


def test_a_few_broken_connections_do_not_end_the_search() -> None:
    with FakeNginx(Behaviour(broken=3)) as server, placed(server, 2, 1) as found:
        assert [len(connections) for connections in found.values()] == [3, 2]


def test_a_server_that_breaks_every_connection_ends_the_search_at_once() -> None:
    """Further connections would not help."""
    with (
        FakeNginx(Behaviour(broken=10_000)) as server,
        pytest.raises(PlacementError, match=r"^\d+ connections were closed without an answer"),
    ):
        place("127.0.0.1", server.port, workers=2, per_worker=(1, 1), trial="t", timeout_s=HANG_S)


# The kernel refuses to connect to a broadcast address (connect(2)).
@pytest.mark.parametrize(
    ("address", "error"), [("127.0.0.1", "Connection refused"), ("255.255.255.255", "unreachable|denied")]
)
def test_the_search_ends_at_once_if_nothing_can_be_reached(address: str, error: str) -> None:
    """The kernel's error distinguishes an nginx that has ended from a slow one."""
    with closed_port() as port, pytest.raises(OSError, match=error):
        place(address, port, workers=1, per_worker=(1,), trial="t", timeout_s=HANG_S)


@contextmanager
def arrived(*counts: int) -> Iterator[list[socket.socket]]:
    """Yield connections, each with a response of this many bytes including its headers."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ExitStack() as opened:
        connections = []
        for count in counts:
            connections.append(opened.enter_context(socket.create_connection(listener.getsockname())))
            there = opened.enter_context(listener.accept()[0])
            there.sendall(b"HTTP/1.1 200 OK\r\n\r\n".ljust(count, b"x"))
            while unread_bytes(connections[-1]) < count:
                time.sleep(0.001)
        yield connections


@pytest.mark.parametrize(("start_s", "counted"), [(-math.inf, (20_000, 300)), (math.inf, (0, 0))])
def test_a_bulk_download_counts_what_arrives_in_the_window(start_s: float, counted: tuple[int, ...]) -> None:
    """Each connection has its own count. Bytes before the start do not count; those just before the end do."""
    reader, writer = os.pipe()
    os.close(writer)
    with arrived(20_000, 300) as connections:
        assert download(connections, start_s=start_s, stop_fd=reader).window_bytes == counted
    os.close(reader)


def test_bulk_downloads_run_until_the_window_ends_and_are_then_closed() -> None:
    with FakeNginx(Behaviour()) as server, placed(server, 2, 0) as found:
        start_s = time.monotonic() + 0.02
        samples = download(request_downloads(found), start_s=start_s, end_s=start_s + 0.4)
        assert time.monotonic() >= start_s + 0.4
        assert samples.ended_early == 0
        assert server.workers_asked_for("/bulk.bin") == [11, 11]
        server.wait_for_open(2)


def test_downloads_that_end_before_the_window_does_are_counted() -> None:
    """Their bytes count, too."""
    with FakeNginx(Behaviour(bulk_bytes=100_000)) as server, placed(server, 2, 1) as found:
        now_s = time.monotonic()
        samples = download(request_downloads(found), start_s=now_s, end_s=now_s + HANG_S)
        assert samples.ended_early == 3
        # The first bytes include the response's headers.
        assert all(100_000 < count < 100_200 for count in samples.window_bytes)


def test_a_bulk_connection_closed_without_a_response_is_an_error() -> None:
    """The buffer still contains another connection's response, which must not count."""
    behaviour = Behaviour(delays_s={12: 0.05}, hanging_up=(12,))
    with FakeNginx(behaviour) as server, placed(server, 1, 1) as found:
        now_s = time.monotonic()
        samples = download(request_downloads(found), start_s=now_s, end_s=now_s + HANG_S)
    assert samples.unexpected == "bulk download answered with b''"
