"""``python -m tests.lab.sigkill [TIMES] [SEED]`` kills pytest at random instants, and checks that nothing is left.

The instants are uniformly distributed over the shortest run, from the interpreter's start to the end of clean-up. The
results are not used, so the runs have a separate lock, and do not wait for other runs on the engine.
"""

import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import docker

from tests.lab.children import GONE_WITHIN_S, SHORTEST_RUN, reapers, resources_of, start_pytest, wait_until
from tests.lab.engine_proxy import Fault, FaultyEngine
from tuneproof.lab.engine.reach import connect, find_endpoint


@dataclass(frozen=True, kw_only=True)
class Kill:
    after_s: float  # time until the kill, from the run's start, or from the moment when it had ``has`` resources
    alive: bool  # whether it was still running then
    resources: int  # number of containers, networks and volumes at that instant
    gone_after_s: float  # time until nothing was left


def kill_once(
    client: docker.DockerClient,
    *,
    after_s: float,
    results: Path,
    has: int = 0,
    environment: Mapping[str, str] | None = None,
) -> Kill:
    """Start a run, kill it, and wait until none of its containers, networks and volumes is left.

    ``after_s`` begins once the run has created ``has`` resources. When this returns, the reaper still watches for a few
    seconds. Raises TimeoutError: Something was left after two minutes.
    """
    child = start_pytest(*SHORTEST_RUN, results=results, environment=environment)
    try:
        wait_until(
            lambda: child.poll() is not None or len(resources_of(client, child.pid)) >= has, within_s=GONE_WITHIN_S
        )
        child.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        alive = True
    else:
        alive = False
    resources = len(resources_of(client, child.pid))
    child.kill()
    child.communicate()
    gone_after_s = wait_until(lambda: not resources_of(client, child.pid), within_s=GONE_WITHIN_S)
    return Kill(after_s=after_s, alive=alive, resources=resources, gone_after_s=gone_after_s)


def life_s(results: Path, environment: Mapping[str, str]) -> float:
    """Return how long the shortest run takes on this machine if nothing kills it."""
    began_s = time.monotonic()
    start_pytest(*SHORTEST_RUN, results=results, environment=environment).communicate()
    return time.monotonic() - began_s


def main(times: int, seed: int) -> None:
    """Kill this many runs, print each, and fail at the first that leaves something behind."""
    instants = random.Random(seed)  # noqa: S311 - reproducible, not secret
    client = connect()
    target = find_endpoint().address.removeprefix("unix://")
    with (
        tempfile.TemporaryDirectory(prefix="tuneproof-") as folder,
        FaultyEngine(target, Path(folder, "engine.sock"), fault=Fault.LOST) as engine,
    ):
        environment = {"DOCKER_HOST": engine.address}
        lasts_s = life_s(Path(folder), environment)
        for number in range(1, times + 1):
            kill = kill_once(
                client, after_s=instants.uniform(0, lasts_s), results=Path(folder), environment=environment
            )
            sys.stdout.write(
                f"{number:3}: killed after {kill.after_s:5.2f} s, {'alive' if kill.alive else 'ended'}, "
                f"{kill.resources} resources; nothing left after {kill.gone_after_s:.1f} s\n"
            )
            sys.stdout.flush()
            wait_until(lambda: not reapers(Path(folder)), within_s=GONE_WITHIN_S)
    client.close()


if __name__ == "__main__":
    arguments = [int(argument) for argument in sys.argv[1:]]
    main(*arguments, *(50, 1)[len(arguments) :])
