"""The start of a connection to a server that expects a load balancer in front of it."""

import socket


def header(connection: socket.socket) -> bytes:
    """Return the PROXY protocol's line with the addresses and ports of this IPv4 connection itself.

    https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt, section 2.1.
    """
    (client, client_port), (server, server_port) = connection.getsockname(), connection.getpeername()
    return f"PROXY TCP4 {client} {server} {client_port} {server_port}\r\n".encode()
