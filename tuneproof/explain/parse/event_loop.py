"""Reads and writes recordings of ``watch --record``: JSON lines, each about a second of one worker's event loop.

An iteration of the loop lasts from the return of ``epoll_wait`` to the next call to it; until then, new events wait.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_type_hints

from tuneproof.explain.parse.lines import lines
from tuneproof.explain.parse.problems import MalformedEvidenceError

VERSION: Final = 1
MAGIC: Final = '{"event_loop_recording": '
"""The beginning of a recording."""
_LARGEST: Final = 1 << 63
_Record = TypeVar("_Record")


@dataclass(frozen=True, kw_only=True)
class Call:
    """The total of one system call on one file or peer in a second, without calls in an iteration's first 0.2 ms."""

    name: str
    on: str  # the file, or the socket's peer; empty if the call has none
    took_s: float
    moved_bytes: int


@dataclass(frozen=True, kw_only=True)
class LongIteration:
    """An iteration of 5 ms or longer."""

    at_s: float  # its start, since the recording's start
    took_s: float
    events: int  # how many epoll_wait returned
    waited_s: float  # time ready to run, without a CPU
    blocked_s: float  # time asleep in a system call other than epoll_wait
    stopped_s: float  # time stopped by a signal or a debugger
    called_s: float | None  # time in system calls, without waits for a CPU; None if calls were not timed
    read_bytes: int
    written_bytes: int
    longest_call: str  # the longest call; empty for none
    longest_on: str
    longest_s: float
    ended: bool = True  # whether it has ended; if not, the figures are those so far

    @property
    def computed_s(self) -> float | None:
        """Time in user space, page faults included; None if calls were not timed."""
        if self.called_s is None:
            return None
        return max(0.0, self.took_s - self.waited_s - self.stopped_s - self.called_s)


@dataclass(frozen=True, kw_only=True)
class LoopSecond:
    """The figures of one worker in about a second."""

    at_s: float  # its end, since the recording's start
    lasted_s: float
    worker: int
    name: str  # name of the container or the binary, which distinguishes several nginx
    iterations: int
    busy_s: float  # time outside epoll_wait
    histogram: Mapping[int, int]  # number of iterations by the floor of the binary logarithm of their nanoseconds
    read_bytes: int | None  # None if calls were not timed
    written_bytes: int | None
    run_s: float | None  # time on a CPU, by /proc/PID/schedstat
    wait_s: float | None  # time ready to run, without a CPU
    calls: tuple[Call, ...] = ()
    long: tuple[LongIteration, ...] = ()  # the long iterations that ended in this second
    unfinished: LongIteration | None = None  # the iteration that had not ended yet


@dataclass(frozen=True, kw_only=True)
class LoopRecording:
    """A whole recording."""

    began: str  # ISO 8601
    seconds: tuple[LoopSecond, ...]
    notes: tuple[str, ...] = ()
    """Notes for the reader: sampling, lost events, workers that ended."""


def header(began: str) -> str:
    """Return the first line of a recording."""
    return f"{MAGIC}{VERSION}, {json.dumps({'began': began})[1:]}"


def to_line(second: LoopSecond) -> str:
    """Return a second as a line."""
    return json.dumps(asdict(second), separators=(",", ":"))


def note_line(note: str) -> str:
    """Return a note as a line."""
    return json.dumps({"note": note})


def parse(text: str) -> LoopRecording:
    """Read a recording; if its writer was killed, up to the last complete line."""
    numbered = list(lines(text))
    seconds: list[LoopSecond] = []
    notes: list[str] = []
    began = ""
    for number, line in numbered:
        try:
            value = json.loads(line, parse_constant=_no_number)
            if number == numbered[0][0]:
                began = _header(value)
            elif "note" in value:
                notes.append(str(value["note"]))
            else:
                seconds.append(_second(value))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError) as error:
            if number == numbered[-1][0] and began:
                notes.append("the last line is cut short")
                break
            raise MalformedEvidenceError(
                f"expected a line about a second of a worker: {error!r}"[:200], line=number
            ) from error
    if not began:
        raise MalformedEvidenceError("expected an event-loop recording, found nothing", line=1)
    return LoopRecording(began=began, seconds=tuple(seconds), notes=tuple(notes))


def _header(value: Mapping[str, Any]) -> str:
    if value["event_loop_recording"] != VERSION:
        raise ValueError(f"version {value['event_loop_recording']!r}, not {VERSION}")
    return str(value["began"])


def _second(value: Mapping[str, Any]) -> LoopSecond:
    plain = {name: each for name, each in value.items() if name not in {"histogram", "calls", "long", "unfinished"}}
    unfinished = value.get("unfinished")
    histogram = {int(exponent): int(number) for exponent, number in value["histogram"].items()}
    if not all(0 <= exponent < _LARGEST.bit_length() and number >= 0 for exponent, number in histogram.items()):
        raise ValueError(f"histogram: {histogram!r}")
    return _checked(
        LoopSecond(
            **plain,
            histogram=histogram,
            calls=tuple(_checked(Call(**call)) for call in value["calls"]),
            long=tuple(_checked(LongIteration(**each)) for each in value["long"]),
            unfinished=None if unfinished is None else _checked(LongIteration(**unfinished)),
        )
    )


def _checked(record: _Record) -> _Record:
    """Return a record after checking its plain fields against their annotations: the file is untrusted.

    Raises TypeError: A field does not match, or a number is out of range.
    """
    for name, hint in get_type_hints(type(record)).items():
        wanted = get_args(hint) if isinstance(hint, UnionType) else (hint,)
        value = getattr(record, name)
        if not {int, float, str}.isdisjoint(wanted) and not isinstance(
            value, (*wanted, int) if float in wanted else wanted
        ):
            raise TypeError(f"{name}: {value!r}")
        if isinstance(value, bool) is not (bool in wanted) or (
            isinstance(value, (int, float)) and not 0 <= value < _LARGEST
        ):
            raise TypeError(f"{name}: {value!r}")
    return record


def _no_number(text: str) -> float:
    raise ValueError(text)
