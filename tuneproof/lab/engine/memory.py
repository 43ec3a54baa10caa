"""The memory that a run and its containers use, as the kernel reports it if the engine is on this machine.

The page cache is not included, since the kernel frees it when memory is needed.
"""

import os
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Final, Self

CGROUPS: Final = Path("/sys/fs/cgroup")
# The folders of a container's cgroup with cgroup v1 and v2, created by the engine or by systemd.
_PLACES: Final = tuple(
    f"{version}{place}" for version in ("memory/", "") for place in ("docker/{}", "system.slice/docker-{}.scope")
)
_USED: Final = ("memory.usage_in_bytes", "memory.current")
_FILES: Final = ("active_file", "inactive_file")
_EVERY_S: Final = 1.0


def taken_bytes(container_id: str, *, root: Path = CGROUPS) -> int | None:
    """Return a container's memory; None if the container has ended, or runs on another machine."""
    folders = (root / place.format(container_id) for place in _PLACES)
    with suppress(OSError):
        for folder in folders:
            for used in _USED:
                if (folder / used).exists():
                    figures = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
                    return int((folder / used).read_text()) - sum(int(figures.get(name, 0)) for name in _FILES)
    return None


class MemoryWatch:
    """A context manager that reads the memory once a second.

    containers: returns the ids of the containers that exist now.
    """

    def __init__(self, containers: Callable[[], Iterable[str]], *, root: Path = CGROUPS) -> None:
        self._containers = containers
        self._root = root
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="memory", daemon=True)
        self.peak_bytes: int | None = None
        """The maximum memory of all containers and this process together; None if no container can be read."""

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()

    def look(self) -> None:
        """Read the memory once."""
        found = [taken for each in self._containers() if (taken := taken_bytes(each, root=self._root)) is not None]
        if found:
            self.peak_bytes = max(self.peak_bytes or 0, sum(found) + _own_bytes())

    def _watch(self) -> None:
        while not self._ended.wait(_EVERY_S):
            self.look()


def _own_bytes() -> int:
    resident_pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return resident_pages * os.sysconf("SC_PAGE_SIZE")
