"""A storm of connections, against listeners on 127.0.0.1."""

import resource
import select
import socket
import time
from pathlib import Path

import pytest

from images.client.loadgen import crowd, crowds
from images.client.loadgen.crowd import Crowd
from tests.support.closed_ports import closed_port
from tests.support.fake_nginx import HANG_S
from tuneproof.lab.protocol.loadgen import StormSeen


def storm(port: int, connections: int, *, address: str = "127.0.0.1", wait_s: float = HANG_S) -> StormSeen:
    return crowds.storm(address, port, connections, wait_s)


def test_each_established_connection_in_a_storm_has_a_time() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=512) as listener:
        began_s = time.monotonic()
        answer = storm(listener.getsockname()[1], 300)
        took_ms = (time.monotonic() - began_s) * 1e3
    times_ms = answer.connect_ms
    assert (len(times_ms), answer.unfinished, answer.failed) == (300, 0, {})
    assert list(times_ms) == sorted(times_ms)
    assert 0 < times_ms[0] <= times_ms[-1] < took_ms


def test_a_connection_that_the_server_has_no_room_for_is_unfinished() -> None:
    """Its SYN is dropped. The storm does not wait for the kernel, which gives up after two minutes (tcp(7))."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as listener:
        began_s = time.monotonic()
        answer = storm(listener.getsockname()[1], 6, wait_s=0.3)
        took_s = time.monotonic() - began_s
    assert 1 <= len(answer.connect_ms) <= 2
    assert answer.unfinished == 6 - len(answer.connect_ms)
    assert answer.failed == {}
    assert 0.3 <= took_s < HANG_S


def test_a_connection_established_before_the_end_counts_even_if_time_is_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even without any time to wait, the storm looks once; here, the kernel has established each connection by then."""
    begin = Crowd.begin

    def established(crowd: Crowd, connection: socket.socket, server: tuple[str, int]) -> None:
        begin(crowd, connection, server)
        select.select([], [connection], [], HANG_S)

    monkeypatch.setattr(Crowd, "begin", established)
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        answer = storm(listener.getsockname()[1], 5, wait_s=0.0)
    assert (len(answer.connect_ms), answer.unfinished) == (5, 0)


def test_refused_connections_are_counted_by_the_kernels_error() -> None:
    with closed_port() as port:
        answer = storm(port, 5)
    assert (answer.connect_ms, answer.unfinished, answer.failed) == ((), 0, {"ECONNREFUSED": 5})


def test_connections_that_cannot_even_start_are_counted() -> None:
    """The kernel refuses a broadcast address without sending a packet (connect(2))."""
    answer = storm(80, 3, address="255.255.255.255")
    assert (answer.connect_ms, answer.unfinished) == ((), 0)
    ((name, count),) = answer.failed.items()
    assert name in {"ENETUNREACH", "EACCES"}
    assert count == 3


def test_a_storm_leaves_no_connections_behind() -> None:
    """Connections are reset, so that the server notices at once and no port stays in TIME-WAIT."""
    with socket.create_server(("127.0.0.1", 0), backlog=16) as listener:
        before = len(list(Path("/proc/self/fd").iterdir()))
        storm(listener.getsockname()[1], 3)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
        for _ in range(3):
            connection, _ = listener.accept()
            with connection, pytest.raises(ConnectionResetError):
                connection.recv(1)


def test_a_lack_of_descriptors_is_an_error_that_leaves_none_open() -> None:
    """A smaller storm must not count as the requested one."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 8, hard))
    try:
        with pytest.raises(OSError, match="Too many open files"):
            storm(9, highest + 8, wait_s=1.0)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_an_error_without_a_name_is_reported_by_its_number() -> None:
    assert (crowd.errno_name(111), crowd.errno_name(99_999)) == ("ECONNREFUSED", "99999")
