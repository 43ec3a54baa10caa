"""When data arrived, by the kernel: whoever looks late does not take his own delay for the sender's."""

import socket
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from images.client.loadgen.arrivals import ArrivalStamps

LATE_S = 0.05
_MOST_UNSTAMPED = 100


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    with closing(one), closing(other):
        yield one, other


def test_data_that_waited_arrived_when_it_came(pair: tuple[socket.socket, socket.socket]) -> None:
    """It came between two readings of the clock, and was looked at much later; it is still there to be read.

    Only so much of it as the kernel stamped: stamping is switched on by a work queue (net_enable_timestamp()), so that
    what comes right after the first socket that asks for it has no stamp.
    """
    reader, writer = pair
    stamps = ArrivalStamps([reader])
    for _ in range(_MOST_UNSTAMPED):
        before_s = time.monotonic()
        writer.sendall(b"answer")
        after_s = time.monotonic()
        time.sleep(LATE_S)
        seen_s = time.monotonic()
        arrived_s = stamps.arrived_s(reader, seen_s=seen_s)
        assert reader.recv(16) == b"answer"
        if arrived_s != seen_s:
            break
    # The two clocks are compared by reading them one after the other.
    assert before_s - 0.001 <= arrived_s <= after_s + 0.001


def test_without_a_stamp_data_arrived_when_it_was_seen(pair: tuple[socket.socket, socket.socket]) -> None:
    """The kernel stamps nothing that it was not asked to."""
    reader, writer = pair
    stamps = ArrivalStamps([])
    writer.sendall(b"answer")
    assert stamps.arrived_s(reader, seen_s=17.0) == 17.0


def test_nothing_arrives_after_it_was_seen(pair: tuple[socket.socket, socket.socket]) -> None:
    reader, writer = pair
    stamps = ArrivalStamps([reader])
    writer.sendall(b"answer")
    assert stamps.arrived_s(reader, seen_s=1.0) == 1.0
