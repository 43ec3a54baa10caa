"""Reads files into figures for a person and evidence for the diagnosis; logs.py reads logs and configurations."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from io import BufferedIOBase
from itertools import islice
from types import MappingProxyType
from typing import Protocol

from tuneproof.explain.detect import Kind
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.found import Found
from tuneproof.explain.parse import event_loop, event_loop_summary, machine, packet_losses
from tuneproof.explain.parse.capture import capture_summary
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.capture_summary import figures as capture_figures
from tuneproof.explain.parse.counters import netstat_s, nstat, proc_net, softnet
from tuneproof.explain.parse.counters.figures import figures as counter_figures
from tuneproof.explain.parse.counters.snapshot import CounterSnapshot, total
from tuneproof.explain.parse.figures import MOST_FIGURES, Figure
from tuneproof.explain.parse.load_tools import ab, h2load, wrk
from tuneproof.explain.parse.load_tools.run import LoadRun
from tuneproof.explain.parse.load_tools.run import figures as load_figures
from tuneproof.explain.parse.packet_losses import PacketLoss
from tuneproof.explain.parse.processes import pidstat, schedstat, status
from tuneproof.explain.parse.processes.schedstat import Schedstat
from tuneproof.explain.parse.processes.status import ProcessStatus
from tuneproof.explain.parse.sockets import netstat_text, ss_text
from tuneproof.explain.parse.sockets.table import SocketTable
from tuneproof.explain.parse.sockets.table import figures as socket_figures
from tuneproof.wording import count

_SAMPLES = 3
_KINDS_SHOWN = 5
# Figures, warnings, and evidence for the diagnosis.
_Read = tuple[Iterable[Figure], Iterable[str], EvidenceSet]


def read_text(kind: Kind, name: str, text: str) -> Found:
    """Read a text of one of the kinds in :data:`READERS`.

    Raises MalformedEvidenceError: It is not of this kind, or malformed.
    """
    return _report(kind, name, READERS[kind](name, text))


def read_capture(name: str, file: BufferedIOBase) -> Found:
    """Read an unpacked capture.

    Raises MalformedEvidenceError: It does not begin like a capture.
    """
    summary = capture_summary.read_capture(file)
    evidence = EvidenceSet(captures=(Named(name=name, content=summary),))
    return _report(Kind.CAPTURE, name, (capture_figures(summary), _about_capture(summary), evidence))


def _report(kind: Kind, name: str, read: _Read) -> Found:
    figures, warnings, evidence = read
    return Found(name=name, kind=kind, figures=tuple(figures), warnings=tuple(warnings), evidence=evidence)


def _about_capture(summary: CaptureSummary) -> Iterator[str]:
    if summary.truncated is not None:
        yield f"not read to its end: {summary.truncated}"
    if summary.dropped_packets:
        yield (
            f"the kernel dropped {count(summary.dropped_packets, 'packet')} while this was captured: packets "
            "that the capture lacks may have been on the wire (tcpdump -B 65536 uses a larger buffer)"
        )
    elif incomplete := sum(service.incomplete_flows for service in summary.services):
        yield (
            f"the capture lacks data in {count(incomplete, 'connection')}, although the other side acknowledged it: "
            "packets may have been dropped while capturing (tcpdump -B 65536 uses a larger buffer)"
        )
    if summary.snapped_packets and summary.tcp_segments:
        yield (
            f"{summary.snapped_packets} of {summary.packets} packets are truncated: HTTP may be missing "
            "(tcpdump -s 0 captures whole packets)"
        )
    if summary.malformed:
        yield f"malformed packets: {_kinds(summary.malformed)}"
    if summary.other:
        yield f"packets left out, since only TCP and QUIC are read: {_kinds(summary.other)}"
    one_way = [
        str(service.server)
        for service in summary.services
        if (service.from_client.data_segments and not service.from_server.packets)
        or (service.from_server.packets and not service.from_client.packets)
    ]
    if one_way:
        services = ", ".join(one_way[:_KINDS_SHOWN])
        yield f"only one direction was captured for {services}: responses there are not judged"


def _kinds(numbers: Mapping[str, int]) -> str:
    most = sorted(numbers.items(), key=lambda item: (-item[1], item[0]))
    more = f" and {len(most) - _KINDS_SHOWN} more kinds" if len(most) > _KINDS_SHOWN else ""
    return ", ".join(f"{kind}: {number}" for kind, number in most[:_KINDS_SHOWN]) + more


def _counters(parse: Callable[[str], tuple[CounterSnapshot, ...]], name: str, text: str) -> _Read:
    """Read counters; several readings give the increments from the first to the last."""
    snapshots = parse(text)
    shown = counter_figures(snapshots[0] if len(snapshots) == 1 else total(snapshots))
    evidence = EvidenceSet(counters=(Named(name=name, content=snapshots),))
    return (*_number_of(snapshots), *shown), _around(snapshots), evidence


def _softnet(name: str, text: str) -> _Read:
    snapshots = softnet.snapshots(text)
    shown = snapshots[0].counters if len(snapshots) == 1 else total(snapshots).increments
    evidence = EvidenceSet(softnet=(Named(name=name, content=snapshots),))
    return (*_number_of(snapshots), *softnet.figures(shown)), _around(snapshots), evidence


def _status(name: str, text: str) -> _Read:
    processes = status.snapshots(text)
    shown = [(f"{each.name} {each.pid}", status.figures(each)) for each in processes]
    return _side_by_side(shown), _around(processes), _of_processes(name, processes)


def _schedstat(name: str, text: str) -> _Read:
    """Read a process's CPU time; several readings give the increments from the first to the last."""
    readings = schedstat.snapshots(text)
    passed = schedstat.between(readings[0], readings[-1]) if len(readings) > 1 else None
    # The text has no process id. A decreasing time shows that the readings are from several processes.
    times: Sequence[Schedstat] = readings if passed is None else (passed,)
    shown = [(f"no. {number}", schedstat.figures(each)) for number, each in enumerate(times, start=1)]
    return (*_number_of(readings), *_side_by_side(shown)), _around(readings), _of_processes(name, readings)


