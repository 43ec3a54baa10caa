"""A backend that answers as a trial tells it, and tells what it has seen. images/backend/scripted does it."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol

BROKEN_PORT: Final = 8100
"""Here each connection is answered as :meth:`Scripted.fault` says, whatever it asks."""
SILENT_PORT: Final = 8101  # what comes is neither read nor answered
FULL_PORT: Final = 8102  # the accept queue is full: SYNs get no answer
DNS_ERROR_PORTS: Final = MappingProxyType({2: 8202, 3: 8203, 4: 8204, 5: 8205})
"""UDP ports where questions about names are answered by an error (RFC 1035, section 4.1.1), by its code."""


class Then(enum.StrEnum):
    """What a broken server does with a connection after its answer."""

    CLOSES = "closes"
    RESETS = "resets"
    STAYS = "stays"  # up to the other side's end


@dataclass(frozen=True, kw_only=True)
class Reply:
    """How requests for a path are answered.

    Connections stay as RFC 9112, section 9.3 says.
    """

    path: str = "/"  # the target of such requests begins so; the first reply that fits is given
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body: str = ""
    streams: bool = False
    """Whether the body goes on by :meth:`Scripted.send`: in chunks to HTTP/1.1, up to the connection's end to 1.0."""
    beat: str = ""  # what a stream gets by itself, ten times a second
    answers: int = 0
    """How many requests of a connection are answered: the next one, once it is here, ends the connection. 0 for all."""
    resets: bool = False  # whether it is ended by a reset (RST), and not in order (FIN)
    reads_body: bool = True  # whether that request's body is waited for, and not its head alone


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What a backend has seen since it was told how to answer."""

    connections: int  # accepted
    open_connections: int  # now
    left_connections: int  # ended by the other side, in order or by a reset
    open_streams: int  # now
    unacknowledged_bytes: int  # what the other side's kernel has not got yet of what was written
    requests: tuple[str, ...]
    """First lines of those that came whole, such as "GET /events HTTP/1.1", in the order in which they came."""
    names: tuple[str, ...] = ()  # whose IPv4 addresses were asked for, likewise
    longest_pause_s: float = 0.0  # between two beats of a stream


class Scripted(Protocol):
    """``python3 -m scripted``."""

    def play(self, replies: tuple[Reply, ...]) -> None:
        """Reset all connections, forget what was seen, and answer so from now on."""

    def send(self, text: str, times: int, path: str = "/") -> int:
        """Write a text so many times to each open stream whose target begins so.

        Return how many streams these are, once the kernel has it.
        """

    def end_streams(self) -> None:
        """End the body of each open stream in order."""

    def end_connections(self, resets: bool) -> int:  # noqa: FBT001 - the call travels by its names
        """End all open connections, by a reset or in order; return how many there were."""

    def name(self, addresses: Mapping[str, str], ttl_s: int) -> None:
        """Answer from now on, on UDP port 53, that names, and all below them, have these IPv4 addresses.

        Others have their usual ones.
        """

    def fault(self, says: str, then: str) -> None:
        """Answer each connection to BROKEN_PORT by this text (Latin-1) from now on; ``then`` is a :class:`Then`."""

    def seen(self) -> Seen:
        """Tell what was seen."""
