"""A stand-in for the servers that other people's configurations proxy to; images/backend/standin implements it."""

from dataclasses import dataclass
from typing import Final, Protocol

EVENT: Final = "data: " + 92 * "x" + "\n\n"
"""An event of 100 bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html): all events of a stream are
the same."""


@dataclass(frozen=True, kw_only=True)
class Streaming:
    """The counts of a stand-in's streams."""

    written: int  # streams since its start with all events written
    unacknowledged_bytes: int  # data of open streams that the peer's kernel has not received yet


class Standin(Protocol):
    """``python3 -m standin``."""

    def streaming(self) -> Streaming:
        """Return the counts of its streams so far."""