def _of_processes(name: str, contents: Sequence[ProcessStatus | Schedstat]) -> EvidenceSet:
    return EvidenceSet(processes=(Named(name=name, content=tuple(contents)),))


def _sockets(parse: Callable[[str], tuple[SocketTable, ...]], name: str, text: str) -> _Read:
    tables = parse(text)
    # The warnings quote some of the lines; the figures contain their number.
    unread = [f"line {line.number} could not be read: {line.text}" for table in tables for line in table.unread_samples]
    evidence = EvidenceSet(sockets=tuple(Named(name=name, content=table) for table in tables))
    return (*_number_of(tables), *socket_figures(tables[-1])), unread[:_SAMPLES], evidence


def _load_run(parse: Callable[[str], LoadRun], name: str, text: str) -> _Read:
    run = parse(text)
    return load_figures(run), run.notes, EvidenceSet(load_runs=(Named(name=name, content=run),))


def _event_loops(name: str, text: str) -> _Read:
    recording = event_loop.parse(text)
    loops = event_loop_summary.summarise(recording)
    evidence = EvidenceSet(event_loops=(Named(name=name, content=loops),))
    return event_loop_summary.figures(loops), recording.notes, evidence


def _machine_cpu(name: str, text: str) -> _Read:
    read = machine.cpu(text)
    return machine.cpu_figures(read), (), EvidenceSet(machine_cpus=(Named(name=name, content=read),))


def _disks(name: str, text: str) -> _Read:
    read = machine.full_disks(text)
    return machine.disk_figures(read), (), EvidenceSet(disks=(Named(name=name, content=read),))


def _losses(parse: Callable[[str], tuple[PacketLoss, ...]], name: str, text: str) -> _Read:
    losses = parse(text)
    evidence = EvidenceSet(packet_losses=(Named(name=name, content=losses),))
    return packet_losses.figures(losses)[:MOST_FIGURES], (), evidence


def _pidstat(name: str, text: str) -> _Read:
    report = pidstat.report(text)
    evidence = EvidenceSet(pidstat=(Named(name=name, content=report.samples),))
    return pidstat.figures(report), _unmatched(report.unmatched_lines, report.unmatched_samples), evidence


READERS: Mapping[Kind, Callable[[str, str], _Read]] = MappingProxyType(
    {
        Kind.PROC_NET: partial(_counters, proc_net.snapshots),
        Kind.NSTAT: partial(_counters, nstat.snapshots),
        Kind.NSTAT_JSON: partial(_counters, nstat.snapshots),
        Kind.NETSTAT_S: partial(_counters, netstat_s.snapshots),
        Kind.SOFTNET: _softnet,
        Kind.SS: partial(_sockets, ss_text.readings),
        Kind.NETSTAT: partial(_sockets, netstat_text.readings),
        Kind.AB: partial(_load_run, ab.parse),
        Kind.WRK: partial(_load_run, wrk.parse),
        Kind.WRK2: partial(_load_run, wrk.parse_wrk2),
        Kind.H2LOAD: partial(_load_run, h2load.parse),
        Kind.PROCESS_STATUS: _status,
        Kind.SCHEDSTAT: _schedstat,
        Kind.PIDSTAT: _pidstat,
        Kind.TOP: _pidstat,
        Kind.EVENT_LOOPS: _event_loops,
        Kind.MACHINE_CPU: _machine_cpu,
        Kind.DF: _disks,
        Kind.INTERFACES: partial(_losses, packet_losses.interfaces),
        Kind.MTR: partial(_losses, packet_losses.mtr_report),
    }
)
"""The reader of each kind of text."""


def _number_of(readings: Sequence[object]) -> tuple[Figure, ...]:
    """Return the number of readings if there are several; figures of counters are then those of the interval."""
    return (Figure(key="readings", name="readings", value=len(readings)),) if len(readings) > 1 else ()


def _side_by_side(shown: Sequence[tuple[str, tuple[Figure, ...]]]) -> tuple[Figure, ...]:
    """Return the figures of one process unchanged, and those of several processes with their names."""
    if len(shown) == 1:
        return shown[0][1]
    named = [Figure(key="processes", name="processes", value=len(shown))]
    seen: Counter[str] = Counter()
    for name, figures in shown:
        seen[name] += 1
        # The same process may have been read several times.
        own = name if seen[name] == 1 else f"{name}, reading {seen[name]}"
        named += [replace(figure, name=f"{own}: {figure.name}", of=f"{own} {figure.of}".strip()) for figure in figures]
    return tuple(named[:MOST_FIGURES])


class _Labelled(Protocol):
    """A reading with the lines around it."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The first lines around it without figures."""

    @property
    def unmatched_lines(self) -> int:
        """The number of all such lines."""


def _around(readings: Sequence[_Labelled]) -> tuple[str, ...]:
    labels = (label for reading in readings for label in reading.labels)
    return _unmatched(sum(reading.unmatched_lines for reading in readings), list(islice(labels, _SAMPLES)))


def _unmatched(number: int, samples: Sequence[str]) -> tuple[str, ...]:
    """Return a warning about lines without figures, such as dates; empty without such lines."""
    if not number:
        return ()
    return (f"lines without figures: {number}, such as {', '.join(map(repr, samples[:_SAMPLES]))}",)
