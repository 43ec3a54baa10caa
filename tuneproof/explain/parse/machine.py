"""The whole machine's CPU time, by vmstat, sar -u, mpstat and iostat -c; and its full file systems, by df.

A header names the columns; without them, such as in the output of sar -n, nothing is read.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from tuneproof.explain.parse.figures import Figure
from tuneproof.explain.parse.problems import MalformedEvidenceError

_IDLE: Final = ("id", "%idle")
_WAIT: Final = ("wa", "%iowait")
_STEAL: Final = ("st", "%steal")
_ALL_CPUS: Final = "all"
_SINCE_BOOT: Final = frozenset({"id", "avg-cpu:"})
_AVERAGES: Final = re.compile(r"[^0-9\s]+:")
_TIME: Final = re.compile(r"\d\d:\d\d:\d\d(?: [AP]M)?(?=\s)")
_NUMBER: Final = re.compile(r"\d{1,12}(?:[.,]\d{1,6})?")
# A long source is on a separate line, and a folder may contain blanks.
_FILE_SYSTEM: Final = re.compile(r"(?:\S+)?\s+(?:[a-z][\w.]*\s+)?(?:[\d.,]+[A-Za-z]{0,3}\s+){2}(0)\s+100%\s+(/.*)")


@dataclass(frozen=True, kw_only=True)
class CpuInterval:
    """The CPU time of the whole machine in one interval, as shares of all CPUs' time."""

    busy: float
    stolen: float
    end: str = ""  # the time of its end as printed, such as "10:00:02 AM"; empty if unknown


@dataclass(frozen=True, kw_only=True)
class MachineCpu:
    """The CPU time of the whole machine: means of all intervals, as shares of all CPUs' time."""

    intervals: int
    busy: float  # neither idle nor waiting for disks; includes stolen time
    stolen: float  # time in which the hypervisor ran something else
    in_order: tuple[CpuInterval, ...] = ()  # each interval
    interval_s: int = 1  # the length of the shortest one, if known; the tools' shortest one is 1 s


@dataclass(frozen=True, kw_only=True)
class FullDisks:
    """The file systems without free blocks or inodes."""

    mounts: tuple[str, ...]
    are_inodes: bool  # whether df -i printed them


def cpu(text: str) -> MachineCpu:
    """Read the CPU time. The first line of vmstat and iostat does not count: it is the mean since boot.

    Raises MalformedEvidenceError: There is no other line.
    """
    samples: list[CpuInterval] = []
    header: list[str] = []
    is_since_boot = False
    for line in text.split("\n"):
        words = line.split()
        if set(_IDLE) & set(words):
            is_since_boot = is_since_boot or (not header and bool(_SINCE_BOOT & set(words)))
            header = [word for word in words if word != "avg-cpu:"]
        elif line.startswith("Device"):
            header = []
        elif header and words and not _AVERAGES.match(line) and (values := _values(header, words)):
            free, stolen = (sum(values.get(name, 0.0) for name in names) for names in (_IDLE + _WAIT, _STEAL))
            time = _TIME.match(line)
            samples.append(CpuInterval(busy=1 - free / 100, stolen=stolen / 100, end=time[0] if time else ""))
    del samples[: 1 if is_since_boot else 0]
    if not samples:
        raise MalformedEvidenceError(
            "expected the CPU time of intervals, such as vmstat 1 10, not only that since boot"
        )
    return MachineCpu(
        intervals=len(samples),
        busy=sum(each.busy for each in samples) / len(samples),
        stolen=sum(each.stolen for each in samples) / len(samples),
        in_order=tuple(samples),
        interval_s=_shortest_s([each.end for each in samples]),
    )


def _shortest_s(ends: list[str]) -> int:
    """Return the time from one interval's end to the next, of two that are closest, in seconds; 1 if unknown."""
    # A clock of twelve hours begins again within a recording, as one of 24 hours does at midnight.
    at_s = [int(end[:2]) % 12 * 3600 + int(end[3:5]) * 60 + int(end[6:8]) for end in ends if end]
    return min(((later - earlier) % 43_200 for earlier, later in pairwise(at_s)), default=0) or 1


def _values(header: list[str], words: list[str]) -> Mapping[str, float]:
    """Return a line's percentages by column; empty for a line of another table or a single CPU."""
    named = dict(zip(header, words, strict=False))
    if named.get("CPU", _ALL_CPUS) != _ALL_CPUS or len(words) < len(header):
        return {}
    shares = {name: named.get(name, "") for name in (*_IDLE, *_WAIT, *_STEAL) if name in header}
    if not all(_NUMBER.fullmatch(text) for text in shares.values()):
        return {}
    return {name: float(text.replace(",", ".")) for name, text in shares.items()}


def full_disks(text: str) -> FullDisks:
    """Read the full file systems; those that are always full, such as images, do not count."""
    lines = text.split("\n")
    return FullDisks(
        mounts=tuple(_full(lines)), are_inodes=any(line.startswith("Filesystem") and "IUse" in line for line in lines)
    )


def _full(lines: list[str]) -> Iterator[str]:
    for line in lines:
        match = _FILE_SYSTEM.fullmatch(line.rstrip())
        if match is not None and not line.startswith("/dev/loop") and "squashfs" not in line:
            yield match[2]


def cpu_figures(read: MachineCpu) -> tuple[Figure, ...]:
    """Return the figures of the machine's CPUs."""
    busiest = max((each.busy for each in read.in_order), default=read.busy)
    return (
        Figure(key="intervals", name="intervals", value=read.intervals),
        Figure(key="machine_busy_pct", name="the machine's CPUs busy", value=100 * read.busy, unit="%"),
        Figure(key="machine_busiest_pct", name="busy in the busiest interval", value=100 * busiest, unit="%"),
        Figure(key="machine_stolen_pct", name="stolen by the hypervisor", value=100 * read.stolen, unit="%"),
    )


def disk_figures(read: FullDisks) -> tuple[Figure, ...]:
    """Return the figures of df."""
    name = "file systems without free inodes" if read.are_inodes else "file systems without free space"
    return (Figure(key="full_file_systems", name=name, value=", ".join(read.mounts) or "none"),)
