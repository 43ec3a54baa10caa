"""``python3 -m netadmin`` prints a snapshot as one line of JSON; with ``stay`` it then waits to be removed."""

import json
import signal
import sys

from .listeners import listener_backlogs
from .snapshot import take

if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(take(listener_backlogs=listener_backlogs()))}\n")
    sys.stdout.flush()
    if sys.argv[1:] == ["stay"]:
        signal.pause()
