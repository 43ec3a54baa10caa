"""What a connection begins with where the server expects a load balancer in front of it."""

import socket


def header(connection: socket.socket) -> bytes:
    """Return the PROXY protocol's line of a connection over IPv4: its own addresses are the client's.

    https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt, section 2.1.
    """
    (client, client_port), (server, server_port) = connection.getsockname(), connection.getpeername()
    return f"PROXY TCP4 {client} {server} {client_port} {server_port}\r\n".encode()
