"""The client's reports of responses, and the backend's reports of requests."""

from typing import Any

from tuneproof.lab.protocol.exchanges import Answer
from tuneproof.lab.protocol.scripted import Seen


def answered(status: int, **fields: Any) -> Answer:
    """Return a whole response with defaults, except for these values."""
    nothing = {"worker": 0, "numbered": "", "body_bytes": 0, "total_s": 0.0}
    return Answer(**{"status": status, "complete": True, "says_close": False, **nothing, **fields})


def seen(**fields: Any) -> Seen:
    """Return the backend's report of one request; connections and streams are 0 unless given."""
    nothing = {"connections": 0, "open_connections": 0, "open_streams": 0}
    return Seen(**{"unacknowledged_bytes": 0, "requests": ("GET / HTTP/1.1",), **nothing, **fields})
