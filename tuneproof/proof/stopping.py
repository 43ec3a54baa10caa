"""How measurements in other threads are ended."""

import threading

from tuneproof.errors import LabError


class Stop:
    """A request to end, for several threads: whoever measures checks it before a lab starts and before each trial."""

    def __init__(self) -> None:
        self._asked = threading.Event()

    def ask(self) -> None:
        """End all that is being measured, each at its next trial."""
        self._asked.set()

    def check(self) -> None:
        """Go on. LabError: The end was asked for."""
        if self._asked.is_set():
            raise LabError("the run has ended")
