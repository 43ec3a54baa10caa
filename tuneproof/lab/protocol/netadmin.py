"""What the agent of a netadmin container can do. images/netadmin/netadmin/agent.py does it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from tuneproof.lab.protocol.links import (
    Greeting,
    Impairments,
    PathSeen,
    ProbePath,
    Shapers,
)


@dataclass(frozen=True, kw_only=True)
class HalfOpened:
    """SYNs that nobody will complete."""

    sent: int
    seconds: float  # time that sending them took
    sources: tuple[str, ...]  # the first and the last address that was made up


class Agent(Protocol):
    """``python3 -m netadmin``, in the network namespace of a role."""

    def greet(self) -> Greeting:
        """Say the greeting again: what was printed before somebody listened is not heard."""

    def shape(self, wanted: Impairments, per_packet: Mapping[str, bool]) -> Impairments:
        """Shape both directions of the role's link, all zero for nothing; return what the kernel has then.

        ``per_packet`` says by direction whether netem must see single packets. What the role itself sends is seen to
        here; what it receives is up to those who send it.
        """

    def switch_segmentation(self, on: bool) -> None:  # noqa: FBT001 - arguments travel by name
        """Switch the segmentation offloads of the role's link."""

    def status(self) -> bool:
        """Tell whether the link's shaper is alive; the kernel itself is."""

    def revive(self) -> None:
        """Raise the wire again; it comes up unshaped."""

    def wire_log(self) -> str:
        """Return the end of what the wire's kernel has logged."""

    def shapers(self) -> Shapers:
        """Try what can shape a link on this host."""

    def answer_probes(self, port: int) -> None:
        """Answer the probes of one leading agent, to their end, on a UDP and TCP port; the next one takes loads."""

    def probe_path(self, asked: ProbePath) -> PathSeen:
        """Measure the path to an agent that answers."""

    def fix_neighbours(self, neighbours: Mapping[str, str]) -> None:
        """Set MAC addresses, by IPv4 address, for the role's link, never to be asked for again."""

    def lead_addresses(self, addresses: tuple[str, ...], to: str) -> None:
        """Lead what the role sends to some addresses to another one; of IPv6, to the role itself."""

    def open_entries(self, entries: tuple[tuple[int, str, int], ...]) -> None:
        """Give the role addresses of its own, and lead ports of its link to them: port, IPv4 address, port there."""

    def add_addresses(self, count: int, used: tuple[str, ...]) -> tuple[str, ...]:
        """Give the role's link further IPv4 addresses of its subnet that nobody has used; return them.

        There are ``count`` of them, or as many as a small subnet has.
        """

    def start_capture(self, filter_: str, snap_bytes: int = 192) -> None:
        """Capture what passes the role's link (pcap-filter(7)), longer frames cut to ``snap_bytes``.

        Where the host's kernel shapes it, only what arrives, as the role gets it.
        """

    def stop_capture(self) -> str:
        """End the capture; return the path of its file in the container, in pcapng format."""

    def half_open(self, address: str, port: int, count: int) -> HalfOpened:
        """Send SYNs, 1 to 64512, to a server in the lab's network from addresses that no container has."""

    def street(self, part: str, address: str = "") -> None:
        """Be a part of the street around a service, and talk to an IPv4 address, or to nobody; see street.py there.

        The part is "machine", "provider" or "strangers"; the same one as before.
        """

    def steer_receive(self, cpus: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
        """Let some CPUs handle what the role's link receives (RPS); none switches it off.

        Returned is what was read back, by receive queue.
        """
