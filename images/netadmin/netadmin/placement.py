"""Keeps the container's processes on some CPUs once they have started."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path


def stay_on(cpus: Iterable[int], *, processes: Path = Path("/proc")) -> None:
    """Let every process and thread of this container run only on these CPUs; children inherit that."""
    chosen = set(cpus)
    os.sched_setaffinity(0, chosen)
    for entry in processes.glob("[0-9]*/task/[0-9]*"):
        # One that has just ended needs no CPU.
        with contextlib.suppress(ProcessLookupError):
            os.sched_setaffinity(int(entry.name), chosen)
