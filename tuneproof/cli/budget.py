"""A limit on the CPU time that a command may spend on untrusted files."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

from tuneproof.errors import BadInputError

CPU_S: Final = 120.0
"""The limit in seconds of CPU time; on a slow machine, the largest configurations that tuneproof/conf accepts take a
third of it."""

# Python drops an exception raised in a finalizer or a garbage collector's callback, so the signal is repeated.
_AGAIN_S: Final = 1.0


@contextmanager
def bounded(cpu_s: float = CPU_S) -> Iterator[None]:
    """Stop the code inside the context when it has used up its CPU time.

    Args:
        cpu_s: The limit in seconds; only CPU time in user mode counts (ITIMER_VIRTUAL in setitimer(2)).

    Raises BadInputError: The code took that long.
    """

    def end(_number: int, _frame: FrameType | None) -> None:
        raise BadInputError(
            f"not finished after {cpu_s:g} s of CPU time",
            remedy="audit the part that matters, such as a site's own file",
        )

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s, _AGAIN_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
