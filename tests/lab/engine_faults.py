"""Makes one engine call fail in each of many runs, and checks the outcomes.

``python -m tests.lab.engine_faults lost``: in each run of one claim, the response to one call is lost.
``python -m tests.lab.engine_faults two``: the same with two scenarios; the one that does not need the call must be
decided.
``python -m tests.lab.engine_faults drawn``: random calls and other faults, also in runs with a user's own nginx, and in
doctor.

Further arguments: the number of faults (default: 60), spread evenly over the calls or random, and a seed (default: 1).
The program fails if anything is left behind, if a traceback is shown, if fewer than nine in ten claims are decided, or
if one fault prevents more than one verdict.
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
_LEAST_SHARE: Final = 0.9
# Much longer than any of these runs, which use a separate lock and do not wait for others.
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
class Outcome:
    calls: tuple[str, ...]  # method and path of each engine call
    decided: int  # claims
    status: int
    output: str
    left: tuple[str, ...]  # resources that still existed two minutes later

    @property
    def is_clean(self) -> bool:
        return not self.left and "Traceback" not in self.output


def outcome_of(point: Point, client: docker.DockerClient, *, folder: Path) -> Outcome:
    """Run a command on an engine with one fault."""
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
    return Outcome(
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
    """Yield the faults of a series, random or spread evenly over a command's calls."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    for number in range(most):
        if series == "drawn":
            fault = chance.choice([Fault.REFUSED, Fault.RESET, Fault.SLOW])
            yield Drawn(command=chance.choice(commands), fault=fault, share=chance.random())
        else:
            yield Drawn(command=commands[0], fault=Fault.LOST, share=number / most)


def main(series: str, most: int, seed: int) -> int:
    """Print each fault with its outcome, and the totals; return the exit status."""
    client = connect()
    with tempfile.TemporaryDirectory(prefix="tuneproof-") as folder:
        own = Path(folder, "nginx.conf")
        own.write_text(OWN, encoding="utf-8")
        three: tuple[tuple[str, ...], ...] = (("doctor",), ("run", "--nginx-conf", str(own), "--seed", "1"), ONE)
        commands: Sequence[tuple[str, ...]] = {"lost": (ONE,), "two": (TWO,), "drawn": three}[series]

        def measured(point: Point) -> Outcome:
            with tempfile.TemporaryDirectory(prefix="point-", dir=folder) as place:
                return outcome_of(point, client, folder=Path(place))

        whole: dict[tuple[str, ...], Outcome] = {}
        for command in commands:
            outcome = whole[command] = measured(Point(command=command, fault=Fault.LOST, at=0))
            sys.stdout.write(
                f"without a fault: {' '.join(command)}: {len(outcome.calls)} calls, {_summary(outcome, of=outcome)}\n"
            )
            sys.stdout.flush()
        outcomes, asked, unclean, lost_all = [], 0, 0, 0
        for number, drawn in enumerate(points(series, commands, most=most, seed=seed), start=1):
            point, outcome = hit(drawn, measured, calls=len(whole[drawn.command].calls))
            outcomes.append(outcome)
            of = whole[point.command]
            asked += of.decided
            unclean += not outcome.is_clean
            lost_all += of.decided > 1 and outcome.decided < of.decided - 1
            at = outcome.calls[point.at - 1]
            sys.stdout.write(
                f"{number:3}: {point.fault} at {point.at} ({at}) of {point.command[0]}: {_summary(outcome, of=of)}\n"
            )
            if not outcome.is_clean or outcome.decided < of.decided:
                sys.stdout.write(f"{outcome.output}\n{' '.join(outcome.left)}\n")
            sys.stdout.flush()
    client.close()
    decided = sum(outcome.decided for outcome in outcomes)
    sys.stdout.write(
        f"{decided} of {asked} claims decided; {unclean} of {len(outcomes)} not clean; "
        f"{lost_all} prevented more than one verdict\n"
    )
    return int(decided < _LEAST_SHARE * asked or bool(unclean or lost_all))


def hit(drawn: Drawn, measured: Callable[[Point], Outcome], *, calls: int) -> tuple[Point, Outcome]:
    """Run a command with a fault; repeat it if it ends before that call, since the number of calls varies a little."""
    while True:
        point = Point(command=drawn.command, fault=drawn.fault, at=1 + math.floor(drawn.share * calls))
        outcome = measured(point)
        if point.at <= len(outcome.calls):
            return point, outcome
        calls = len(outcome.calls)


def _summary(outcome: Outcome, *, of: Outcome) -> str:
    decided = f"{outcome.decided} of {of.decided} decided, " if of.decided else ""
    return f"{decided}status {outcome.status}{'' if outcome.is_clean else ', NOT CLEAN'}"


def _arguments(given: Sequence[str]) -> tuple[str, int, int]:
    series, *numbers = given
    most, seed = [*map(int, numbers), *(60, 1)[len(numbers) :]]
    return series, most, seed


if __name__ == "__main__":
    sys.exit(main(*_arguments(sys.argv[1:])))
