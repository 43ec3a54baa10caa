"""``python3 -m netadmin look``, ``wire`` or ``lease``: what a netadmin container runs.

``look`` prints a snapshot of the network namespace as one line of JSON; ``wire`` starts a wire and prints a line, too.
Both then answer calls (agent.py) until the container is removed. ``lease`` prints the same as ``look``, and exits when
its input ends.
"""

import json
import signal
import sys

from tuneproof.lab.protocol.codec import to_plain
from tuneproof.lab.protocol.links import Greeting

from .agent import Agent, answers
from .wire import Wire, WireError


def _look() -> tuple[Greeting, Wire | None]:
    from .snapshot import take  # noqa: PLC0415
    from .sock_diag import DiagSocket  # noqa: PLC0415 - a wire's agent needs no list of sockets
    from .sockets import listener_backlogs  # noqa: PLC0415

    with DiagSocket() as diag:
        diag.bind()
        return Greeting(snapshot=take(listener_backlogs=listener_backlogs(diag))), None


def _wire() -> tuple[Greeting, Wire | None]:
    wire = Wire()
    try:
        return Greeting(ready_s=wire.start()), wire
    except WireError as error:
        return Greeting(error=str(error)), wire


if __name__ == "__main__":
    greeting, wire = {"look": _look, "wire": _wire, "lease": _look}[sys.argv[1]]()
    sys.stdout.write(f"{json.dumps(to_plain(greeting))}\n")
    sys.stdout.flush()
    if sys.argv[1] == "lease":
        sys.stdin.read()
        sys.exit()
    answers(Agent(wire, greeting)).serve(sys.stdin, sys.stdout)
    # After the end of the input there are no more calls, but the namespace may still be in use.
    signal.pause()
