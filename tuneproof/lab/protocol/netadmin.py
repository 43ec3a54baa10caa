"""What else an agent does in a network namespace: addresses, captures, strangers. See links.py for the rest."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.messages import Done, Question


@dataclass(frozen=True, kw_only=True)
class FixNeighbours(Question[Done]):
    """Set MAC addresses for the role's link, never to be asked for again.

    Attributes:
        neighbours: By IPv4 address.
    """

    neighbours: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class LeadAddresses(Question[Done]):
    """Lead what the role sends to some IPv4 addresses to another one.

    Attributes:
        addresses: The addresses.
        to: The other one.
    """

    addresses: tuple[str, ...]
    to: str


@dataclass(frozen=True, kw_only=True)
class OpenEntries(Question[Done]):
    """Give the role addresses of its own, and lead ports of its link to them.

    Attributes:
        entries: Port of the link, IPv4 address, port there.
    """

    entries: tuple[tuple[int, str, int], ...]


@dataclass(frozen=True, kw_only=True)
class Added:
    """Addresses of the role's link.

    Attributes:
        addresses: Those that are new.
    """

    addresses: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class AddAddresses(Question[Added]):
    """Give the role's link further IPv4 addresses of its subnet.

    Attributes:
        count: How many at the most: a small subnet has fewer.
        used: Addresses that are somebody's.
    """

    count: int
    used: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class StartCapture(Question[Done]):
    """Capture what passes the role's link.

    Attributes:
        filter_: See pcap-filter(7).
        snap_bytes: Length that longer frames are cut to.
    """

    filter_: str
    snap_bytes: int


@dataclass(frozen=True, kw_only=True)
class Captured:
    """A capture, in pcap format.

    Attributes:
        file: Its path in the container.
    """

    file: str


@dataclass(frozen=True, kw_only=True)
class StopCapture(Question[Captured]):
    """End the capture."""


@dataclass(frozen=True, kw_only=True)
class HalfOpened:
    """SYNs that nobody will complete.

    Attributes:
        sent: How many were sent.
        seconds: Time that sending them took.
        sources: The first and the last address that was made up.
    """

    sent: int
    seconds: float
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class LeaveHalfOpen(Question[HalfOpened]):
    """Send SYNs to a server from addresses that no container has.

    Attributes:
        address: The server's IPv4 address, in the lab's network.
        port: Its port.
        count: How many, 1 to 64512.
    """

    address: str
    port: int
    count: int


@dataclass(frozen=True, kw_only=True)
class TalkInStreet(Question[Done]):
    """Be a part of the street around a service; see images/netadmin/netadmin/street.py.

    Attributes:
        part: "machine", "provider" or "strangers"; the same one as before.
        address: IPv4 address that is talked to; empty for nobody.
    """

    part: str
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class Steered:
    """Which CPUs handle what the role's link receives (RPS).

    Attributes:
        rps_cpus: By receive queue, as read back.
    """

    rps_cpus: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class SteerReceive(Question[Steered]):
    """Let some CPUs handle what the role's link receives.

    Attributes:
        cpus: The CPUs; none switches it off.
    """

    cpus: tuple[int, ...]
