"""Watching continues after reloads, restarts and changes of the level; fakes replace bpftrace and the kernel."""

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Final

import pytest

from tests.support.printed_maps import histogram, printed
from tuneproof.errors import BadInputError
from tuneproof.watch import watching
from tuneproof.watch.levels import Levels
from tuneproof.watch.program import WATCHED, Architecture
from tuneproof.watch.watching import Watching
from tuneproof.watch.workers import Worker

ONE, TWO = Worker(pid=4711, name="nginx"), Worker(pid=4712, name="nginx")


ANY_LOAD: Final = partial(Levels, most_calls_per_s=math.inf)


@dataclass
class Kernel:
    """A fake kernel: the watched PIDs, the programs started, and how many of them are running."""

    watched: set[int] = field(default_factory=set)
    programs: list[str] = field(default_factory=list)
    running: int = 0


class FakeTracer:
    """A fake bpftrace: each time a second has been read, it prints the next one."""

    pid = 99

    def __init__(self, kernel: Kernel, program: str) -> None:
        self._kernel, self._ended = kernel, False
        kernel.programs.append(program)
        kernel.running += 1
        self._lines = self._printed()

    def _printed(self) -> Iterator[str]:
        yield printed("began 99")
        for number in count(1):
            yield histogram(e16=number)
            yield printed(f"second {time.monotonic_ns()}")

    def line(self, _timeout_s: float) -> str:
        return next(self._lines)

    def finish(self) -> Iterator[str]:
        return iter(())

    def close(self) -> None:
        self._kernel.running -= not self._ended
        self._ended = True


class FakeMap:
    def __init__(self, kernel: Kernel, _here: Architecture, *, owner: Path, name: str) -> None:
        assert owner == Path("/proc/99")
        self._keys = kernel.watched if name == WATCHED else set()
        self._keys.clear()

    def put(self, key: int, _value: int) -> None:
        self._keys.add(key)

    def drop(self, key: int) -> None:
        self._keys.discard(key)

    def close(self) -> None: ...


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Kernel:
    of = Kernel()
    monkeypatch.setattr(watching, "Tracer", partial(FakeTracer, of))
    monkeypatch.setattr(watching, "KernelMap", partial(FakeMap, of))
    monkeypatch.setattr(watching, "check_host", lambda: None)
    monkeypatch.setattr(watching, "is_there", lambda _: False)
    monkeypatch.setattr(watching, "_LOOKS_FIRST_S", 0)
    monkeypatch.setattr(watching, "_LOOKS_EVERY_S", 0)
    return of


def seen_by(of: Watching, seconds: int) -> Iterator[set[int]]:
    """Yield the workers of each second, for this many seconds."""
    for number, made in enumerate(of.run(), start=1):
        yield {each.worker for each in made}
        if number == seconds:
            of.stop()


def test_the_program_is_not_replaced_when_workers_come_and_go(kernel: Kernel) -> None:
    """The nginx of these workers is reloaded, ends, and is started again."""
    workers: list[tuple[Worker, ...]] = [(ONE,), (ONE, TWO), (TWO,), (), (), (ONE,)]

    def find() -> tuple[Worker, ...]:
        found = workers.pop(0) if len(workers) > 1 else workers[0]
        if not found:
            raise BadInputError("No nginx was found.")
        return found

    of = Watching(find=find, lasts_s=None, levels=ANY_LOAD())
    assert [*seen_by(of, 4)] == [{4711}, {4711, 4712}, {4712}, {4711}]
    assert kernel.watched == {4711}
    assert (len(kernel.programs), kernel.running) == (1, 0)
    assert [note.partition(": ")[2] for note in of.notes[:-1]] == [
        "1 worker started: 4712",
        "1 worker ended: 4711",
        "1 worker ended: 4712",
        "1 worker started: 4711",
    ]


def test_a_second_nginx_next_to_the_watched_one_changes_nothing(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At the start, two nginx would have been an error without --all."""
    monkeypatch.setattr(watching, "is_there", lambda _: True)
    first = iter([(ONE,)])

    def find() -> tuple[Worker, ...]:
        try:
            return next(first)
        except StopIteration:
            raise BadInputError("Several nginx run here.") from None

    assert [*seen_by(Watching(find=find, lasts_s=None, levels=ANY_LOAD()), 2)] == [{4711}, {4711}]
    assert kernel.watched == {4711}


def test_a_change_of_the_level_starts_another_program_for_the_same_workers(kernel: Kernel) -> None:
    """The previous program ends as soon as the new one runs."""
    of = Watching(find=lambda: (ONE, TWO), lasts_s=None, levels=Levels(most_calls_per_s=1))
    seen = [(["raw_syscalls" in program for program in kernel.programs], kernel.running) for _ in seen_by(of, 4)]
    assert seen[-1] == ([True, False], 1)
    assert kernel.watched == {4711, 4712}
    assert kernel.running == 0
    assert any("from here on one in 16 iterations" in note for note in of.notes)


def test_watching_ends_after_the_requested_time(kernel: Kernel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each reading of the clock advances it by a second, so that a pause of this machine does not matter."""
    readings = count()
    clock = SimpleNamespace(monotonic=readings.__next__, monotonic_ns=time.monotonic_ns, sleep=time.sleep)
    monkeypatch.setattr(watching, "time", clock)
    assert [*Watching(find=lambda: (ONE,), lasts_s=60, levels=ANY_LOAD()).run()]
    assert 60 < next(readings) < 80
    assert kernel.running == 0


def test_a_failure_leaves_no_program_running(kernel: Kernel) -> None:
    """``find`` fails with an unexpected error while a program runs."""
    found = iter([(ONE,)])
    of = Watching(find=lambda: next(found), lasts_s=None, levels=ANY_LOAD())
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(of.run())
    assert (len(kernel.programs), kernel.running) == (1, 0)
