"""Runs one parser on many inputs in this process. Only a result or MalformedEvidenceError is right."""

import random
import resource
import signal
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from tests.fuzz.mutate import mutated
from tuneproof.explain.parse.problems import MalformedEvidenceError

HANG_S: Final = 5.0
MEMORY_BYTES: Final = 512 << 20
_KEPT_OF_A_KIND: Final = 3


class HangError(BaseException):
    """An input took too long.

    This is not an ``Exception``, so a parser's ``except Exception`` does not catch it.
    """


@dataclass(frozen=True, kw_only=True)
class Target:
    name: str
    read: Callable[[bytes], None]  # parses an input, and computes everything that depends on the result
    seeds: Sequence[bytes]  # valid inputs
    places: bool = False  # whether each error must have a line, a column or an offset


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An input that was neither parsed nor rejected as it should be."""

    number: int  # the input's number, which reproduces it together with the seed
    content: bytes
    trace: str


@dataclass(kw_only=True)
class Tally:
    """The results of a parser's inputs."""

    name: str
    parsed: int = 0
    rejected: int = 0  # inputs rejected with MalformedEvidenceError
    failures: Counter[str] = field(default_factory=Counter)  # other errors, or errors without a place; by type and line
    kept: list[Failure] = field(default_factory=list)  # the first three failures of each kind

    def fail(self, number: int, content: bytes, error: BaseException) -> None:
        """Count a failure by exception and line; only by exception if time, stack or memory ran out."""
        is_anywhere = isinstance(error, HangError | MemoryError | RecursionError)
        frames = [] if is_anywhere else traceback.extract_tb(error.__traceback__)[-1:]
        place = "".join(f" in {Path(frame.filename).name}:{frame.lineno}" for frame in frames)
        kind = f"{type(error).__name__}{place}"
        self.failures[kind] += 1
        if self.failures[kind] <= _KEPT_OF_A_KIND:
            trace = "".join(traceback.format_exception(error))
            self.kept.append(Failure(number=number, content=content, trace=trace))

    def keep(self, folder: Path) -> None:
        """Write each kept failure to two files: the input, and its traceback next to it."""
        for failure in self.kept:
            folder.mkdir(parents=True, exist_ok=True)
            path = folder / f"{self.name}-{failure.number}"
            path.with_suffix(".input").write_bytes(failure.content)
            path.with_suffix(".txt").write_text(failure.trace, encoding="utf-8", errors="backslashreplace")


def run(
    target: Target, *, inputs: int, seed: int = 0, hang_s: float = HANG_S, memory_bytes: int = MEMORY_BYTES
) -> Tally:
    """Run a parser.

    ``hang_s``: CPU time that an input may take; not wall-clock time, since the machine may have other work.
    ``memory_bytes``: address space that the process may add.
    """
    tally = Tally(name=target.name)
    with _bounded(memory_bytes):
        for number in range(inputs):
            content = input_of(target, number, seed=seed)
            # The timer repeats, because an exception that is raised in a destructor is lost.
            signal.setitimer(signal.ITIMER_PROF, hang_s, hang_s)
            try:
                target.read(content)
                tally.parsed += 1
            except MalformedEvidenceError as error:
                if target.places and {error.line, error.column, error.offset} == {None}:
                    tally.fail(number, content, error)
                else:
                    tally.rejected += 1
            except (Exception, HangError) as error:  # noqa: BLE001 - every other exception is a failure
                signal.setitimer(signal.ITIMER_PROF, 0)
                tally.fail(number, content, error)
            finally:
                signal.setitimer(signal.ITIMER_PROF, 0)
    return tally


def input_of(target: Target, number: int, *, seed: int) -> bytes:
    """Return the input with this number; it does not depend on the inputs before it."""
    chance = random.Random(f"{seed}/{target.name}/{number}")  # noqa: S311 - reproducible, not secret
    return mutated(target.seeds, chance)


@contextmanager
def _bounded(memory_bytes: int) -> Iterator[None]:
    """Limit memory, raise HangError when the timer expires, and turn warnings, which users would see, into failures."""

    def end(_number: int, _frame: FrameType | None) -> None:
        raise HangError

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    before = signal.signal(signal.SIGPROF, end)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + memory_bytes, hard))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.signal(signal.SIGPROF, before)
