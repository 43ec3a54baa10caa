"""The text of /proc/PID/io (proc_pid_io(5)): what a process read and wrote, all its threads together."""

from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.processes.fields import blocks, whole

_EXPECTED = "the text of /proc/PID/io"


def write_bytes(text: str) -> int:
    """Return what one process dirtied on file systems; on a tmpfs nothing counts.

    Raises:
        MalformedEvidenceError: The text is something else.
    """
    (block,) = blocks(text, wanted=frozenset({"write_bytes"}), first_key="rchar", expected=_EXPECTED)
    written = whole(block.values, "write_bytes")
    if written is None:
        raise MalformedEvidenceError(f"expected write_bytes in {_EXPECTED}", line=1)
    return written
