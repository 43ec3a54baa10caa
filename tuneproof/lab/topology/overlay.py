"""A lab's network over several engines: containers get each other's addresses, and the lab waits until packets pass.

Engines learn by gossip, within seconds, what is connected to an overlay network. Until then, packets may get lost, and
a name may not resolve; nginx resolves its upstreams only once, when it starts.
"""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from tuneproof.errors import LabError
from tuneproof.lab.engine.swarm import PORTS
from tuneproof.lab.topology.roles import Role

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer

_REACHED_WITHIN_S: Final = 20
# A port without a listener (RFC 863's discard): a refused connection shows that packets pass in both directions.
_PORT: Final = 9
_PROBES: Final = f"""\
import socket, sys, time
until_s = time.monotonic() + {_REACHED_WITHIN_S}
for address in sys.argv[1:]:
    while True:
        try:
            socket.create_connection((address, {_PORT}), timeout=1).close()
        except ConnectionRefusedError:
            break
        except OSError as error:
            if time.monotonic() > until_s:
                sys.exit(f"{{address}}: {{error}}")
            time.sleep(0.05)
        else:
            break
"""


def hosts_of(containers: Iterable["LabContainer"]) -> dict[str, str]:
    """Return the addresses of containers with their own endpoints, by every name that they have."""
    return {name: container.address() for container in containers for name in container.spec.names}


def wait_until_reached(containers: Sequence["LabContainer"]) -> None:
    """Wait until packets pass between the netadmin containers and all containers on other engines (else LabError)."""
    ends = [item for item in containers if not item.spec.joins]
    by_name = {item.spec.name: item for item in containers}
    watchers = [
        item
        for item in containers
        if item.spec.role is Role.NETADMIN and (not item.spec.joins or by_name[item.spec.joins] in ends)
    ]
    with ThreadPoolExecutor() as pool:
        list(pool.map(lambda watcher: _check_reachable(watcher, ends), watchers))


def _check_reachable(watcher: "LabContainer", ends: Sequence["LabContainer"]) -> None:
    others = [end for end in ends if end.engine != watcher.engine]
    if not others:
        return
    try:
        watcher.run(["python3", "-c", _PROBES, *[end.address() for end in others]])
    except LabError as error:
        there = ", ".join(sorted({end.engine.label for end in others}))
        raise LabError(
            f"no packets pass through the overlay network between engine {watcher.engine.label} and {there}",
            where=error.where,
            remedy=f"open the ports between them: {PORTS}",
            tail=error.tail,
        ) from error
