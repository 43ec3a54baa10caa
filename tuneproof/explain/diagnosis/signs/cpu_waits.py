"""How much nginx's workers use a CPU, and wait for one, according to schedstat, pidstat and top."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Reason
from tuneproof.explain.diagnosis.signs.outages import NOTICED_SHARE
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS, WAITING_SHARE
from tuneproof.explain.parse.machine import CpuInterval, MachineCpu
from tuneproof.explain.parse.processes.schedstat import Schedstat, between
from tuneproof.wording import share

# If a process ran and waited for less than this in total, the share means nothing.
_ENOUGH_WAIT_S: Final = 0.1
_NGINX: Final = "nginx"
_CPU: Final = "%CPU"
# Above this share of a CPU, events wait for each other even if each iteration is short.
_BUSY_SHARE: Final = 0.95
WHO_RUNS: Final = "nr_throttled in cpu.stat of nginx's cgroup, twice; pidstat -u 10 1: which processes take the CPUs"
_WHO_STEALS: Final = (
    "the provider's or hypervisor's own figures: CPU credits that are used up, or a host with too many guests"
)
# The least share of all CPU time: with little work, a large part of it may be stolen without anybody noticing.
STOLEN_SHARE: Final = 0.1
# Users notice CPUs that are busy for a minute.
_LONG_S: Final = 60


@dataclass(frozen=True, kw_only=True)
class CpuWait:
    """Time on the run queue."""

    share: float  # share of the time in which the process wanted to run, or, with pidstat, of all time
    of: str  # of which time, in words, and the source
    file: str

    @property
    def text(self) -> str:
        """The wait in a sentence, with its usual reasons."""
        why = "other processes, or the CPU quota of its cgroup (cpu.stat), keep it from running"
        return f"nginx waits for a CPU {share(self.share)} of the time{self.of}: {why}."


def cpu_waits(evidence: EvidenceSet) -> Iterator[CpuWait]:
    """Yield nginx's waits in schedstat and pidstat."""
    for named in evidence.processes:
        readings = [each for each in named.content if isinstance(each, Schedstat)]
        if not readings:
            continue
        # Times count from the process's start, so of several readings, the difference is used.
        time = (between(readings[0], readings[-1]) if len(readings) > 1 else None) or readings[-1]
        wanted_s = time.run_s + time.wait_s
        if wanted_s >= _ENOUGH_WAIT_S:
            yield CpuWait(share=time.wait_s / wanted_s, of=" in which it wants to run (schedstat)", file=named.name)
    for samples in evidence.pidstat:
        shares = [
            sample.columns["%wait"] / 100
            for sample in samples.content
            if sample.command.startswith(_NGINX) and "%wait" in sample.columns and not sample.is_average
        ]
        if shares:
            yield CpuWait(
                share=sum(shares) / len(shares),
                of=" (pidstat, %wait)",
                file=samples.name,
            )


def starved_workers(evidence: EvidenceSet) -> list[CpuWait]:
    """Return the waits that are long enough to make a worker late on their own."""
    return [wait for wait in cpu_waits(evidence) if wait.share >= WAITING_SHARE]


def busy_machines(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield the machines with processes that wait for a CPU, nginx or others: on average, or for some time."""
    for named in evidence.machine_cpus:
        if stolen := _period(named.content, _is_stolen):
            part, when = share(stolen[0].stolen / stolen[0].busy), stolen[1]
            text = f"The machine's CPUs had to wait {part} of the time in which they had work (steal){when}: "
            text += "its hypervisor ran something else."
            yield Reason(text=text, files=(named.name,), would_decide=_WHO_STEALS)
        elif busy := _period(named.content, _is_busy):
            text = f"The machine's CPUs were busy {share(busy[0].busy)} of the time{busy[1]}: processes wait for a CPU."
            yield Reason(text=text, files=(named.name,), would_decide=WHO_RUNS)


def _is_stolen(cpu: CpuInterval) -> bool:
    return cpu.stolen >= STOLEN_SHARE and cpu.stolen >= WAITING_SHARE * cpu.busy


def _is_busy(cpu: CpuInterval) -> bool:
    return cpu.busy >= _BUSY_SHARE


def _period(cpu: MachineCpu, is_bad: Callable[[CpuInterval], bool]) -> tuple[CpuInterval, str] | None:
    """Return the mean of all intervals if it is bad, or of the longest run of bad ones and when it was; or None.

    A short run is normal: a job that uses all CPUs for a few seconds.
    """
    whole = CpuInterval(busy=cpu.busy, stolen=cpu.stolen)
    if cpu.intervals >= ENOUGH_EVENTS and is_bad(whole):
        return whole, ""
    runs = (tuple(group) for has_bad, group in groupby(cpu.in_order, is_bad) if has_bad)
    run = max(runs, key=len, default=())
    is_long = len(run) * cpu.interval_s >= _LONG_S
    if not is_long and len(run) < max(ENOUGH_EVENTS, NOTICED_SHARE * cpu.intervals):
        return None
    busy, stolen = (sum(values) / len(run) for values in zip(*((each.busy, each.stolen) for each in run), strict=True))
    at = " to ".join(dict.fromkeys((run[0].end, run[-1].end))) if run[0].end else ""
    when = f" in {len(run)} of {cpu.intervals} intervals{' in a row' if len(run) > 1 else ''}"
    return CpuInterval(busy=busy, stolen=stolen), f"{when}{f', which ended at {at}' if at else ''}"


def busy_workers(evidence: EvidenceSet) -> Iterator[Reason]:
    """Yield the nginx processes that use nearly all of a CPU. A process with aio threads may use more than one."""
    for named in evidence.pidstat:
        used: dict[int, list[float]] = {}
        for sample in named.content:
            is_process = sample.thread_id is None and not sample.is_average
            if is_process and sample.command.startswith(_NGINX) and _CPU in sample.columns:
                used.setdefault(sample.pid, []).append(sample.columns[_CPU] / 100)
        for pid, shares in used.items():
            mean = sum(shares) / len(shares)
            if mean >= _BUSY_SHARE:
                text = f"nginx (PID {pid}) uses {share(mean)} of a CPU (%CPU): events wait until the worker is free."
                yield Reason(text=text, files=(named.name,))
