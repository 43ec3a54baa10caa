"""Keeps the container's processes on some CPUs, once they have started."""

import contextlib
import os
from pathlib import Path


def cpus_of(text: str) -> set[int]:
    """Return the CPUs of the kernel's list format, such as "1" or "1-3,5" (cpuset(7)).

    Raises:
        ValueError: The text is none.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


def stay_on(cpus: set[int], *, processes: Path = Path("/proc")) -> None:
    """Let every process and thread of this container run on these CPUs only; children inherit it.

    Raises:
        OSError: There are no such CPUs here.
    """
    os.sched_setaffinity(0, cpus)
    for entry in processes.glob("[0-9]*/task/[0-9]*"):
        # One that has just ended needs no place.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(entry.name), cpus)
