"""Signs in a recording of event loops: which worker is late, and whether it causes the delay itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from tuneproof.explain.diagnosis.cause_texts import BULK_STEP
from tuneproof.explain.diagnosis.findings import CauseVerdict
from tuneproof.explain.diagnosis.thresholds import WAITING_SHARE
from tuneproof.explain.parse.event_loop_summary import LONG_S, REASONS_OF_A_STALL, Reason, WorkerLoop, parts
from tuneproof.wording import count, seconds, share

# An event at a random moment waits for the rest of the iteration. A request takes several iterations, so many requests
# are late if one event in ten waits for 5 ms.
_LATE_SHARE: Final = 0.1
# Or the worker stalls rarely, but for a long time: one event in a hundred waits for 100 ms.
_VERY_LATE_S: Final = 0.1
_VERY_LATE_SHARE: Final = 0.01
# A worker that rarely wants to run may wait for a CPU, too, but without consequences.
_BUSY_SHARE: Final = 0.3
_TIMES_SHOWN: Final = 5

NEXT: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.STOPPED: "find out what stops the process: a debugger or strace that is attached, the container's "
        "freezer (docker pause), a script that sends SIGSTOP.",
        Reason.STARVED: "give the worker CPU: look at its cgroup's cpu.stat (throttled), at cpusets, at what else runs "
        "there; fewer worker_processes help only where they compete.",
        Reason.MANY_EVENTS: "the worker is at its limit with ordinary requests: add workers or CPUs.",
        Reason.BLOCKED: "move the file off the slow disk, let threads read it (aio threads), or open it less often "
        "(open_file_cache): docs/watch.md.",
        Reason.CALLS: BULK_STEP,
        Reason.COMPUTING: "find out what computes in the worker (gzip_comp_level, TLS handshakes, Lua, regular "
        "expressions): perf top -p PID shows the function: docs/watch.md.",
        Reason.UNTIMED: "watch this worker alone (`watch PID`), or again when it has less to do: its calls are "
        "timed then.",
    }
)
RULED_OUT: Final[Mapping[Reason, str]] = MappingProxyType(
    {
        Reason.STOPPED: "stopped by a signal",
        Reason.STARVED: "starved of CPU",
        Reason.BLOCKED: "blocked on a disk or a lock",
        Reason.CALLS: "stalled in reading and writing",
        Reason.COMPUTING: "stalled in user space",
    }
)
"""The conclusions that a recording without such a sign rules out."""


@dataclass(frozen=True, kw_only=True)
class LoopSign:
    """One finding about one worker in the recording."""

    worker: int
    reason: Reason
    verdict: CauseVerdict  # found or rare
    text: str

    @property
    def is_stall(self) -> bool:
        """Whether the worker itself causes the delay."""
        return self.reason in REASONS_OF_A_STALL


def signs(loops: Iterable[WorkerLoop]) -> Iterator[LoopSign]:
    """Yield the signs of each worker."""
    for loop in loops:
        yield from _stopped(loop)
        yield from list(_late(loop, "is starved of CPU", Reason.STARVED)) or _short_of_cpu(loop)
        yield from _late(loop, "handles too many events at once", Reason.MANY_EVENTS)
        yield from _late(loop, "stalls", *REASONS_OF_A_STALL)


def _stopped(loop: WorkerLoop) -> Iterator[LoopSign]:
    if stopped := loop.of(Reason.STOPPED):
        times = [each.stopped_s for each in stopped[:_TIMES_SHOWN]]
        more = f" and {len(stopped) - _TIMES_SHOWN} more times" if len(stopped) > _TIMES_SHOWN else ""
        yield LoopSign(
            worker=loop.worker,
            reason=Reason.STOPPED,
            verdict=CauseVerdict.FOUND,
            text=f"Worker {loop.worker} was not running for {', '.join(map(seconds, times))}{more}: it was stopped by "
            "a signal, a debugger or a freezer.",
        )


def _late(loop: WorkerLoop, what: str, *reasons: Reason) -> Iterator[LoopSign]:
    late = loop.late_share(LONG_S, *reasons)
    is_found = late >= _LATE_SHARE or loop.late_share(_VERY_LATE_S, *reasons) >= _VERY_LATE_SHARE
    times: dict[Reason, float] = defaultdict(float)
    longest_s = 0.0
    for each in loop.long:
        for why, part_s in parts(each).items():
            if why in reasons:
                times[why] += part_s
                longest_s = max(longest_s, part_s)
    if not is_found and longest_s < _VERY_LATE_S:
        return
    # If the calls of only some iterations were timed, these represent all.
    main = max(times, key=lambda why: (why is not Reason.UNTIMED, times[why]))
    long = loop.of(*reasons)
    spent = "" if main is Reason.STARVED else loop.spent(long)
    own = f" Its own time: {spent}." if spent else ""
    yield LoopSign(
        worker=loop.worker,
        reason=main,
        verdict=CauseVerdict.FOUND if is_found else CauseVerdict.RARE,
        text=f"Worker {loop.worker} {what} ({main}): {count(len(long), 'iteration')} of {seconds(LONG_S)} or longer in "
        f"{seconds(loop.watched_s)}, of which the longest spent {seconds(longest_s)} on this; "
        f"{share(round(late, 3))} of new events wait {seconds(LONG_S)} or longer.{own}",
    )


def _short_of_cpu(loop: WorkerLoop) -> Iterator[LoopSign]:
    """Yield a sign if the worker waits for a CPU before its iterations begin: their figures do not show that."""
    waits = loop.cpu_wait_share or 0.0
    if waits >= WAITING_SHARE and loop.ready_s >= _BUSY_SHARE * loop.watched_s:
        yield LoopSign(
            worker=loop.worker,
            reason=Reason.STARVED,
            verdict=CauseVerdict.FOUND,
            text=f"Worker {loop.worker} is starved of CPU: it waits for {share(round(waits, 3))} of the time in which "
            "it wants to run (schedstat).",
        )
