"""Answers the lab: every line of JSON on standard input names one task, and gets one line back."""

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import IO, Any, Final

from . import native_agent
from .addresses import add_addresses, lead, open_entries
from .capture import Capture
from .links import LINKS_OF_ROLE, ROLE_LINK
from .path_probe import answer_probes, probe_path
from .steering import steer_receive
from .wire import LOG, Wire, WireError, why_impossible

_LOG_BYTES: Final = 65536


class Agent:
    """The tasks of one netadmin container.

    Args:
        wire: The wire in front of the role; None where links are shaped natively, or not at all.
        greeting: What there was to say at the start.
    """

    def __init__(self, wire: Wire | None, greeting: Mapping[str, Any]) -> None:
        self._wire = wire
        self._capture: Capture | None = None
        self._street: IO[bytes] | None = None
        # As every interface starts.
        self._segmentation = True
        self._tasks: dict[str, Callable[..., Mapping[str, Any]]] = {
            "greeting": lambda: greeting,
            "shape": self.shape,
            "segmentation": self.segmentation,
            "fix_neighbours": self.fix_neighbours,
            "lead_addresses": self.lead_addresses,
            "open_entries": self.open_entries,
            "add_addresses": self.add_addresses,
            "status": self.status,
            "revive": self.revive,
            "wire_log": self.wire_log,
            "shapers": self.shapers,
            "memory_inside": self.memory_inside,
            "shape_natively_inside": self.shape_natively_inside,
            "start_capture": self.start_capture,
            "stop_capture": self.stop_capture,
            "answer_probes": answer_probes,
            "probe_path": probe_path,
            "half_open": self.half_open,
            "street": self.street,
            "steer_receive": steer_receive,
        }

    def serve(self, questions: Iterable[str], answers: IO[str]) -> None:
        """Answer until the input ends, each with its question's number. A task that fails is answered, too."""
        for line in questions:
            question = json.loads(line)
            task, number = self._tasks[question.pop("task")], question.pop("number")
            answer: Mapping[str, Any]
            try:
                answer = task(**question)
            except (WireError, OSError, RuntimeError, subprocess.CalledProcessError, native_agent.NativeError) as error:
                answer = {"error": f"{error}"}
            answers.write(f"{json.dumps({**answer, 'number': number})}\n")
            answers.flush()

    def shape(self, wanted: Mapping[str, Mapping[str, float]], per_packet: Mapping[str, bool]) -> dict[str, Any]:
        """Shape both directions of the role's link; return what was read back.

        Args:
            wanted: Impairments by direction, ``egress`` and ``ingress``; see netem.py.
            per_packet: By direction, whether netem must see single packets. What the role itself sends is seen to here;
                what it receives is up to those who send it.
        """
        if self._wire:
            # A link that is not shaped does not pass through the wire either: the wire takes its time and CPU, too.
            through = any(any(impairment.values()) for impairment in wanted.values())
            read_back = self._wire.ask({"shape": wanted})
            self._wire.lead_through(through=through)
        else:
            read_back = native_agent.shape(ROLE_LINK, wanted)
        self.segmentation(on=not per_packet["egress"])
        return read_back

    def segmentation(self, *, on: bool) -> dict[str, Any]:
        """Switch the segmentation offloads of the role's link, in a process that takes its memory along."""
        if on != self._segmentation:
            command = [sys.executable, "-m", "netadmin.offloads", "on" if on else "off", *LINKS_OF_ROLE]
            subprocess.run(command, check=True)
            self._segmentation = on
        return {"segmentation": on}

    def fix_neighbours(self, neighbours: Mapping[str, str]) -> dict[str, Any]:
        """Set the MAC addresses of neighbours for good, by IPv4 address; in a process of its own, like the above."""
        pairs = [f"{address}={mac}" for address, mac in neighbours.items()]
        subprocess.run([sys.executable, "-m", "netadmin.neighbours", *pairs], check=True)
        return {"fixed": len(pairs)}

    def lead_addresses(self, addresses: list[str], to: str) -> dict[str, Any]:
        """Lead what is sent to some addresses to another one; see addresses.py."""
        lead(addresses, to)
        return {"led": len(addresses)}

    def open_entries(self, entries: list[tuple[int, str, int]]) -> dict[str, Any]:
        """Lead ports of the role's link to addresses of its own; see addresses.py."""
        open_entries(entries)
        return {"opened": len(entries)}

    def add_addresses(self, count: int, used: list[str]) -> dict[str, Any]:
        """Give the role's link further addresses; see addresses.py."""
        return {"addresses": add_addresses(count, used)}

    def status(self) -> dict[str, Any]:
        """Tell whether the link's shaper is alive, and which process it is; a native one is the kernel itself."""
        return {"alive": self._wire is None or self._wire.alive, "pid": self._wire.pid if self._wire else None}

    def revive(self) -> dict[str, Any]:
        """Raise the wire again; it comes up unshaped."""
        return {"seconds": self._wire.raise_() if self._wire else 0.0}

    def wire_log(self) -> dict[str, Any]:
        """Return the end of what the wire's kernel has logged."""
        return {"log": LOG.read_text(encoding="utf-8", errors="replace")[-_LOG_BYTES:] if LOG.exists() else ""}

    def start_capture(self, filter_: str, snap_bytes: int) -> dict[str, Any]:
        """Capture what passes the role's link."""
        self._capture = Capture(filter_=filter_, snap_bytes=snap_bytes)
        return {"capturing": True}

    def stop_capture(self) -> dict[str, Any]:
        """End the capture; return its file."""
        if self._capture is None:
            raise RuntimeError("no capture was started")
        capture, self._capture = self._capture, None
        return {"file": capture.stop()}

    def half_open(self, address: str, port: int, count: int) -> dict[str, Any]:
        """Leave half-open connections behind at a server; see half_open.py. In a process of its own, like the above."""
        command = [sys.executable, "-m", "netadmin.half_open", address, str(port), str(count)]
        # Not the agent's own input, where the next question may be waiting.
        ran = subprocess.run(command, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        answer: dict[str, Any] = json.loads(ran.stdout)
        return answer

    def street(self, part: str, address: str) -> dict[str, Any]:
        """Be a part of the street around a service, and talk to an address, or to nobody; see street.py."""
        if self._street is None:
            command = [sys.executable, "-m", "netadmin.street", part]
            began = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            if began.stdin is None or began.stdout is None or not began.stdout.readline():
                raise RuntimeError(f"the street's {part} ended with status {began.wait()}")
            self._street = began.stdin
        self._street.write(f"{address}\n".encode())
        self._street.flush()
        return {"street": part}

    def shapers(self) -> dict[str, Any]:
        """Return why this host cannot shape natively, and why not by a wire; empty when it can."""
        return {"native": native_agent.why_impossible(), "wire": why_impossible()}

    def shape_natively_inside(self, wanted: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        """Do inside the wire's kernel what is done natively elsewhere; see native_trial.py."""
        return self._inside().ask({"shape_natively": wanted})

    def memory_inside(self) -> dict[str, Any]:
        """Return /proc/meminfo of the wire's kernel."""
        return self._inside().ask({"memory": True})

    def _inside(self) -> Wire:
        if self._wire is None:
            raise WireError("no wire was raised")
        return self._wire
