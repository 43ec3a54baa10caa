"""An nginx container that starts nginx again for every trial; its side of it: images/subject/supervise.sh."""

import base64
from dataclasses import dataclass
from typing import Final

from tuneproof.errors import LabError
from tuneproof.lab.topology.program import Asks, Call

COMMAND: Final = ("sh", "/usr/lib/tuneproof/supervise.sh")


def configuration_path(name: str) -> str:
    """Return where the supervisor looks for a configuration."""
    return f"/etc/subject/{name}.conf"


@dataclass(frozen=True, kw_only=True)
class Said:
    """How a program ended, and what it printed."""

    status: int
    said: str  # Both of its streams, in base64

    @property
    def text(self) -> str:
        """What it printed."""
        return base64.b64decode(self.said).decode("utf-8", errors="replace")


class Words(Call):
    """Words for the supervisor, none with a space in it: it is a shell's program, which reads no JSON."""

    def line(self, number: int) -> str:
        """Return the number and the words."""
        return " ".join([str(number), self.function, *self.arguments["words"]])


class Supervisor:
    """Starts and stops nginx in a subject."""

    def __init__(self, channel: Asks, *, name: str) -> None:
        self._channel = channel
        self._name = name

    def version(self) -> str:
        """Return nginx's version, such as "1.22.1"."""
        return self._ask("version").text.strip().rpartition("nginx/")[2]

    def test(self, configuration: str) -> Said:
        """Return what ``nginx -t`` says of a configuration (https://nginx.org/en/docs/switches.html)."""
        return self._ask("test", configuration)

    def start(self, configuration: str, *, library: str = "") -> None:
        """Start nginx, with a library preloaded if one is named; its sockets listen then (LabError, in its words)."""
        said = self._ask("start", configuration, *([library] if library else []))
        if said.status:
            raise LabError(f"nginx does not start with {configuration}", where=f"subject {self._name}", tail=said.text)

    def edit(self, expression: str) -> None:
        """Change the configuration that nginx was started with, which a reload reads, by sed(1).

        Raises LabError: sed refuses, in its words.
        """
        said = self._ask("edit", expression)
        if said.status:
            raise LabError(f"cannot edit by {expression}", where=f"subject {self._name}", tail=said.text)

    def stop(self) -> None:
        """End nginx at once, and wait until it has."""
        self._ask("stop")

    def write(self, name: str, size_bytes: int) -> None:
        """Write a file of zeros of this size to the folder /changing, replacing any that is there."""
        said = self._ask("write", name, str(size_bytes))
        if said.status:
            raise LabError(f"{name} cannot be written", where=f"subject {self._name}", tail=said.text)

    def read(self, log: str) -> str:
        """Return the text of a log of nginx's, by its name in /var/log/subject (LabError: there is none)."""
        said = self._ask("read", log)
        if said.status:
            raise LabError(f"{log} cannot be read", where=f"subject {self._name}", tail=said.text)
        return said.text

    def _ask(self, function: str, *words: str) -> Said:
        said: Said = self._channel.ask(Words(function=function, arguments={"words": words}, returns=Said)).answer
        return said
