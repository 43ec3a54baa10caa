"""What the agent of a netadmin container tells of its role's link; netadmin.py says what it can do."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.observer import Snapshot

Impairments = Mapping[str, Mapping[str, float]]
"""What netem does, by direction, ``egress`` and ``ingress``; see images/netadmin/netadmin/netem.py."""


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """What an agent has to say at its start; it prints it, too, and answers with it."""

    snapshot: Snapshot | None = None  # the network namespace as it was found; None beside a wire
    ready_s: float | None = None  # how long it took to raise the wire; None without one
    error: str = ""  # why no wire can be raised


@dataclass(frozen=True, kw_only=True)
class Shapers:
    """Why links cannot be shaped here, by the host's kernel and by a wire; empty where they can."""

    native: str
    wire: str


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    """A load to measure a rate with; see images/netadmin/netadmin/load_path.py."""

    seconds: float
    rate_bytes_per_s: float  # how much is sent; for a stream, what may be expected
    stream: bool  # a TCP connection, and not datagrams


@dataclass(frozen=True, kw_only=True)
class PathSeen:
    """What probes of a path met. Times are in µs."""

    sent: int
    late: tuple[int, ...]  # from when each was planned until the sender ran next
    there: tuple[tuple[int, int], ...]  # number and time of each probe's arrival, in order of arrival
    back: tuple[tuple[int, int, int], ...]  # number, time one way and time both ways of each that returned, likewise
    loads: Mapping[str, tuple[tuple[int, int], ...]]
    """By direction, for each time that something new of a load had arrived: when, and how many bytes by then."""


@dataclass(frozen=True, kw_only=True)
class ProbePath:
    """How the path to an agent that answers is measured."""

    address: str  # IPv4 address of the answering namespace
    packets: int  # number of probes, each of which is sent back
    interval_s: float
    payload_bytes: int  # of a probe's UDP payload, 24 or more
    linger_s: float  # how long stragglers are waited for
    loads: Mapping[str, LoadPlan]
    """By direction, ``egress`` and ``ingress``, what its rate is measured with; a direction without is not measured."""
    port: int  # of the answering agent; the next one takes the loads there
    own_port: int | None = None  # takes the loads here (default: the same as there)
