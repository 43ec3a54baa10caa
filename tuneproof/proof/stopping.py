"""Ends measurements in other threads."""

import threading

from tuneproof.errors import LabError


class RunEndedError(LabError):
    """The run ends while a scenario is being measured, but its lab has not failed."""


class Stop:
    """A stop request for several threads: each checks it before a lab starts and before each trial."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """Request that each measurement end before its next trial."""
        self._asked.set()

    def check(self) -> None:
        """Raise RunEndedError if a stop was requested."""
        if self._asked.is_set():
            raise RunEndedError("the run has ended")
