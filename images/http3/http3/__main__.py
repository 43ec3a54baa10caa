"""``python3 -m http3`` runs the lab's HTTP/3 and TLS clients, as tuneproof/lab/protocol/http3.py describes."""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from aioquic.tls import SessionTicket

from tuneproof.lab.protocol import http3 as protocol
from tuneproof.lab.protocol.serving import Answers, CannotDoError

from . import tls
from .clients import Client, run

_TIMEOUT_S: Final = 30.0
# A server that stops sending waits for the client; nginx sends its first probe after a second (RFC 9002, section
# 6.2.2).
_QUIET_S: Final = 0.2
_TIMES_AS_LONG: Final = 4
_LEAST_S: Final = 1.0
_REPLAYS: Final = 20
_PADDED_BYTES: Final = 1200  # datagrams that start a handshake are at least this long (RFC 9000, section 14.1)


class Http3(protocol.Http3):
    """The clients."""

    def __init__(self) -> None:
        self._begun: list[Client] = []
        self._long_enough_s = 0.0

    def flow(self, address: str, port: int, flow: protocol.Http3Flow) -> tuple[protocol.Http3Connection, ...]:
        """Run a flow."""
        clients = _connected((address, port), flow.connections)
        for number in range(1 if flow.at_once else flow.requests):
            live = [client for client in clients if not client.end]
            for client in live:
                if flow.new_port and number == 1:
                    client.change_port()
                for _ in range(flow.requests if flow.at_once else 1):
                    client.ask(flow.path)
            run(live, lambda client: client.is_done, timeout_s=_TIMEOUT_S)
        return _ended(clients)

    def begin(self, address: str, port: int, path: str, connections: int) -> None:
        """Start downloads."""
        began_s = time.monotonic()
        (alone,) = _connected((address, port), 1)
        alone.ask(path)
        run([alone], lambda client: client.is_done, timeout_s=_TIMEOUT_S)
        self._long_enough_s = max(_LEAST_S, _TIMES_AS_LONG * connections * (time.monotonic() - began_s))
        clients = _connected((address, port), connections)
        for client in clients:
            client.ask(path)
        run(clients, lambda client: client.body_bytes > 0, timeout_s=_TIMEOUT_S)
        if any(client.end for client in [alone, *clients]):
            raise CannotDoError("not all downloads began")
        alone.close()
        self._begun = clients

    def go_on(self) -> tuple[protocol.Http3Connection, ...]:
        """Continue to read."""
        clients, self._begun = self._begun, []
        run(clients, lambda client: client.is_done, timeout_s=self._long_enough_s, late=protocol.STALLED)
        return _ended(clients)

    def round_trips(self, address: str, port: int, path: str) -> protocol.Http3Connection:
        """Count round trips."""
        return _in_flights(Client((address, port)), path)

    def resumed_round_trips(self, address: str, port: int, path: str) -> protocol.Http3Connection:
        """Count round trips of a resumed session."""
        return _in_flights(Client((address, port), ticket=_session((address, port))), path)

    def forged(self, address: str, port: int, count: int, seconds: float) -> tuple[protocol.Http3Connection, ...]:
        """Send only the first datagrams of handshakes."""
        clients = [Client((address, port)) for _ in range(count)]
        for client in clients:
            client.connect()
            client.send()
        until_s = time.monotonic() + seconds
        while time.monotonic() < until_s:
            for client in clients:
                client.count()
            time.sleep(_QUIET_S / 2)
        return _ended(clients, closes=False)

    def replay(self, address: str, port: int, path: str, method: str) -> protocol.Http3Connection:
        """Send 0-RTT packets again."""
        server = (address, port)
        client = Client(server, ticket=_session(server))
        client.connect()
        client.ask(path, method=method)
        flight = client.flight()
        client.send(flight)
        run([client], lambda client: client.is_done, timeout_s=_TIMEOUT_S)
        (ended,) = _ended([client])
        # While nginx remembers the closed connection, it takes the replayed packets for packets on it.
        for _ in range(_REPLAYS):
            again = Client(server)
            again.send(flight)
            time.sleep(_QUIET_S)
            is_answered = again.count() >= _PADDED_BYTES
            again.socket.close()
            if is_answered:
                return ended
        raise CannotDoError(f"the server answered none of {_REPLAYS} replays")

    def curl(self, address: str, port: int, path: str, times: int) -> tuple[str, ...]:
        """Send a request with curl."""
        with tempfile.TemporaryDirectory() as folder:
            cache = Path(folder) / "alt-svc"
            command = ["curl", "-sk", "--alt-svc", str(cache), "--resolve", f"lab:{port}:{address}", "--max-time", "10"]
            command += ["-o", "/dev/null", "-w", "%{http_version}", f"https://lab:{port}{path}"]
            return tuple(
                subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(times)
            )

    def tls(self, address: str, port: int, asked: protocol.TlsRequest) -> protocol.TlsSeen:
        """Send a request over TLS; see tls.py."""
        return tls.ask((address, port), asked)


def _connected(server: tuple[str, int], count: int) -> list[Client]:
    clients = [Client(server) for _ in range(count)]
    for client in clients:
        client.connect()
    run(clients, lambda client: client.is_up, timeout_s=_TIMEOUT_S)
    return clients


def _session(server: tuple[str, int]) -> SessionTicket:
    """Make a connection, and return the session that the server offers (CannotDoError: there is none)."""
    (client,) = _connected(server, 1)
    run([client], lambda client: bool(client.tickets), timeout_s=_TIMEOUT_S)
    client.close()
    if not client.tickets:
        raise CannotDoError("the server gave no session")
    return client.tickets[0]


def _in_flights(client: Client, path: str) -> protocol.Http3Connection:
    """Send what is due, then process what arrives, until the request is answered; the client's timers do not run."""
    client.connect()
    is_asked = client.may_ask_early
    if is_asked:
        client.ask(path)
    trips = 0
    while not (is_asked and client.is_done):
        if client.is_up and not is_asked:
            client.ask(path)
            is_asked = True
        client.send()
        trips += 1
        if not _process_datagrams(client):
            raise CannotDoError(f"nothing came after {trips} flights")
    return _ended([client], round_trips=trips)[0]


def _process_datagrams(client: Client) -> bool:
    """Process the server's datagrams until it waits; return whether there were any."""
    until_s, received = time.monotonic() + _TIMEOUT_S, 0
    while time.monotonic() < until_s:
        received += (now := client.receive())
        if client.end:
            raise CannotDoError(f"the connection ended: {client.end}")
        if now:
            until_s = time.monotonic() + _QUIET_S
        time.sleep(_QUIET_S / 20)
    return received > 0


def _ended(
    clients: Iterable[Client], *, closes: bool = True, round_trips: int = 0
) -> tuple[protocol.Http3Connection, ...]:
    """Return the results of clients; close their connections (unless ``closes`` is false) and their sockets."""
    found = []
    for client in clients:
        found.append(client.result(round_trips))
        if closes and not client.end:
            client.close()
        client.socket.close()
    return tuple(found)


if __name__ == "__main__":
    Answers(protocol.Http3, Http3()).serve(sys.stdin, sys.stdout)
