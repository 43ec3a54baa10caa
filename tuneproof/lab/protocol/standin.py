"""A stand-in for what other people's configurations pass requests on to. images/backend/standin is it."""

from dataclasses import dataclass
from typing import Final, Protocol

EVENT: Final = "data: " + 92 * "x" + "\n\n"
"""An event of 100 bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html): all of a stream are alike."""


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """What a stand-in has written to streams."""

    written: int  # streams since its start whose events it has all written
    unacknowledged_bytes: int  # what the other side's kernel has not got yet of those that are open


class Standin(Protocol):
    """``python3 -m standin``."""

    def streaming(self) -> Streaming:
        """Tell of its streams so far."""
