"""Ends containers that fill the engine's disk: most engines can limit a container's memory, but not its disk.

Deleted files that are still open count, too, such as nginx's temporary files.
"""

import threading
from collections.abc import Sequence
from typing import Final

from tuneproof.errors import TuneproofError
from tuneproof.lab.topology.container import LabContainer

# A disk can write one or two GB per second, so up to 0.2 GB more than the limit may be lost between two checks.
_EVERY_S: Final = 0.1
# This program ends when the disk with the containers' files has lost the given space, or half of its free space.
_LOOK: Final = f"""\
import os, sys, time
def free():
    disk = os.statvfs("/")
    return disk.f_bavail * disk.f_frsize
most = free()
limit = min(int(sys.argv[1]), most // 2)
while (now := free()) > most - limit:
    most = max(most, now)
    time.sleep({_EVERY_S})
print(limit)
"""


class DiskGuard:
    """Watches, from one container, the disk that all containers share; ends some of them if it loses too much space.

    eye: the container that watches: it has Python, and does not run the user's files.
    guarded: the containers that are ended.
    limit_bytes: how much free space may be lost, but at most half of what is free at the start.
    """

    def __init__(self, eye: LabContainer, guarded: Sequence[LabContainer], *, limit_bytes: int) -> None:
        self._eye = eye
        self._guarded = guarded
        self._limit_bytes = limit_bytes
        self.lost_bytes = 0
        """The limit that was exceeded; 0 as long as none was."""
        self._thread = threading.Thread(target=self._watch, name="disk", daemon=True)

    def start(self) -> None:
        """Watch from now on, as long as the eye's container runs."""
        self._thread.start()

    def _watch(self) -> None:
        try:
            passed = int(self._eye.run(["python3", "-c", _LOOK, str(self._limit_bytes)]))
        except (TuneproofError, ValueError):
            # The lab has ended.
            return
        self.lost_bytes = passed
        for container in self._guarded:
            container.kill()
