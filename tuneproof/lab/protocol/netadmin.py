"""The functions of the agent in a netadmin container; images/netadmin/netadmin/agent.py implements them."""

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
    """SYNs without a completed handshake."""

    sent: int
    seconds: float  # how long sending them took


class Agent(Protocol):
    """``python3 -m netadmin``, in the network namespace of a role."""

    def greet(self) -> Greeting:
        """Return the greeting again: output from before the lab listened may be lost."""

    def shape(self, wanted: Impairments, per_packet: Mapping[str, bool]) -> Impairments:
        """Shape both directions of the role's link (all zeros: none); return the kernel's resulting settings.

        ``per_packet``: by direction, whether netem must see single packets. The agent ensures this for packets that the
        role sends; for those that it receives, the senders must.
        """

    def switch_segmentation(self, on: bool) -> None:  # noqa: FBT001 - arguments travel by name
        """Switch the segmentation offloads of the role's link."""

    def status(self) -> bool:
        """Return whether the link's shaper is alive; the kernel itself always is."""

    def revive(self) -> None:
        """Start the wire again; it starts without shaping."""

    def wire_log(self) -> str:
        """Return the end of the log of the wire's kernel."""

    def shapers(self) -> Shapers:
        """Return why links cannot be shaped on this host, by its kernel and by a wire."""

    def answer_probes(self, port: int) -> None:
        """Answer one agent's probes on this UDP and TCP port until it disconnects; the next port receives loads."""

    def probe_path(self, asked: ProbePath) -> PathSeen:
        """Measure the path to an answering agent."""

    def fix_neighbours(self, neighbours: Mapping[str, str]) -> None:
        """Set MAC addresses, by IPv4 address, for the role's link permanently, so that ARP never asks for them."""

    def lead_addresses(self, addresses: tuple[str, ...], to: str) -> None:
        """Redirect the role's traffic for these addresses to the address ``to``; IPv6 goes to the role itself."""

    def open_entries(self, entries: tuple[tuple[int, str, int], ...]) -> None:
        """Give the role addresses and redirect ports to them; an entry is a port, and its target's address and port."""

    def add_addresses(self, count: int, used: tuple[str, ...]) -> tuple[str, ...]:
        """Give the role's link further unused IPv4 addresses of its subnet; return them.

        There are ``count`` of them, or fewer if the subnet has no more.
        """

    def start_capture(self, filter_: str, snap_bytes: int = 192) -> None:
        """Capture the traffic on the role's link (pcap-filter(7)); longer frames are truncated to ``snap_bytes``.

        If the host's kernel shapes the link, only incoming packets are captured, as the role gets them.
        """

    def stop_capture(self) -> str:
        """End the capture; return the path of its file in the container, in pcapng format."""

    def half_open(self, address: str, port: int, count: int) -> HalfOpened:
        """Send 1 to 64512 SYNs to a server in the lab's network, from addresses that no container has."""

    def street(self, part: str, address: str = "") -> None:
        """Generate one part of the background traffic, to an IPv4 address if one is given; see netadmin's street.py.

        The part is "machine", "provider" or "strangers"; a later call must name the same one.
        """

    def steer_receive(self, cpus: tuple[int, ...]) -> Mapping[str, tuple[int, ...]]:
        """Let these CPUs handle what the role's link receives (RPS); none switches it off.

        Returns what was read back, by receive queue.
        """
