"""How measurements in other threads are ended."""

import threading

from tuneproof.errors import LabError


class RunEndedError(LabError):
    """The run ends while a scenario is measured: its lab has not failed."""


class Stop:
    """A request to end, for several threads: the measuring one checks it before a lab starts and before each trial."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """End all that is being measured, each at its next trial."""
        self._asked.set()

    def check(self) -> None:
        """Go on. RunEndedError: The end was asked for."""
        if self._asked.is_set():
            raise RunEndedError("the run has ended")
