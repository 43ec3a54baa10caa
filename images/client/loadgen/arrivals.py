"""When a connection's data arrived according to the kernel, rather than when this process read it.

The kernel stamps packets with CLOCK_REALTIME (SO_TIMESTAMPNS, socket(7)); everything else here is CLOCK_MONOTONIC.
"""

import socket
import struct
import time
from collections.abc import Iterable

# Python's socket module lacks this name, and so do some C libraries; see include/uapi/asm-generic/socket.h.
_SO_TIMESTAMPNS = 35
_TIMESPEC = struct.Struct("@qq")
_TRIES = 5


class ArrivalStamps:
    """Enables timestamps on some connections."""

    def __init__(self, connections: Iterable[socket.socket]) -> None:
        for connection in connections:
            connection.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
        self._offset_s = _realtime_minus_monotonic_s()

    def arrived_s(self, connection: socket.socket, *, seen_s: float) -> float:
        """Return when the data that can be read now arrived, without reading it.

        seen_s: when the data was found (CLOCK_MONOTONIC seconds). The result is never later; it is equal if there
            is no timestamp.
        """
        _, ancillary, _, _ = connection.recvmsg(1, socket.CMSG_SPACE(_TIMESPEC.size), socket.MSG_PEEK)
        for level, kind, data in ancillary:
            if level == socket.SOL_SOCKET and kind == _SO_TIMESTAMPNS:
                whole_s, part_ns = _TIMESPEC.unpack(data)
                return min(float(whole_s + part_ns / 1e9) - self._offset_s, seen_s)
        return seen_s


def _realtime_minus_monotonic_s() -> float:
    """Return the difference of the two clocks, from the quickest of several readings of both."""
    best_s, offset_s = float("inf"), 0.0
    for _ in range(_TRIES):
        before_s = time.monotonic()
        real_s = time.time()
        after_s = time.monotonic()
        if after_s - before_s < best_s:
            best_s, offset_s = after_s - before_s, real_s - (before_s + after_s) / 2
    return offset_s
