"""A backend that answers as a trial defines, and reports what arrived; images/backend/scripted implements it."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

BROKEN_PORT: Final = 8100
"""Here each connection gets the response of :meth:`Scripted.fault`, whatever the request is."""
SILENT_PORT: Final = 8101  # requests get no answer
FULL_PORT: Final = 8102  # the accept queue is full: SYNs get no answer
DNS_ERROR_PORTS: Final = MappingProxyType({2: 8202, 3: 8203, 4: 8204, 5: 8205})
"""UDP ports where DNS queries get an error (RFC 1035, section 4.1.1), by its code."""


class Then(enum.StrEnum):
    """A broken server's action on a connection after its response."""

    CLOSES = "closes"
    RESETS = "resets"
    STAYS = "stays"  # until the peer closes it


@dataclass(frozen=True, kw_only=True)
class Reply:
    """The answer to requests for a path. Connections stay open as in RFC 9112, section 9.3."""

    path: str = "/"  # the start of such requests' targets; the first matching reply is used
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str = ""
    streams: bool = False
    """Whether :meth:`Scripted.send` continues the body: in chunks for HTTP/1.1, until the connection's end for 1.0."""
    beat: str = ""  # what the backend sends on a stream unasked, ten times a second
    answers: int = 0
    """How many requests of a connection are answered: the next one ends the connection when it arrives. 0 for all."""
    resets: bool = False  # whether that end is a reset (RST) instead of a FIN
    reads_body: bool = True  # whether it comes only after that request's body, and not already after its headers


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The counts of a backend since its replies were set."""

    connections: int  # accepted
    open_connections: int  # now
    open_streams: int  # now
    unacknowledged_bytes: int  # written data that the peer's kernel has not received yet
    requests: tuple[str, ...]
    """First lines of complete requests, such as "GET /events HTTP/1.1", in order of arrival."""
    names: tuple[str, ...] = ()  # looked up for an IPv4 address, in order
    longest_pause_s: float = 0.0  # between two beats of a stream


class Scripted(Protocol):
    """``python3 -m scripted``."""

    def play(self, replies: tuple[Reply, ...]) -> None:
        """Reset all connections and counts, and use these replies from now on."""

    def send(self, text: str, times: int, path: str = "/") -> int:
        """Write a text this many times to each open stream with a target that begins with ``path``.

        Return how many streams these are, once the kernel has the data.
        """

    def end_streams(self) -> None:
        """End the body of each open stream cleanly."""

    def end_connections(self, resets: bool) -> int:  # noqa: FBT001 - arguments travel by name
        """End all open connections, by a reset or a FIN; return how many there were."""

    def name(self, addresses: Mapping[str, str], ttl_s: int) -> None:
        """From now on, answer on UDP port 53 that these names, and all below them, have these IPv4 addresses.

        Other names keep their usual addresses.
        """

    def fault(self, says: str, then: Then) -> None:
        """From now on, answer each connection to BROKEN_PORT with this text (Latin-1)."""

    def seen(self) -> Seen:
        """Return the counts since the replies were set."""
