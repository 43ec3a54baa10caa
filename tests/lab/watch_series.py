"""The series behind docs/watch.md: ``python -m tests.lab.watch_series NAME [TIMES]`` prints each run, and n of TIMES.

In one lab, all runs of a series one after the other: ``stalls``, ``healthy``, ``many-stalls``, ``many-healthy``,
``bytes``, ``url-stalls``, ``url-healthy``, ``kills`` and ``cost``; ``idle`` watches for an hour. All but ``cost`` may
run beside other work.
"""

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Final

from fixtures.engine import BuiltImages
from tests.lab.test_turns import started
from tests.lab.test_watch import (
    CONFIG,
    Watched,
    bytes_agree,
    from_outside,
    killed,
    loaded,
    many_workers,
    none_of_many_is_blamed,
    nothing_is_found,
    one_of_many_is_named,
    stall_is_named,
    watched,
    wrk,
)
from tuneproof.errors import LabError
from tuneproof.lab.engine.images import ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.lease import lease_of
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.reaper import Reaper
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.subject.images import role_images, subject_images
from tuneproof.lab.subject.versions import DEFAULT_VERSION
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.hosts import read_snapshot
from tuneproof.proof.scenario.placement import CpuPlacement

_IDLE_S: Final = 3600.0
_PAIR_S: Final = 6
_BEGINS_S: Final = 1.0
_LEAST_RATE: Final = 10_000


@contextmanager
def a_stage() -> Iterator[Stage]:
    """A lab of one subject with two workers and the recorder inside."""
    client = connect(timeout_s=600)
    roles, subjects = role_images(), subject_images([DEFAULT_VERSION])
    ensure_images(client, [*roles.values(), *subjects.values()], report=_say)
    images = BuiltImages(
        roles={name: image.tag for name, image in roles.items()},
        subjects={version: image.tag for version, image in subjects.items()},
    )
    session = Session()
    with Reaper(session):
        with lease_of(client, session=session, image=images.roles["netadmin"]) as lease:
            placement = CpuPlacement.on(read_snapshot(lease.printed()).cpus)
        own = Subject(name="subject", config=CONFIG, records_turns=True)
        with started(placement, session, images, DEFAULT_VERSION, own) as (_, stage):
            yield stage
    client.close()


def url_stalls(of: Stage) -> str:
    """From outside: one of two workers is loaded, again and again, since downloads end."""
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(from_outside, of)
        while not looking.done():
            with loaded(of):
                pass
    said = looking.result()
    assert "Found:" in said, said
    return said


def url_healthy(of: Stage) -> str:
    """From outside: nothing is wrong, but perhaps with the machine."""
    said = from_outside(of)
    assert "Found:" not in said, said
    return said


def idle(of: Stage) -> str:
    """An hour in which nginx has nothing to do."""
    seen = watched(of, _IDLE_S)
    assert not seen.signs, seen.text
    return seen.text


def kill(of: Stage) -> str:
    """Kill it at a random moment."""
    after_s = random.uniform(0.1, 6)  # noqa: S311 - a moment, no secret
    killed(of, after_s)
    return f"after {after_s:.1f} s: nothing left"


def cost(of: Stage) -> str:
    """One pair, in random order: requests per second without watching and with it; and the kernel's account."""

    def with_it() -> float:
        answered: list[float] = []

        def load() -> None:
            time.sleep(_BEGINS_S)
            answered.append(wrk(of, connections=4, lasts_s=_PAIR_S))

        seen.append(watched(of, None, load))
        return answered[0]

    seen: list[Watched] = []
    requests: dict[bool, float] = {}
    with ThreadPoolExecutor(1) as pool:
        # One load for both, so that the program that fits it runs from the start.
        load = pool.submit(wrk, of, connections=4, lasts_s=4 * _PAIR_S)
        time.sleep(_BEGINS_S)
        for watches in random.sample([False, True], 2):
            requests[watches] = with_it() if watches else wrk(of, connections=4, lasts_s=_PAIR_S)
        load.result()
    share, loops = seen[0].cost_share, seen[0].loops
    assert share is not None, "the kernel keeps no account"
    rate = max(loop.iterations / loop.watched_s for loop in loops)
    if rate < _LEAST_RATE:
        raise LabError(f"The machine is too busy for this load: {rate:.0f} iterations/s.")
    each = share / len([loop for loop in loops if loop.iterations])
    _PAIRS.append((requests[True] / requests[False], each, rate))
    said = (
        f"{requests[False]:.0f} requests/s, watched {requests[True]:.0f}; {rate:.0f} iterations/s; {seen[0].notes[-1]}"
    )
    assert each <= MOST_COST_SHARE, said
    return said


MOST_COST_SHARE: Final = 0.03
"""Of a CPU, for each worker at 30,000 iterations per second, and its share of what other processes pay."""
_PAIRS: Final[list[tuple[float, float, float]]] = []  # requests watched ÷ not watched; the cost; iterations per second


def _costs() -> str:
    ratios, shares, rates = zip(*_PAIRS, strict=True)
    return (
        f"; requests/s watched ÷ not {statistics.median(ratios):.3f} (median; {min(ratios):.3f} to {max(ratios):.3f}); "
        f"of a CPU per worker {statistics.median(shares):.2%} (median), {max(shares):.2%} at most, at "
        f"{statistics.median(rates):.0f} iterations/s"
    )


def many(run: Callable[[Stage], str]) -> Callable[[Stage], str]:
    """Have 128 workers for it."""

    def with_many(of: Stage) -> str:
        with many_workers(of):
            return run(of)

    return with_many


SERIES: Final[Mapping[str, tuple[Callable[[Stage], object], int]]] = {
    "stalls": (stall_is_named, 20),
    "healthy": (nothing_is_found, 20),
    "many-stalls": (many(one_of_many_is_named), 20),
    "many-healthy": (many(none_of_many_is_blamed), 20),
    "bytes": (bytes_agree, 3),
    "url-stalls": (url_stalls, 20),
    "url-healthy": (url_healthy, 20),
    "kills": (kill, 50),
    "cost": (cost, 10),
    "idle": (idle, 1),
}
"""What is run, and how often."""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(name: str, times: str = "") -> None:
    """Run a series."""
    run, usual = SERIES[name]
    number = int(times or usual)
    held = void = 0
    with a_stage() as stage:
        for at in range(1, number + 1):
            try:
                said = run(stage)
            except AssertionError as error:
                _say(f"{at:3}: NOT: {error}")
            except LabError as error:
                # A load that did not run says nothing; its programs may hold connections still.
                void += 1
                stage.programs.restart()
                _say(f"{at:3}: void: {error}")
            else:
                held += 1
                _say(f"{at:3}: {said if isinstance(said, str) else 'held'}")
    loads = "/".join(f"{load:.0f}" for load in os.getloadavg())
    more = _costs() if _PAIRS else ""
    _say(f"{name}: {held} of {number - void}; void: {void}; load of the last 1/5/15 minutes: {loads}{more}")
    sys.exit(held < number)


if __name__ == "__main__":
    main(*sys.argv[1:])
