"""One capture at a time of what passes the role's link, by tcpdump(8)."""

import subprocess
import time
from pathlib import Path
from typing import Final

from .links import ROLE_LINK

FILE: Final = Path("/var/log/link.pcap")
_STARTED: Final = b"listening on"
_WITHIN_S: Final = 5.0


class Capture:
    """A running tcpdump.

    Args:
        filter_: What to capture, see pcap-filter(7).
        snap_bytes: Length that longer frames are cut to.

    Raises:
        OSError: tcpdump did not start.
    """

    def __init__(self, *, filter_: str, snap_bytes: int) -> None:
        command = ["tcpdump", "-i", ROLE_LINK, "-n", "-U", "-s", str(snap_bytes), "-Z", "root", "-w", str(FILE)]
        self._process = subprocess.Popen([*command, *filter_.split()], stderr=subprocess.PIPE)
        errors = self._process.stderr
        line = errors.readline() if errors else b""
        if _STARTED not in line:
            self._process.kill()
            raise OSError(f"tcpdump did not start: {line.decode(errors='replace').strip()}")

    def stop(self) -> str:
        """Write what is left, end, and return the file's path."""
        # What has just arrived may still be in the kernel's buffer, which tcpdump leaves behind when it is stopped.
        time.sleep(0.2)
        self._process.terminate()
        self._process.communicate(timeout=_WITHIN_S)
        return str(FILE)
