"""Runs tshark in a container, and returns its analysis of a capture, frame by frame."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from tuneproof.explain.parse.capture.decode import ACK, RST, SYN
from tuneproof.explain.parse.capture.records import Endpoint
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.roles import Role, RoleSpec

NAME: Final = "tshark"
_FOLDER: Final = "/tmp/captures"  # noqa: S108  # inside a container without other users
# https://www.wireshark.org/docs/dfref/t/tcp.html
_KINDS: Final = (
    "retransmission",
    "fast_retransmission",
    "spurious_retransmission",
    "out_of_order",
    "duplicate_ack",
    "zero_window",
    "zero_window_probe",
    "keep_alive",
)
_FIELDS: Final = (
    "frame.number",
    "frame.time_epoch",
    "tcp.stream",
    "ip.src",
    "ipv6.src",
    "tcp.srcport",
    "ip.dst",
    "ipv6.dst",
    "tcp.dstport",
    "tcp.flags",
    "tcp.seq_raw",
    "tcp.ack_raw",
    "tcp.len",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.duplicate_ack_num",
    *(f"tcp.analysis.{kind}" for kind in _KINDS),
)


# https://www.wireshark.org/docs/dfref/q/quic.html
_QUIC_FIELDS: Final = ("quic.connection.number", "udp.srcport", "udp.dstport", "quic.version", "quic.long.packet_type")
_QUIC_RETRY: Final = 3  # in version 1


@dataclass(frozen=True, kw_only=True)
class QuicFrame:
    """The first packet of a QUIC datagram, according to tshark."""

    connection: int  # number of its connection
    ports: frozenset[int]  # UDP ports of both ends
    negotiates: bool  # whether it is a Version Negotiation
    retries: bool  # whether it is a Retry


@dataclass(frozen=True, kw_only=True)
class Frame:
    """One TCP segment, according to tshark."""

    number: int  # position in the capture, from 1
    time_ns: int  # capture time since the epoch
    stream: int  # number of its connection
    source: Endpoint
    destination: Endpoint
    flags: int  # flags of its TCP header
    seq: int  # sequence number
    ack: int  # acknowledged sequence number
    payload_bytes: int
    kinds: frozenset[str]  # names of its tcp.analysis fields
    initial_rtt_s: float | None  # duration of the connection's handshake; None before its end, or without one
    duplicate: int  # number of this repetition of an acknowledgement, from 1; 0 for none

    @property
    def is_syn(self) -> bool:
        return self.flags & (SYN | ACK) == SYN

    @property
    def is_syn_ack(self) -> bool:
        return self.flags & (SYN | ACK) == SYN | ACK

    @property
    def is_reset(self) -> bool:
        return bool(self.flags & RST)


def tshark_spec(image: str, captures: Mapping[str, bytes]) -> RoleSpec:
    return RoleSpec(
        name=NAME,
        role=Role.CLIENT,
        image=image,
        files={f"{_FOLDER}/{name}": content for name, content in captures.items()},
    )


def frames(container: LabContainer, capture: str) -> list[Frame]:
    """Return the TCP segments of a capture in the container."""
    fields = [word for field in _FIELDS for word in ("-e", field)]
    # For a file that ends inside a packet, tshark prints the other packets, and ends with status 2. The first of two
    # addresses is the outer one; ICMP errors, which quote a TCP header, are left out.
    options = ["-Y", "tcp && !icmp && !icmpv6", "-T", "fields", "-E", "occurrence=f", *fields]
    command = 'tshark -r "$0" "$@" || test $? = 2'
    listing = container.run(["sh", "-c", command, f"{_FOLDER}/{capture}", *options]).decode()
    return [_frame(line.split("\t")) for line in listing.splitlines()]


def quic_frames(container: LabContainer, capture: str, *, ports: Iterable[int]) -> list[QuicFrame]:
    """Return the QUIC datagrams of a capture; tshark decodes these UDP ports as QUIC."""
    options = [word for port in ports for word in ("-d", f"udp.port=={port},quic")]
    options += ["-Y", "quic", "-T", "fields", "-E", "occurrence=f"]
    options += [word for field in _QUIC_FIELDS for word in ("-e", field)]
    listing = container.run(["tshark", "-r", f"{_FOLDER}/{capture}", *options]).decode()
    found = []
    for line in listing.splitlines():
        connection, source, destination, version, kind = line.split("\t")
        found.append(
            QuicFrame(
                connection=int(connection),
                ports=frozenset((int(source), int(destination))),
                negotiates=bool(version) and not int(version, 16),
                retries=bool(kind) and int(kind) == _QUIC_RETRY,
            )
        )
    return found


def by_stream(all_frames: Sequence[Frame]) -> Iterator[list[Frame]]:
    """Yield the frames of each connection, in the order in which the connections began."""
    streams: dict[int, list[Frame]] = {}
    for frame in all_frames:
        streams.setdefault(frame.stream, []).append(frame)
    yield from streams.values()


def _frame(row: Sequence[str]) -> Frame:
    number, time_s, stream, ip_source, ipv6_source, source, ip_destination, ipv6_destination, destination, *rest = row
    flags, seq, ack, payload_bytes, initial_rtt, duplicate, *kinds = rest
    return Frame(
        number=int(number),
        time_ns=round(Decimal(time_s) * 10**9),
        stream=int(stream),
        source=Endpoint(address=ip_source or ipv6_source, port=int(source)),
        destination=Endpoint(address=ip_destination or ipv6_destination, port=int(destination)),
        flags=int(flags, 16),
        seq=int(seq),
        ack=int(ack),
        payload_bytes=int(payload_bytes),
        kinds=frozenset(kind for kind, value in zip(_KINDS, kinds, strict=True) if value),
        initial_rtt_s=float(initial_rtt) if initial_rtt else None,
        duplicate=int(duplicate or 0),
    )
