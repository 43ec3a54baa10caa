"""Data that a backend has written, but that the peer's kernel has not received yet."""

import asyncio
import fcntl
import sys
import termios


def unacknowledged_bytes(writer: asyncio.StreamWriter) -> int:
    """Return how many bytes are left in a connection's buffer and its send queue (SIOCOUTQ, tcp(7)).

    For a unix socket, it is the kernel memory of the data that the peer has not read. 0 if the connection has ended.
    """
    if (socket := writer.get_extra_info("socket")).fileno() < 0:
        return 0
    held = fcntl.ioctl(socket, termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(held, sys.byteorder) + writer.transport.get_write_buffer_size()
