"""Answers as the client tells of them."""

from typing import Any

from tuneproof.lab.protocol.exchanges import Answer


def answered(status: int, **fields: Any) -> Answer:
    """Return a whole answer by nobody in particular, but for what is given."""
    nothing = {"worker": 0, "numbered": "", "body_bytes": 0, "first_byte_s": 0.0, "total_s": 0.0}
    return Answer(**{"status": status, "complete": True, "says_close": False, **nothing, **fields})
