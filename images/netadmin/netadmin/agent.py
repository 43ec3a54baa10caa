"""Answers the lab about its role's link; tuneproof/lab/protocol/netadmin.py says what may be asked."""

import json
import subprocess
import sys
from typing import IO, Final

from tuneproof.lab.protocol import links, netadmin
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.lab.protocol.messages import Done
from tuneproof.lab.protocol.serving import Answers

from . import native_agent
from .addresses import add_addresses, lead, open_entries
from .capture import Capture
from .links import LINKS_OF_ROLE, ROLE_LINK
from .path_probe import answer_probes, probe_path
from .steering import steer_receive
from .wire import LOG, Wire, WireError, why_impossible

_LOG_BYTES: Final = 65536
_TELLS: Final = (WireError, OSError, RuntimeError, subprocess.CalledProcessError, native_agent.NativeError)


class Agent:
    """The tasks of one netadmin container.

    wire: the wire in front of the role; None where links are shaped natively, or not at all.
    """

    def __init__(self, wire: Wire | None, greeting: links.Greeting) -> None:
        self._wire = wire
        self._greeting = greeting
        self._capture: Capture | None = None
        self._street: IO[bytes] | None = None
        # As every interface starts.
        self._segmentation = True

    def answers(self) -> Answers:
        """Return what this agent can do."""
        able = Answers(tells=_TELLS)
        able.to(links.Greet, self.greet)
        able.to(links.Shape, self.shape)
        able.to(links.SwitchSegmentation, self.switch_segmentation)
        able.to(netadmin.FixNeighbours, self.fix_neighbours)
        able.to(netadmin.LeadAddresses, self.lead_addresses)
        able.to(netadmin.OpenEntries, self.open_entries)
        able.to(netadmin.AddAddresses, self.add_addresses)
        able.to(links.ReadStatus, self.status)
        able.to(links.Revive, self.revive)
        able.to(links.ReadWireLog, self.wire_log)
        able.to(links.TryShapers, self.shapers)
        able.to(netadmin.StartCapture, self.start_capture)
        able.to(netadmin.StopCapture, self.stop_capture)
        able.to(links.AnswerProbes, answer_probes)
        able.to(links.ProbePath, probe_path)
        able.to(netadmin.LeaveHalfOpen, self.half_open)
        able.to(netadmin.TalkInStreet, self.street)
        able.to(netadmin.SteerReceive, steer_receive)
        return able

    def greet(self, _: links.Greet) -> links.Greeting:
        """Say again what there was to say at the start (WireError: no wire could be raised then)."""
        if self._greeting.error:
            raise WireError(self._greeting.error)
        return self._greeting

    def shape(self, asked: links.Shape) -> links.Shaped:
        """Shape both directions of the role's link."""
        if self._wire:
            # A link that is not shaped does not pass through the wire either: the wire takes its time and CPU, too.
            through = any(any(impairment.values()) for impairment in asked.wanted.values())
            read_back = self._wire.ask({"shape": asked.wanted})
            self._wire.lead_through(through=through)
        else:
            read_back = native_agent.shape(ROLE_LINK, asked.wanted)
        self._segment(on=not asked.per_packet["egress"])
        return links.Shaped(read_back=read_back)

    def switch_segmentation(self, asked: links.SwitchSegmentation) -> Done:
        """Switch the segmentation offloads of the role's link."""
        self._segment(on=asked.on)
        return Done()

    def fix_neighbours(self, asked: netadmin.FixNeighbours) -> Done:
        """Set the MAC addresses of neighbours for good, in a process that takes its memory along."""
        pairs = [f"{address}={mac}" for address, mac in asked.neighbours.items()]
        subprocess.run([sys.executable, "-m", "netadmin.neighbours", *pairs], check=True)
        return Done()

    def lead_addresses(self, asked: netadmin.LeadAddresses) -> Done:
        """Lead what is sent to some addresses to another one; see addresses.py."""
        lead(asked.addresses, asked.to)
        return Done()

    def open_entries(self, asked: netadmin.OpenEntries) -> Done:
        """Lead ports of the role's link to addresses of its own; see addresses.py."""
        open_entries(asked.entries)
        return Done()

    def add_addresses(self, asked: netadmin.AddAddresses) -> netadmin.Added:
        """Give the role's link further addresses; see addresses.py."""
        return netadmin.Added(addresses=tuple(add_addresses(asked.count, asked.used)))

    def status(self, _: links.ReadStatus) -> links.LinkStatus:
        """Tell whether the link's shaper is alive; a native one is the kernel itself."""
        return links.LinkStatus(alive=self._wire is None or self._wire.alive)

    def revive(self, _: links.Revive) -> Done:
        """Raise the wire again; it comes up unshaped."""
        if self._wire:
            self._wire.raise_()
        return Done()

    def wire_log(self, _: links.ReadWireLog) -> links.Text:
        """Return the end of what the wire's kernel has logged."""
        text = LOG.read_text(encoding="utf-8", errors="replace")[-_LOG_BYTES:] if LOG.exists() else ""
        return links.Text(text=text)

    def start_capture(self, asked: netadmin.StartCapture) -> Done:
        """Capture what passes the role's link."""
        self._capture = Capture(filter_=asked.filter_, snap_bytes=asked.snap_bytes)
        return Done()

    def stop_capture(self, _: netadmin.StopCapture) -> netadmin.Captured:
        """End the capture; return its file."""
        if self._capture is None:
            raise RuntimeError("no capture was started")
        capture, self._capture = self._capture, None
        return netadmin.Captured(file=capture.stop())

    def half_open(self, asked: netadmin.LeaveHalfOpen) -> netadmin.HalfOpened:
        """Leave half-open connections behind at a server; see half_open.py. In a process of its own, like the above."""
        command = [sys.executable, "-m", "netadmin.half_open", asked.address, str(asked.port), str(asked.count)]
        # Not the agent's own input, where the next question may be waiting.
        ran = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        told = json.loads(ran.stdout)
        if "error" in told:
            raise RuntimeError(told["error"])
        return from_plain(netadmin.HalfOpened, told)

    def street(self, asked: netadmin.TalkInStreet) -> Done:
        """Be a part of the street around a service, and talk to an address, or to nobody; see street.py."""
        if self._street is None:
            command = [sys.executable, "-m", "netadmin.street", asked.part]
            began = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if began.stdin is None or began.stdout is None or not began.stdout.readline():
                raise RuntimeError(f"the street's {asked.part} ended with status {began.wait()}")
            self._street = began.stdin
        self._street.write(f"{asked.address}\n".encode())
        self._street.flush()
        return Done()

    def shapers(self, _: links.TryShapers) -> links.Shapers:
        """Return why this host cannot shape natively, and why not by a wire."""
        return links.Shapers(native=native_agent.why_impossible(), wire=why_impossible())

    def _segment(self, *, on: bool) -> None:
        """Switch the offloads, in a process that takes its memory along."""
        if on != self._segmentation:
            command = [sys.executable, "-m", "netadmin.offloads", "on" if on else "off", *LINKS_OF_ROLE]
            subprocess.run(command, check=True)
            self._segmentation = on
