"""The kernel's arrival timestamps: a client's own delay in reading must not count as the sender's."""

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
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one = socket.create_connection(listener.getsockname())
        other, _ = listener.accept()
    with closing(one), closing(other):
        yield one, other


def test_data_that_waited_keeps_its_arrival_time(pair: tuple[socket.socket, socket.socket]) -> None:
    """The data is examined long after its arrival, and can still be read afterwards.

    Only stamped data is checked: a work queue of the kernel switches stamping on (net_enable_timestamp()), so data that
    arrives right after the first socket's request may lack a stamp.
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


@pytest.mark.parametrize("is_stamped", [False, True])
def test_data_without_a_stamp_or_with_a_later_one_arrived_when_it_was_seen(
    pair: tuple[socket.socket, socket.socket], *, is_stamped: bool
) -> None:
    """The kernel stamps data only on request. Data cannot arrive after it was seen."""
    reader, writer = pair
    stamps = ArrivalStamps([reader] if is_stamped else [])
    writer.sendall(b"answer")
    assert stamps.arrived_s(reader, seen_s=1.0) == 1.0
