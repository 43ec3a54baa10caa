"""Slow readers against a stand-in for nginx, with short intervals."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from images.client.loadgen import crowds
from images.client.loadgen.crowd import Crowd
from images.client.loadgen.crowds import SlowReaders
from tests.support.closed_ports import closed_port
from tests.support.fake_nginx import Behaviour, FakeNginx
from tuneproof.lab.protocol.loadgen import SlowReadersSeen, SlowReading


def slow(port: int, *, end: threading.Event, crowd: Crowd, **changes: Any) -> SlowReadersSeen:
    """Run slow readers until ``end`` is set; by default, two of them read the bulk file."""
    quick: dict[str, Any] = {"address": "127.0.0.1", "path": "/bulk.bin", "count": 2, "interval_s": 0.05}
    return crowds.read_slowly(SlowReading(port=port, **{**quick, **changes}), end, crowd)


def read_bytes(crowd: Crowd) -> int:
    return sum(len(member.received) for member in crowd.open.values())


def each_has(crowd: Crowd, least_bytes: int, *, readers: int = 2) -> bool:
    """Return whether there are this many readers, each with at least this much in its receive buffer."""
    waiting = [crowds.unread_bytes(member.connection) for member in (*crowd.open.values(), *crowd.ended)]
    return len(waiting) == readers and min(waiting) >= least_bytes


class Until(threading.Event):
    """An event that is set as soon as a condition is true; a wait of fixed length might be too short."""

    def __init__(self, is_so: Callable[[], bool]) -> None:
        super().__init__()
        self._is_so = is_so

    def is_set(self) -> bool:
        return self._is_so()


def test_every_reader_takes_a_byte_per_interval_and_leaves_the_rest() -> None:
    """The rest waits in the receive buffers."""
    crowd = Crowd()
    with FakeNginx(Behaviour()) as server:
        began_s = time.monotonic()
        end = Until(lambda: read_bytes(crowd) >= 3 * 4 and each_has(crowd, 10_000, readers=3))
        answer = slow(server.port, crowd=crowd, count=3, end=end)
        took_s = time.monotonic() - began_s
        assert server.workers_asked_for("/bulk.bin") == [11, 11, 12]
        assert {request.trial for request in server.requests} == {"slow_readers"}
        server.wait_for_open(0)
    assert (answer.alive, answer.ended, answer.failed) == (3, 0, {})
    assert 3 * 4 <= answer.read_bytes <= 3 * took_s / 0.05
    assert answer.unread_bytes > 3 * 10_000


def test_a_download_that_the_server_has_ended_is_not_alive() -> None:
    """The server's FIN is noticed behind unread data, which still counts."""
    crowd = Crowd()
    with FakeNginx(Behaviour(bulk_bytes=1000)) as server:
        answer = slow(server.port, crowd=crowd, end=Until(lambda: len(crowd.ended) == 2))
    assert (answer.alive, answer.ended) == (0, 2)
    # The bytes include the response's headers.
    assert 2 * 1000 < answer.unread_bytes + answer.read_bytes < 2 * 1200


def test_a_reset_ends_a_reader() -> None:
    crowd = Crowd()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            connection, _ = listener.accept()
            connection.recv(4096)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        end = Until(lambda: len(crowd.ended) == 1)
        answer = slow(listener.getsockname()[1], crowd=crowd, count=1, end=end)
        thread.join()
    assert (answer.alive, answer.ended, answer.unread_bytes) == (0, 1, 0)


def test_readers_without_a_listener_are_counted() -> None:
    crowd = Crowd()
    with closed_port() as port:
        answer = slow(port, crowd=crowd, end=Until(lambda: crowd.failed.total() == 2))
    assert (answer.alive, answer.ended, answer.failed) == (0, 0, {"ECONNREFUSED": 2})


# At the short interval, the start of the response has been read; at the long one, it is in the receive buffer.
@pytest.mark.parametrize("interval_s", [0.02, 3600.0])
def test_a_status_other_than_200_is_an_error_with_the_response(interval_s: float) -> None:
    """A short error page would not fill nginx's buffers. No connection stays open."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    crowd = Crowd()
    end = Until(lambda: each_has(crowd, 1) and (read_bytes(crowd) > 0) == (interval_s < 1))
    with (
        FakeNginx(Behaviour(statuses={"/bulk.bin": 404})) as server,
        pytest.raises(ConnectionError, match=r"slow reader answered with b'HTTP/1\.1 404"),
    ):
        slow(server.port, crowd=crowd, interval_s=interval_s, end=end)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.fixture
def background() -> Iterator[SlowReaders]:
    readers = SlowReaders()
    yield readers
    readers.close()


def test_readers_run_in_the_background_one_set_after_the_other(background: SlowReaders) -> None:
    with FakeNginx(Behaviour()) as server:
        for _ in range(2):
            background.start(SlowReading(address="127.0.0.1", port=server.port, path="/bulk.bin", count=2))
            server.wait_for_open(2)
            assert background.end().alive == 2
            server.wait_for_open(0)
