"""``python -m tests.lab.watch_series NAME [TIMES]`` runs a series for the figures of docs/watch.md.

The series are ``stalls``, ``healthy``, ``many-stalls``, ``many-healthy``, ``bytes``, ``url-stalls``, ``url-healthy``,
``kills``, ``cost`` and ``cost-of-calls`` (one for each level of detail), and ``idle``, which watches for an hour. The
runs of a series use one lab, one after the other, and are printed and counted. The machine may do other work meanwhile.
"""

import os
import random
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Final

from fixtures.engine import BuiltImages
from tests.lab.turn_stages import started
from tests.lab.watched_nginx import (
    CONFIG,
    FINE,
    bytes_agree,
    from_outside,
    killed,
    loaded,
    many_workers,
    no_stall_is_found_among_many,
    nothing_is_found,
    only_the_stalled_of_many_is_named,
    pids,
    stall_is_named,
    watched,
    wrk,
)
from tuneproof.errors import LabError
from tuneproof.lab.engine.images import ensure_images
from tuneproof.lab.engine.lease import lease_of
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.session import session_on
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.subject.images import role_images, subject_images
from tuneproof.lab.subject.versions import DEFAULT_VERSION
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.hosts import read_snapshot
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.watch.levels import Levels
from tuneproof.watch.program import Level
from tuneproof.watch.watching import run_times

_IDLE_S: Final = 3600.0
_PAIR_S: Final = 6


@contextmanager
def a_stage() -> Iterator[Stage]:
    """Start a lab in which nginx has two workers and the recorder."""
    client = connect(timeout_s=600)
    roles, subjects = role_images(), subject_images([DEFAULT_VERSION])
    ensure_images(client, [*roles.values(), *subjects.values()], report=_say)
    images = BuiltImages(
        roles={name: image.tag for name, image in roles.items()},
        subjects={version: image.tag for version, image in subjects.items()},
    )
    with session_on({"": client}) as session:
        with lease_of(client, session=session, image=images.roles["netadmin"]) as lease:
            placement = CpuPlacement.on(read_snapshot(lease.printed()).cpus)
        own = Subject(name="subject", config=CONFIG, records_turns=True)
        with started(placement, session, images, DEFAULT_VERSION, own) as (_, stage):
            yield stage
    client.close()


def url_stalls(of: Stage) -> str:
    """Watch a URL while one of two workers gets load; the load starts again whenever it has ended."""
    with ThreadPoolExecutor(1) as pool:
        looking = pool.submit(from_outside, of)
        while not looking.done():
            with loaded(of):
                pass
    said = looking.result()
    assert "Found:" in said, said
    return said


def url_healthy(of: Stage) -> str:
    said = from_outside(of)
    assert "Found:" not in said, said
    return said


def idle(of: Stage) -> str:
    seen = watched(of, _IDLE_S)
    assert not seen.signs, seen.text
    return seen.text


def kill(of: Stage) -> str:
    after_s = random.uniform(0.1, 6)  # noqa: S311 - a random moment, not secret
    killed(of, after_s)
    return f"after {after_s:.1f} s: nothing left"


def cost(of: Stage, levels: Callable[[], Levels]) -> str:
    """Measure the workers' CPU time per request under full load, once without and once with watching, in random order.

    CPU time is compared because other programs on the machine affect requests per second.
    """
    notes: list[str] = []

    def without_it() -> float:
        before_s = ran_s(of)
        answered = _PAIR_S * wrk(of, connections=4, lasts_s=_PAIR_S)
        return (ran_s(of) - before_s) / answered

    def with_it() -> float:
        took_s: list[float] = []
        notes.extend(watched(of, None, lambda: took_s.append(without_it()), levels=levels()).notes)
        return took_s[0]

    first, second = random.sample([without_it, with_it], 2)
    took_s = {first: first(), second: second()}
    _PAIRS.append(took_s[with_it] / took_s[without_it])
    return f"{1e6 * took_s[without_it]:.2f} us per request, watched {1e6 * took_s[with_it]:.2f}; {'; '.join(notes)}"


def ran_s(of: Stage) -> float:
    """Return how long the workers have run on a CPU."""
    return sum(found[0] for pid in pids(of) if (found := run_times(pid)))


_PAIRS: Final[list[float]] = []  # CPU time per request, watched ÷ not watched


def _costs() -> str:
    return (
        f"; CPU time per request, watched ÷ not: {statistics.median(_PAIRS):.3f} (median of {len(_PAIRS)} pairs; "
        f"{min(_PAIRS):.3f} to {max(_PAIRS):.3f})"
    )


def many(run: Callable[[Stage], str]) -> Callable[[Stage], str]:
    """Return a run with a second nginx that has 128 workers."""

    def with_many(of: Stage) -> str:
        with many_workers(of):
            return run(of)

    return with_many


SERIES: Final[Mapping[str, tuple[Callable[[Stage], object], int]]] = {
    "stalls": (stall_is_named, 20),
    "healthy": (nothing_is_found, 20),
    "many-stalls": (many(only_the_stalled_of_many_is_named), 20),
    "many-healthy": (many(no_stall_is_found_among_many), 20),
    "bytes": (bytes_agree, 3),
    "url-stalls": (url_stalls, 20),
    "url-healthy": (url_healthy, 20),
    "kills": (kill, 50),
    "cost": (partial(cost, levels=partial(Levels, level=Level.ITERATIONS, most_calls_per_s=0)), 10),
    "cost-of-calls": (partial(cost, levels=FINE), 10),
    "idle": (idle, 1),
}
"""The series, and how often each one runs by default."""


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main(name: str, times: str = "") -> None:
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
                # A run without its load is void. The load's programs may still hold connections.
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
