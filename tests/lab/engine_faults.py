"""Lets one engine call fail in each of many runs, and checks the consequences.

``python -m tests.lab.engine_faults lost``: the response to each call of one claim's run is lost, one call in each run.
``python -m tests.lab.engine_faults two``: the same with two scenarios; the scenario that does not need the call is
decided.
``python -m tests.lab.engine_faults drawn``: points drawn by a seed, with other faults, and also for runs with a user's
own nginx, and for doctor.

Further arguments: how many points (default: 60), spread evenly over the calls or drawn, and a seed (default: 1). The
program fails if anything is left behind, if a traceback is shown, or if fewer than nine in ten claims are decided (with
two scenarios: fewer than one in each run).
"""

import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import docker

from tests.lab.children import GONE_WITHIN_S, resources_of, wait_until
from tests.lab.engine_proxy import Fault, FaultyEngine
from tests.support.places import CHECKOUT
from tuneproof.errors import TuneproofError
from tuneproof.lab.engine.reach import connect, find_endpoint
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.report.results.run_file import load

OWN: Final = "events {} http { server { listen 80; location / { proxy_pass http://127.0.0.1:8080; } } }\n"
ONE: Final = ("run", "-k", "long_backlog_spares_connects", "--seed", "1")
TWO: Final = ("run", "-k", "long_backlog_spares_connects or rate_limit_breaks_pages", "--seed", "1")
_DECIDED: Final = frozenset({Verdict.HOLDS, Verdict.REFUTED})
_MOST: Final = 0.9
# While others use the engine, a run waits for its lock.
_LASTS_S: Final = 3600.0


@dataclass(frozen=True, kw_only=True)
class Point:
    """A command, and the number of the engine call that fails; 0 for none."""

    command: tuple[str, ...]
    fault: Fault
    at: int


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A command, a fault, and the share of the command's calls after which the fault occurs."""

    command: tuple[str, ...]
    fault: Fault
    share: float


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The consequences of a fault."""

    calls: tuple[str, ...]  # containers, networks and volumes made by the run
    decided: int  # claims
    status: int
    output: str
    left: tuple[str, ...]  # the resources left two minutes later

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left behind, and no traceback is shown."""
        return not self.left and "Traceback" not in self.output


def cost_of(point: Point, client: docker.DockerClient, *, folder: Path) -> Cost:
    """Run a command on an engine that fails once."""
    results = folder / "results"
    target = find_endpoint().address.removeprefix("unix://")
    with FaultyEngine(target, folder / "engine.sock", fault=point.fault, at=point.at) as engine:
        more = ("--results", str(results)) if point.command[0] == "run" else ()
        child = subprocess.Popen(
            [sys.executable, "-m", "tuneproof.cli", *point.command, *more],
            cwd=CHECKOUT,
            env={**os.environ, "DOCKER_HOST": engine.address},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        output, _ = child.communicate(timeout=_LASTS_S)
        try:
            wait_until(lambda: not resources_of(client, child.pid), within_s=GONE_WITHIN_S)
        except TimeoutError:
            left = resources_of(client, child.pid)
        else:
            left = []
        calls = tuple(engine.calls)
    return Cost(
        calls=calls,
        decided=_decided(results),
        status=child.returncode,
        output=output,
        left=tuple(left),
    )


def _decided(results: Path) -> int:
    try:
        return sum(cell.verdict in _DECIDED for cell in load(results / "latest").cells)
    except TuneproofError:
        return 0


def points(series: str, commands: Sequence[tuple[str, ...]], *, most: int, seed: int) -> Iterator[Drawn]:
    """Yield the points of a series: drawn by a seed, or spread evenly over a command's calls."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    for number in range(most):
        if series == "drawn":
            fault = chance.choice([Fault.REFUSED, Fault.RESET, Fault.SLOW])
            yield Drawn(command=chance.choice(commands), fault=fault, share=chance.random())
        else:
            yield Drawn(command=commands[0], fault=Fault.LOST, share=number / most)


def main(series: str, most: int, seed: int) -> int:
    """Print each point with its consequences, and the totals; return the exit status."""
    client = connect()
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        own = Path(folder, "nginx.conf")
        own.write_text(OWN, encoding="utf-8")
        three: tuple[tuple[str, ...], ...] = (("doctor",), ("run", "--nginx-conf", str(own), "--seed", "1"), ONE)
        commands: Sequence[tuple[str, ...]] = {"lost": (ONE,), "two": (TWO,), "drawn": three}[series]

        def measured(point: Point) -> Cost:
            with tempfile.TemporaryDirectory(prefix="point-", dir=folder) as place:
                return cost_of(point, client, folder=Path(place))

        whole: dict[tuple[str, ...], Cost] = {}
        for command in commands:
            cost = whole[command] = measured(Point(command=command, fault=Fault.LOST, at=0))
            sys.stdout.write(f"without a fault: {' '.join(command)}: {len(cost.calls)} calls, {_told(cost, of=cost)}\n")
            sys.stdout.flush()
        costs, asked, unclean, lost_all = [], 0, 0, 0
        for number, drawn in enumerate(points(series, commands, most=most, seed=seed), start=1):
            point, cost = hit(drawn, measured, calls=len(whole[drawn.command].calls))
            costs.append(cost)
            of = whole[point.command]
            asked += of.decided
            unclean += not cost.is_clean
            lost_all += of.decided > 1 and cost.decided < of.decided - 1
            at = cost.calls[point.at - 1]
            sys.stdout.write(
                f"{number:3}: {point.fault} at {point.at} ({at}) of {point.command[0]}: {_told(cost, of=of)}\n"
            )
            if not cost.is_clean or cost.decided < of.decided:
                sys.stdout.write(f"{cost.output}\n{' '.join(cost.left)}\n")
            sys.stdout.flush()
    client.close()
    decided = sum(cost.decided for cost in costs)
    sys.stdout.write(
        f"{decided} of {asked} claims decided; {unclean} of {len(costs)} not clean; "
        f"{lost_all} cost more than the scenario that they hit\n"
    )
    return int(decided < _MOST * asked or bool(unclean or lost_all))


def hit(drawn: Drawn, measured: Callable[[Point], Cost], *, calls: int) -> tuple[Point, Cost]:
    """Repeat a point until its call is made: a run that waits for the engine's lock makes more calls."""
    while True:
        point = Point(command=drawn.command, fault=drawn.fault, at=1 + math.floor(drawn.share * calls))
        cost = measured(point)
        if point.at <= len(cost.calls):
            return point, cost
        calls = len(cost.calls)


def _told(cost: Cost, *, of: Cost) -> str:
    decided = f"{cost.decided} of {of.decided} decided, " if of.decided else ""
    return f"{decided}status {cost.status}{'' if cost.is_clean else ', NOT CLEAN'}"


def _arguments(given: Sequence[str]) -> tuple[str, int, int]:
    series, *numbers = given
    most, seed = [*map(int, numbers), *(60, 1)[len(numbers) :]]
    return series, most, seed


if __name__ == "__main__":
    sys.exit(main(*_arguments(sys.argv[1:])))
