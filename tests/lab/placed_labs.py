"""Starts and kills labs on several engines, and checks that nothing is left there.

``python -m tests.lab.placed_labs starts TIMES ROLE=ENGINE...`` starts this many labs one after the other, and sends
packets in each; ``python -m tests.lab.placed_labs kills TIMES SEED ROLE=ENGINE...`` kills this many runs at random
instants. The engines must have the images, so run a claim with the same places first.
"""

import random
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Final

import docker

from tests.lab.children import GONE_WITHIN_S, SHORTEST_RUN, reapers, wait_until
from tests.lab.sigkill import kill_once
from tuneproof.lab.engine.labels import SESSION, Session
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.session import session_on
from tuneproof.lab.network.machines import measure_paths
from tuneproof.lab.subject.images import role_images
from tuneproof.lab.topology.placed import Engines, parse_places, placed
from tuneproof.lab.topology.roles import Role

_TIMEOUT_S: Final = 60
# A swarm still lists a network for a moment after its removal.
_GONE_WITHIN_S: Final = 10.0
# The duration of a run, including its clean-up, on two engines of one machine with two CPUs.
_LATEST_S: Final = 30.0


def starts(times: int, places: Mapping[Role, str]) -> None:
    """Start a lab of netadmin containers this many times, and measure the path in it.

    Raises TimeoutError: A lab left something behind.
    """
    with placed(places) as engines, ExitStack() as stack:
        clients = _clients(engines, stack)
        names = [engine.name for engine in engines.used]
        session = stack.enter_context(session_on(dict(zip(names, clients, strict=True))))
        image = role_images()["netadmin"].tag
        for number in range(1, times + 1):
            began_s = time.monotonic()
            found = measure_paths(session, engines, image=image)
            took_s = time.monotonic() - began_s
            gone_after_s = wait_until(lambda: not _left(clients, session), within_s=_GONE_WITHIN_S)
            paths = "; ".join(path.line(role.value) for role, path in found.items())
            _say(f"{number:3}: {took_s:4.1f} s, nothing left after {gone_after_s:.1f} s; {paths}")


def kills(times: int, seed: int, places: Mapping[Role, str]) -> None:
    """Kill this many runs of a placed claim, and print each. TimeoutError: A run left something behind."""
    words = [word for role, engine in places.items() for word in ("--place", f"{role.value}={engine}")]
    instants = random.Random(seed)  # noqa: S311 - reproducible, not secret
    with placed(places) as engines, ExitStack() as stack, tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        clients = _clients(engines, stack)
        for number in range(1, times + 1):
            kill = kill_once(
                *clients,
                after_s=instants.uniform(0, _LATEST_S),
                results=Path(folder),
                arguments=[*SHORTEST_RUN, *words],
            )
            _say(
                f"{number:3}: killed after {kill.after_s:5.2f} s, {'alive' if kill.alive else 'ended'}, "
                f"{kill.resources} resources; nothing left after {kill.gone_after_s:.1f} s"
            )
            wait_until(lambda: not reapers(Path(folder)), within_s=GONE_WITHIN_S)


def _clients(engines: Engines, stack: ExitStack) -> list[docker.DockerClient]:
    reached = [connect(timeout_s=_TIMEOUT_S, environment=engine.environment or {}) for engine in engines.used]
    return [stack.enter_context(closing(client)) for client in reached]


def _left(clients: Sequence[docker.DockerClient], session: Session) -> list[str]:
    filters = {"label": f"{SESSION}={session.id}"}
    found = []
    for client in clients:
        found += [item["Names"][0] for item in client.api.containers(all=True, filters=filters)]
        found += [item["Name"] for item in client.api.networks(filters=filters)]
    return found


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(command: str, *words: str) -> None:
    if command == "starts":
        starts(int(words[0]), parse_places(words[1:]))
    else:
        kills(int(words[0]), int(words[1]), parse_places(words[2:]))


if __name__ == "__main__":
    main(*sys.argv[1:])
