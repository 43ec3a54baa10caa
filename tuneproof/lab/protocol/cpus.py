"""CPUs in the kernel's list format, such as "1" or "1-3,5" (cpuset(7)), and how a machine's CPUs are grouped."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Cpus:
    """The CPUs on which a container may run, and the groups of its machine's CPUs, as lists in the kernel's format."""

    allowed: str
    nodes: tuple[str, ...] = ()
    """The CPUs of each NUMA node of the machine (/sys/devices/system/node); none if the kernel shows none."""
    cores: tuple[str, ...] = ()  # the CPUs of each core with several hyperthreads (topology/thread_siblings_list)


def cpus_of(text: str) -> list[int]:
    """Return the CPUs of a list in the kernel's format.

    Raises ValueError: the text is not a list.
    """
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def list_of(cpus: Iterable[int]) -> str:
    """Return CPUs as a list in the kernel's format; the empty string for none."""
    runs: list[list[int]] = []
    for cpu in sorted(cpus):
        if runs and cpu == runs[-1][-1] + 1:
            runs[-1][1:] = [cpu]
        else:
            runs.append([cpu])
    return ",".join("-".join(map(str, run)) for run in runs)
