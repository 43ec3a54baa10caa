"""The agent answers the lab's calls about its role's link, as tuneproof/lab/protocol/netadmin.py describes."""

import subprocess
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Final

from tuneproof.lab.protocol import links, netadmin
from tuneproof.lab.protocol.serving import Answers

from . import native
from .addresses import add_addresses, lead_addresses, open_entries
from .links import LINKS_OF_ROLE, ROLE_LINK
from .path_probe import answer_probes, probe_path
from .steering import steer_receive
from .wire import LOG, Wire, WireError, why_impossible

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

    from tuneproof.lab.protocol.children import Child

    from .capture import Capture

_LOG_BYTES: Final = 65536
_EXPECTED: Final = (WireError, OSError, ValueError, RuntimeError, subprocess.CalledProcessError)


def answers(agent: "Agent") -> Answers:
    """Return an object that calls an agent's functions."""
    return Answers(netadmin.Agent, agent, expected=_EXPECTED)


class Agent(netadmin.Agent):
    """The methods of one netadmin container, with or without a wire in front of the role."""

    add_addresses = staticmethod(add_addresses)
    answer_probes = staticmethod(answer_probes)
    lead_addresses = staticmethod(lead_addresses)
    open_entries = staticmethod(open_entries)
    probe_path = staticmethod(probe_path)
    steer_receive = staticmethod(steer_receive)

    def __init__(self, wire: Wire | None, greeting: links.Greeting) -> None:
        self._wire = wire
        self._greeting = greeting
        self._capture: Capture | None = None
        self._street: Child[None] | None = None
        # At the start, every interface has its segmentation offloads on.
        self._segmentation = True

    def greet(self) -> links.Greeting:
        """Return the greeting that was printed at the start (WireError: the wire could not be started)."""
        if self._greeting.error:
            raise WireError(self._greeting.error)
        return self._greeting

    def shape(self, wanted: links.Impairments, per_packet: Mapping[str, bool]) -> links.Impairments:
        """Shape both directions of the role's link."""
        if self._wire:
            # Traffic on an unshaped link bypasses the wire: passing through it would cost time and CPU.
            through = any(any(impairment.values()) for impairment in wanted.values())
            read_back = self._wire.ask({"shape": wanted})
            self._wire.lead_through(through=through)
        else:
            read_back = native.shape(ROLE_LINK, wanted)
        self.switch_segmentation(on=not per_packet["egress"])
        return read_back

    def fix_neighbours(self, neighbours: Mapping[str, str]) -> None:
        """Set the MAC addresses of neighbours permanently."""
        from . import plumbing  # noqa: PLC0415 - rtnetlink takes 11 MiB, and most agents do not need it

        plumbing.fix_neighbours(neighbours)

    def status(self) -> bool:
        """Return whether the link's shaper is alive; for a native one, that is the kernel itself."""
        return self._wire is None or self._wire.alive

    def revive(self) -> None:
        """Start the wire again; it starts without shaping."""
        if self._wire:
            self._wire.start()

    def wire_log(self) -> str:
        """Return the end of the log of the wire's kernel."""
        return LOG.read_text(encoding="utf-8", errors="replace")[-_LOG_BYTES:] if LOG.exists() else ""

    def start_capture(self, filter_: str, snap_bytes: int = 192) -> None:
        """Capture the traffic on the role's link."""
        from .capture import Capture  # noqa: PLC0415 - only agents that capture need multiprocessing

        self._capture = Capture(filter_=filter_, snap_bytes=snap_bytes)

    def stop_capture(self) -> str:
        """End the capture; return its file."""
        if self._capture is None:
            raise RuntimeError("no capture was started")
        capture, self._capture = self._capture, None
        return capture.stop()

    def half_open(self, address: str, port: int, count: int) -> netadmin.HalfOpened:
        """Leave half-open connections behind at a server; see half_open.py. scapy is loaded in a process of its own."""
        from concurrent.futures import ProcessPoolExecutor  # noqa: PLC0415 - most agents do not need it

        with ProcessPoolExecutor(max_workers=1) as pool:
            return pool.submit(_flood, address, port, count).result()

    def street(self, part: str, address: str = "") -> None:
        """Generate one part of the background traffic, to an address if one is given; see street.py."""
        if self._street is None:
            from tuneproof.lab.protocol.children import Child  # noqa: PLC0415 - most agents do not need it

            self._street = Child(partial(_live, part))
            self._street.receive()
        self._street.pipe.send(address)

    def shapers(self) -> links.Shapers:
        """Return why this host cannot shape natively, and why not with a wire; empty if it can."""
        return links.Shapers(native=native.why_impossible(), wire=why_impossible())

    def switch_segmentation(self, on: bool) -> None:  # noqa: FBT001 - arguments travel by name
        """Switch the segmentation offloads of the role's link."""
        if on != self._segmentation:
            from . import offloads  # noqa: PLC0415 - most agents do not need it

            offloads.switch_segmentation(LINKS_OF_ROLE, on=on)
            self._segmentation = on


def _flood(address: str, port: int, count: int) -> netadmin.HalfOpened:
    from .half_open import flood  # noqa: PLC0415 - scapy takes a lot of memory

    return flood(address, port=port, count=count)


def _live(part: str, pipe: "Connection") -> None:
    import asyncio  # noqa: PLC0415 - most agents do not need it

    from . import street  # noqa: PLC0415

    asyncio.run(street.live(part, pipe))
