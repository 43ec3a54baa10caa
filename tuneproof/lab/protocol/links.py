"""The values that a netadmin container's agent takes and returns; netadmin.py lists its functions."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.observer import Snapshot

Impairments = Mapping[str, Mapping[str, float]]
"""What netem does, by direction, ``egress`` and ``ingress``; see images/netadmin/netadmin/netem.py."""


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """The report of an agent at its start: it prints this, and also returns it on request."""

    snapshot: Snapshot | None = None  # the network namespace as it was found; None with a wire
    ready_s: float | None = None  # how long starting the wire took; None without one
    error: str = ""  # why no wire can be started


@dataclass(frozen=True, kw_only=True)
class Shapers:
    """Why links cannot be shaped here, by the host's kernel and by a wire; empty if they can."""

    native: str
    wire: str


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    """A load for measuring a rate; see images/netadmin/netadmin/load_path.py."""

    seconds: float
    rate_bytes_per_s: float  # the link's: datagrams are sent faster, to fill its queue; a stream finds its own rate
    stream: bool  # a TCP connection instead of datagrams


@dataclass(frozen=True, kw_only=True)
class PathSeen:
    """The results of probes on a path. Times are in µs."""

    sent: int
    late: tuple[int, ...]  # for each probe, how long after its scheduled time the sender ran
    there: tuple[tuple[int, int], ...]  # number and one-way time of each probe that arrived, in order of arrival
    back: tuple[tuple[int, int, int], ...]  # number, one-way time and round-trip time of each that returned, in order
    loads: Mapping[str, tuple[tuple[int, int], ...]]
    """By direction, for each arrival of a load's data: the time, and the number of bytes so far."""


@dataclass(frozen=True, kw_only=True)
class ProbePath:
    """How the path to an answering agent is measured."""

    address: str  # IPv4 address of the answering namespace
    packets: int  # number of probes, each of which is sent back
    interval_s: float
    payload_bytes: int  # a probe's UDP payload, at least 24
    linger_s: float  # how long to wait for stragglers
    loads: Mapping[str, LoadPlan]
    """By direction, ``egress`` and ``ingress``, the load that measures its rate; a direction without one is not
    measured."""
    port: int  # the answering agent's port; it receives the loads on the next one
    own_port: int | None = None  # receives the loads here (default: the same as there)
