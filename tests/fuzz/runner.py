"""Runs one parser on many inputs, in this process: an answer or the one error is right, all else is a failure."""

import random
import resource
import signal
import time
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
_MIB: Final = 1 << 20


class HangError(BaseException):
    """An input took too long. No ``Exception``: a parser that turns those into its own error shall not catch it."""


@dataclass(frozen=True, kw_only=True)
class Target:
    """A parser.

    Attributes:
        name: What to call it.
        read: Parses an input, computes all that is computed from the answer, and returns nothing.
        seeds: Inputs that can be read.
    """

    name: str
    read: Callable[[bytes], None]
    seeds: Sequence[bytes]
    places: bool = False  # whether each refusal says where the input goes wrong


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An input that was neither answered nor refused.

    Attributes:
        number: Its number; with the seed it makes the input again.
        kind: The exception's type, and the place that raised it.
        content: The input.
        trace: The traceback.
    """

    number: int
    kind: str
    content: bytes
    trace: str


@dataclass(kw_only=True)
class Tally:
    """What became of a parser's inputs.

    Attributes:
        name: The parser's name.
        inputs: Number of inputs.
        answers: Those that were read.
        errors: Those that were refused with MalformedEvidenceError.
        failures: All others by kind.
        kept: The first three failures of each kind.
        slowest_ms: CPU time of the slowest input.
        slowest: That input's number.
        growth_bytes: Most resident memory, above what there was before.
    """

    name: str
    inputs: int = 0
    answers: int = 0
    errors: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    kept: list[Failure] = field(default_factory=list)
    slowest_ms: float = 0.0
    slowest: int = 0
    growth_bytes: int = 0


def run(
    target: Target, *, inputs: int, seed: int = 0, hang_s: float = HANG_S, memory_bytes: int = MEMORY_BYTES
) -> Tally:
    """Run a parser.

    Args:
        target: The parser.
        inputs: Number of inputs.
        seed: Of the same seed, the inputs are the same.
        hang_s: CPU time that an input may take. Not of the wall clock: the machine may have other work.
        memory_bytes: Address space that the process may take beyond what it has.
    """
    tally = Tally(name=target.name)
    with _bounded(memory_bytes), _alarm() as rings:
        before_bytes = _restart_peak()
        for number in range(inputs):
            _run_one(target, number, tally, rings, seed=seed, hang_s=hang_s)
        tally.growth_bytes = max(0, _status_bytes("VmHWM") - before_bytes)
    return tally


def input_of(target: Target, number: int, *, seed: int) -> bytes:
    """Return an input by its number; each is made by itself, so that one can be made again alone."""
    chance = random.Random(f"{seed}/{target.name}/{number}")  # noqa: S311 - reproducible, not secret
    return mutated(target.seeds, chance)


def keep(tally: Tally, folder: Path) -> None:
    """Write each kept failure to two files: the input, and its traceback beside it."""
    for failure in tally.kept:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"{tally.name}-{failure.number}"
        path.with_suffix(".input").write_bytes(failure.content)
        path.with_suffix(".txt").write_text(failure.trace, encoding="utf-8", errors="backslashreplace")


def table(tallies: Sequence[Tally]) -> str:
    """Return tallies as a table."""
    head = ("parser", "inputs", "answers", "errors", "failures", "slowest ms", "RSS growth MiB")
    rows = [
        (
            tally.name,
            str(tally.inputs),
            str(tally.answers),
            str(tally.errors),
            str(tally.failures.total()),
            f"{tally.slowest_ms:.1f} (#{tally.slowest})",
            f"{tally.growth_bytes / _MIB:.1f}",
        )
        for tally in tallies
    ]
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(cells))
        for cells in (tuple(zip(row, widths, strict=True)) for row in (head, *rows))
    )


def _run_one(target: Target, number: int, tally: Tally, rings: list[int], *, seed: int, hang_s: float) -> None:
    content = input_of(target, number, seed=seed)
    tally.inputs += 1
    rings.clear()
    # The thread's: that of the process is counted in ticks while its alarm is set.
    began_ns = time.thread_time_ns()
    answered: bool | None = None
    # Again and again: an exception that is raised in a destructor is lost.
    signal.setitimer(signal.ITIMER_PROF, hang_s, hang_s)
    try:
        target.read(content)
        answered = True
    except MalformedEvidenceError as error:
        answered = False
        if target.places and {error.line, error.column, error.offset} == {None}:
            answered = None
            _fail(tally, number, content, error)
    except (Exception, HangError) as error:  # noqa: BLE001 - any other one is what is looked for
        signal.setitimer(signal.ITIMER_PROF, 0)
        _fail(tally, number, content, error)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    took_ms = (time.thread_time_ns() - began_ns) / 1e6
    if answered is not None and rings:
        _fail(tally, number, content, HangError("its alarm was lost in a destructor"))
    else:
        tally.answers += answered is True
        tally.errors += answered is False
    if took_ms > tally.slowest_ms:
        tally.slowest_ms, tally.slowest = took_ms, number


def _fail(tally: Tally, number: int, content: bytes, error: BaseException) -> None:
    # Where time or memory ran out is chance.
    chance_place = isinstance(error, HangError | MemoryError | RecursionError)
    frames = [] if chance_place else traceback.extract_tb(error.__traceback__)[-1:]
    place = "".join(f" in {Path(frame.filename).name}:{frame.lineno}" for frame in frames)
    kind = f"{type(error).__name__}{place}"
    tally.failures[kind] += 1
    if tally.failures[kind] <= _KEPT_OF_A_KIND:
        trace = "".join(traceback.format_exception(error))
        tally.kept.append(Failure(number=number, kind=kind, content=content, trace=trace))


@contextmanager
def _bounded(memory_bytes: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (_status_bytes("VmSize") + memory_bytes, hard))
    try:
        # What the user would see on the terminal is a failure as well.
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@contextmanager
def _alarm() -> Iterator[list[int]]:
    """Yield the list that gets an entry each time that the alarm rings."""
    rings: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        rings.append(number)
        raise HangError

    before = signal.signal(signal.SIGPROF, end)
    try:
        yield rings
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _restart_peak() -> int:
    """Make the highest resident memory what it is now (proc(5): clear_refs), and return that."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _status_bytes("VmHWM")


def _status_bytes(name: str) -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(f"{name}:")) << 10
