"""Answers as the client tells of them, and requests as the backend does."""

from typing import Any

from tuneproof.lab.protocol.exchanges import Answer
from tuneproof.lab.protocol.scripted import Seen


def answered(status: int, **fields: Any) -> Answer:
    """Return a whole answer by nobody in particular, but for what is given."""
    nothing = {"worker": 0, "numbered": "", "body_bytes": 0, "total_s": 0.0}
    return Answer(**{"status": status, "complete": True, "says_close": False, **nothing, **fields})


def seen(**fields: Any) -> Seen:
    """Return one request, and no connection but what is given."""
    nothing = {"connections": 0, "open_connections": 0, "left_connections": 0, "open_streams": 0}
    return Seen(**{"unacknowledged_bytes": 0, "requests": ("GET / HTTP/1.1",), **nothing, **fields})
