"""An init for a wire's kernel that repeatedly logs how much memory is free."""

import re
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, "/opt/netadmin")

from netadmin import guest


def _log_free_memory() -> None:
    while True:
        time.sleep(0.2)
        if (found := re.search(r"MemFree: +(\d+) kB", Path("/proc/meminfo").read_text(encoding="ascii"))) is not None:
            Path("/dev/kmsg").write_text(f"<4>free {found[1]} kB\n", encoding="ascii")


if __name__ == "__main__":
    guest.mount("proc", "/proc")
    threading.Thread(target=_log_free_memory, daemon=True).start()
    guest.main()
