"""An nginx container that restarts nginx for every trial; its program is images/subject/supervise.sh."""

import base64
from dataclasses import dataclass
from typing import Final

from tuneproof.errors import LabError
from tuneproof.lab.topology.program import Asks, Call

COMMAND: Final = ("sh", "/usr/lib/tuneproof/supervise.sh")


def configuration_path(name: str) -> str:
    """Return the path at which the supervisor finds a configuration."""
    return f"/etc/subject/{name}.conf"


@dataclass(frozen=True, kw_only=True)
class Said:
    """A program's exit status and output."""

    status: int
    said: str  # Both of its streams, in base64

    @property
    def text(self) -> str:
        """The program's output as text."""
        return base64.b64decode(self.said).decode("utf-8", errors="replace")


class Words(Call):
    """A call as words without spaces: the supervisor is a shell script, which cannot read JSON."""

    def line(self, number: int) -> str:
        """Return the number and the words."""
        return " ".join([str(number), self.function, *self.arguments["words"]])


class Supervisor:
    """Starts and stops nginx in an nginx container."""

    def __init__(self, channel: Asks, *, name: str) -> None:
        self._channel = channel
        self._name = name

    def version(self) -> str:
        """Return nginx's version, such as "1.22.1"."""
        return self._ask("version").text.strip().rpartition("nginx/")[2]

    def test(self, configuration: str) -> Said:
        """Return the exit status and output of ``nginx -t -q`` (https://nginx.org/en/docs/switches.html)."""
        return self._ask("test", configuration)

    def start(self, configuration: str, *, library: str = "") -> None:
        """Start nginx, with a preloaded library if given, and wait until its sockets listen.

        Raises LabError: nginx did not start; the error contains its message.
        """
        self._do(f"nginx does not start with {configuration}", "start", configuration, *filter(None, [library]))

    def edit(self, expression: str) -> None:
        """Change the running nginx's configuration with sed(1) for the next reload.

        Raises LabError: sed failed; the error contains its message.
        """
        self._do(f"cannot edit with {expression}", "edit", expression)

    def stop(self) -> None:
        """Stop nginx at once, and wait until it has ended."""
        self._ask("stop")

    def write(self, name: str, size_bytes: int) -> None:
        """Write a file of zeros with this size to /var/lib/subject/changing, over an existing one."""
        self._do(f"{name} cannot be written", "write", name, str(size_bytes))

    def read(self, log: str) -> str:
        """Return the text of an nginx log, by its name in /var/log/subject (LabError: there is none)."""
        return self._do(f"{log} cannot be read", "read", log)

    def _do(self, otherwise: str, function: str, *words: str) -> str:
        said = self._ask(function, *words)
        if said.status:
            raise LabError(otherwise, where=f"nginx container {self._name}", tail=said.text)
        return said.text

    def _ask(self, function: str, *words: str) -> Said:
        said: Said = self._channel.ask(Words(function=function, arguments={"words": words}, returns=Said)).answer
        return said
