"""Requests that are looked at one by one, as typed values; the client's side: images/client/loadgen/exchanges.py."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Self


@dataclass(frozen=True, kw_only=True)
class Flow:
    """Connections that do the same, at once.

    Attributes:
        connections: How many.
        at_once: How many of them may be open at a time; 0 for all.
        requests: How many on each, one after the other.
        path: What is asked for; {c} stands for the connection's number, {n} for the request's.
        method: The request's method.
        headers: Further headers.
        body_bytes: Length of the request's body.
        wait_s: How long each connection waits before it is made.
        close: Whether the last request of a connection asks for its end.
        head_bytes: How much of the first request's head is sent, and nothing more; 0 for all of it.
        hold_s: How long a connection stays open after its last answer, unless the server ends it.
        read_bytes_per_s: How fast answers are read; 0 for at once.
        receive_buffer_bytes: SO_RCVBUF (socket(7)) of each connection; 0 for the kernel's own.
        linger_s: How long its socket is kept after all that, even if the server has ended the connection.
        fast_open: Whether requests may travel in the SYN (RFC 7413), as soon as the server has given a cookie.
        tls: Whether the connections are TLS; certificates are not checked.
        timeout_s: The longest that a connection may take.
    """

    connections: int = 1
    at_once: int = 0
    requests: int = 1
    path: str = "/"
    method: str = "GET"
    headers: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    body_bytes: int = 0
    wait_s: float = 0.0
    close: bool = False
    head_bytes: int = 0
    hold_s: float = 0.0
    read_bytes_per_s: int = 0
    receive_buffer_bytes: int = 0
    linger_s: float = 0.0
    fast_open: bool = False
    tls: bool = False
    timeout_s: float = 30.0

    def to_json(self) -> dict[str, Any]:
        """Return the fields as an object for JSON."""
        return {**{name: getattr(self, name) for name in self.__dataclass_fields__}, "headers": dict(self.headers)}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer, as far as it came.

    Attributes:
        status: Its status; 0 for none.
        worker: Process id of the worker that answered, from X-Worker; 0 where that is not said.
        numbered: A stand-in's own number of the answer, "<connection>.<answer on it, from 1>", from X-Tuneproof-Answer;
            empty where none has answered.
        body_bytes: Bytes of its body that came.
        complete: Whether all of it came.
        first_byte_s: Time from the request until its head was there.
        total_s: Time until its end.
    """

    status: int
    worker: int
    numbered: str
    body_bytes: int
    complete: bool
    first_byte_s: float
    total_s: float


@dataclass(frozen=True, kw_only=True)
class Connection:
    """What became of one connection.

    Attributes:
        answers: In the order of the requests.
        error: What ended it early, as Python calls it, such as ConnectionResetError; TIMEOUT; empty for nothing.
        closed_by_server: Whether the server ended it, in order or by a reset.
        open_s: How long it was there.
    """

    answers: tuple[Answer, ...]
    error: str
    closed_by_server: bool
    open_s: float

    @classmethod
    def from_json(cls, raw: Mapping[str, Any]) -> Self:
        """Build from what the client told."""
        return cls(**{**raw, "answers": tuple(Answer(**answer) for answer in raw["answers"])})


@dataclass(frozen=True, kw_only=True)
class TlsConnection:
    """What a TLS connection with one request took; the client's side: images/client/loadgen/tls.py.

    Attributes:
        hellos: ClientHellos that were sent: a second one answers a HelloRetryRequest (RFC 8446, section 4.1.4).
        records: Records that were received after the handshake.
        largest_record_bytes: Length of the longest of them.
        body_bytes: What the answer had, with its head.
        resumed: Whether an earlier connection's session was gone on with.
    """

    hellos: int
    records: int
    largest_record_bytes: int
    body_bytes: int
    resumed: bool


def answers_of(connections: Iterable[Connection]) -> Iterator[Answer]:
    """Return the answers of all connections."""
    for connection in connections:
        yield from connection.answers


def statuses(connections: Iterable[Connection], status: int) -> int:
    """Count the answers with a status; 0 for requests without an answer."""
    return sum(answer.status == status for answer in answers_of(connections))
