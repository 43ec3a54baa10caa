"""Slow readers against a stand-in for nginx, with short intervals."""

import socket
import struct
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from images.client.loadgen import slow_readers
from tests.unit.fake_nginx import Behaviour, FakeNginx


def slow(port: int, **changes: Any) -> dict[str, Any]:
    """Run two slow readers of the bulk file for a quarter of a second, unless told otherwise."""
    quick: dict[str, Any] = {"path": "/bulk.bin", "count": 2, "interval_s": 0.05, "hold_s": 0.23}
    return slow_readers.run(address="127.0.0.1", port=port, **{**quick, **changes})


def test_every_reader_takes_a_byte_per_interval_and_leaves_the_rest() -> None:
    """After 0.23 s each has read four times; what waits is in the receive buffers."""
    with FakeNginx(Behaviour()) as server:
        began_s = time.monotonic()
        answer = slow(server.port, count=3)
        assert 0.23 <= time.monotonic() - began_s < 2
        assert server.workers_asked_for("/bulk.bin") == [11, 11, 12]
        server.wait_for_open(0)
    assert (answer["alive"], answer["ended"], answer["failed"]) == (3, 0, {})
    # A machine that is busy elsewhere for a while may cost a turn.
    assert answer["read_bytes"] in {3 * 3, 3 * 4}
    assert answer["unread_bytes"] > 3 * 10_000


def test_a_small_receive_buffer_keeps_more_of_the_file_with_the_server() -> None:
    """The kernel doubles SO_RCVBUF for its own needs (socket(7)), and never holds more than that."""
    with FakeNginx(Behaviour()) as server:
        answer = slow(server.port, receive_buffer_bytes=4096)
    assert 0 < answer["unread_bytes"] <= 2 * 2 * 4096


def test_readers_have_the_articles_interval_unless_told_otherwise() -> None:
    """Three seconds: in a shorter time nothing is read."""
    with FakeNginx(Behaviour()) as server:
        answer = slow_readers.run(address="127.0.0.1", port=server.port, path="/bulk.bin", count=1, hold_s=0.1)
    assert (answer["alive"], answer["read_bytes"]) == (1, 0)


def test_a_download_that_the_server_has_ended_is_not_alive() -> None:
    """Its FIN is seen though data waits in front of it, and that data counts."""
    with FakeNginx(Behaviour(bulk_bytes=1000)) as server:
        answer = slow(server.port)
    assert (answer["alive"], answer["ended"]) == (0, 2)
    # The response's head came along.
    assert 2 * 1000 < answer["unread_bytes"] + answer["read_bytes"] < 2 * 1200


def test_a_reset_ends_a_reader() -> None:
    """That is what nginx sends with reset_timedout_connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reset() -> None:
            connection, _ = listener.accept()
            connection.recv(4096)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

        thread = threading.Thread(target=reset)
        thread.start()
        answer = slow(listener.getsockname()[1], count=1)
        thread.join()
    assert (answer["alive"], answer["ended"], answer["unread_bytes"]) == (0, 1, 0)


def test_readers_that_nobody_listens_to_are_counted() -> None:
    """They are neither alive nor ended."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    answer = slow(port)
    assert (answer["alive"], answer["ended"], answer["failed"]) == (0, 0, {"ECONNREFUSED": 2})


def test_readers_that_cannot_even_begin_are_counted() -> None:
    """A broadcast address is refused by the kernel itself (connect(2))."""
    answer = slow_readers.run(address="255.255.255.255", port=80, path="/", count=2, hold_s=0.01)
    assert sum(answer["failed"].values()) == 2
    assert answer["alive"] == 0


# Once read from, once not: the answer's beginning is in two places.
@pytest.mark.parametrize("interval_s", [0.02, 3.0])
def test_an_answer_that_is_no_200_is_an_error_that_shows_it(interval_s: float) -> None:
    """An error page is short: it would wait nowhere. No connection is left open."""
    before = len(list(Path("/proc/self/fd").iterdir()))
    with (
        FakeNginx(Behaviour(statuses={"/bulk.bin": 404})) as server,
        pytest.raises(ConnectionError, match=r"slow reader answered with b'HTTP/1\.1 404"),
    ):
        slow(server.port, interval_s=interval_s)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_readers_carry_their_trial() -> None:
    """The access log can tell them from others."""
    with FakeNginx(Behaviour()) as server:
        slow(server.port, trial="a-b1")
        slow(server.port)
    assert [request.trial for request in server.requests] == ["a-b1", "a-b1", "slow_readers", "slow_readers"]
