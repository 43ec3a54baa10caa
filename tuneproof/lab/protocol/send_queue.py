"""What a backend has written, and the other side's kernel has not got yet."""

import asyncio
import fcntl
import sys
import termios


def unacknowledged_bytes(writer: asyncio.StreamWriter) -> int:
    """Return what is left in a connection's buffer and its send queue (SIOCOUTQ, tcp(7)).

    Of a unix socket it is what the other side has not read. Nothing is left of a connection that has just gone.
    """
    if (socket := writer.get_extra_info("socket")).fileno() < 0:
        return 0
    held = fcntl.ioctl(socket, termios.TIOCOUTQ, bytes(4))
    return int.from_bytes(held, sys.byteorder) + writer.transport.get_write_buffer_size()
