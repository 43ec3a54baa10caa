"""What a netadmin container's agent is asked about its role's link. images/netadmin/netadmin/agent.py answers."""

from collections.abc import Mapping
from dataclasses import dataclass

from tuneproof.lab.protocol.messages import Done, Question
from tuneproof.lab.protocol.observer import Snapshot

Impairments = Mapping[str, Mapping[str, float]]
"""What netem does, by direction, ``egress`` and ``ingress``; see images/netadmin/netadmin/netem.py."""


@dataclass(frozen=True, kw_only=True)
class Greeting:
    """What an agent has to say at its start; it prints it, too, and answers with it.

    Attributes:
        snapshot: The network namespace as it was found; None beside a wire.
        ready_s: How long it took to raise the wire; None without one.
        error: Why no wire can be raised; empty if nothing went wrong.
    """

    snapshot: Snapshot | None = None
    ready_s: float | None = None
    error: str = ""


@dataclass(frozen=True, kw_only=True)
class Greet(Question[Greeting]):
    """Say it again: what was printed before somebody listened is not heard."""


@dataclass(frozen=True, kw_only=True)
class Shaped:
    """What a link does.

    Attributes:
        read_back: As the kernel has it.
    """

    read_back: Impairments


@dataclass(frozen=True, kw_only=True)
class Shape(Question[Shaped]):
    """Shape both directions of the role's link.

    Attributes:
        wanted: What it shall do; all zero for nothing.
        per_packet: By direction, whether netem must see single packets. What the role itself sends is seen to here;
            what it receives is up to those who send it.
    """

    wanted: Impairments
    per_packet: Mapping[str, bool]


@dataclass(frozen=True, kw_only=True)
class SwitchSegmentation(Question[Done]):
    """Switch the segmentation offloads of the role's link.

    Attributes:
        on: On or off.
    """

    on: bool


@dataclass(frozen=True, kw_only=True)
class LinkStatus:
    """Whether a link is shaped as it was told.

    Attributes:
        alive: Whether what shapes it lives; the kernel itself does.
    """

    alive: bool


@dataclass(frozen=True, kw_only=True)
class ReadStatus(Question[LinkStatus]):
    """Tell whether the link's shaper is alive."""


@dataclass(frozen=True, kw_only=True)
class Revive(Question[Done]):
    """Raise the wire again; it comes up unshaped."""


@dataclass(frozen=True, kw_only=True)
class Text:
    """Something that was printed.

    Attributes:
        text: It.
    """

    text: str


@dataclass(frozen=True, kw_only=True)
class ReadWireLog(Question[Text]):
    """Tell the end of what the wire's kernel has logged."""


@dataclass(frozen=True, kw_only=True)
class Shapers:
    """Why links cannot be shaped here; empty where they can.

    Attributes:
        native: By the host's kernel.
        wire: By a wire.
    """

    native: str
    wire: str


@dataclass(frozen=True, kw_only=True)
class TryShapers(Question[Shapers]):
    """Try what can shape a link on this host."""


@dataclass(frozen=True, kw_only=True)
class AnswerProbes(Question[Done]):
    """Answer the probes of one leading agent, to their end.

    Attributes:
        port: UDP and TCP port; the next one takes loads.
    """

    port: int


@dataclass(frozen=True, kw_only=True)
class LoadPlan:
    """A load to measure a rate with; see images/netadmin/netadmin/load_path.py.

    Attributes:
        seconds: How long.
        rate_bytes_per_s: How much is sent; for a stream, what may be expected.
        stream: Whether it is a TCP connection, and not datagrams.
    """

    seconds: float
    rate_bytes_per_s: float
    stream: bool


@dataclass(frozen=True, kw_only=True)
class PathSeen:
    """What probes of a path met. Times are in µs.

    Attributes:
        sent: Number of probes.
        late: From when each was planned until the sender ran next.
        there: Number and time of each probe's arrival, in order of arrival.
        back: Number, time one way and time both ways of each returned probe, likewise.
        loads: By direction, for each time that something new of a load had arrived: when, and how many bytes by then.
    """

    sent: int
    late: tuple[int, ...]
    there: tuple[tuple[int, int], ...]
    back: tuple[tuple[int, int, int], ...]
    loads: Mapping[str, tuple[tuple[int, int], ...]]


@dataclass(frozen=True, kw_only=True)
class ProbePath(Question[PathSeen]):
    """Measure the path to an agent that answers.

    Attributes:
        address: IPv4 address of the answering namespace.
        packets: Number of probes, each of which is sent back.
        interval_s: Time between two probes.
        payload_bytes: Size of a probe's UDP payload, 24 or more.
        linger_s: How long stragglers are waited for.
        loads: By direction, ``egress`` and ``ingress``, the load to measure the rate with. A direction that is not
            named is not measured.
        port: Port of the answering agent; the next one takes the loads there.
        own_port: Port that takes the loads here. Default: the same as there.
    """

    address: str
    packets: int
    interval_s: float
    payload_bytes: int
    linger_s: float
    loads: Mapping[str, LoadPlan]
    port: int
    own_port: int | None = None
