"""The loop probe measures how long an iteration of a worker's event loop takes.

It uses one keepalive connection per worker and one small request per tick. A worker answers as soon as its loop reaches
the connection, so the time from sending to the response is the loop's lag. The probe is a closed loop: while a response
is outstanding, ticks are counted as missed instead of queued. This undercounts long stalls, which is the safe side.

The kernel records when a response arrived (SO_TIMESTAMPNS, socket(7) and
https://docs.kernel.org/networking/timestamping.html), so time in which this process had no CPU does not count as the
worker's lag; the result contains it separately. A probe that was interrupted while it was sent is left out, because its
sending time is unknown.
"""

import select
import socket
import time
from dataclasses import dataclass, field

from tuneproof.lab.protocol.stall import ProbeSamples

from . import http1
from .arrivals import ArrivalStamps

# Sending a small request takes about ten microseconds; if it took longer than this limit, it was interrupted.
_LONGEST_SENDING_S = 0.001


@dataclass(kw_only=True)
class _Samples:
    at_ms: list[float] = field(default_factory=list)
    late_ms: list[float] = field(default_factory=list)
    lag_ms: list[float] = field(default_factory=list)
    wake_ms: list[float] = field(default_factory=list)
    missed_ticks: int = 0

    def frozen(self) -> ProbeSamples:
        times_ms = {name: tuple(value) for name, value in vars(self).items() if isinstance(value, list)}
        return ProbeSamples(**{**vars(self), **times_ms})


@dataclass(kw_only=True)
class _Probe:
    connection: socket.socket
    next_tick_s: float
    samples: _Samples = field(default_factory=_Samples)
    sent_s: float | None = None
    sending_s: float = 0.0
    intended_s: float = 0.0


def probe(
    connections: dict[int, socket.socket], *, start_s: float, end_s: float, interval_s: float, request: bytes
) -> dict[int, ProbeSamples]:
    """Probe each worker from ``start_s`` to ``end_s`` (CLOCK_MONOTONIC seconds); return samples by worker process id.

    A probe that is outstanding at the end is awaited for up to two seconds and counts; otherwise the longest stalls
    would be lost.
    """
    stamps = ArrivalStamps(connections.values())
    stagger_s = interval_s / len(connections)
    probes = {
        pid: _Probe(connection=connection, next_tick_s=start_s + index * stagger_s)
        for index, (pid, connection) in enumerate(connections.items())
    }
    while True:
        now_s = time.monotonic()
        for item in probes.values():
            if item.sent_s is None and item.next_tick_s <= now_s < end_s:
                item.intended_s = item.next_tick_s
                item.sent_s = time.monotonic()
                item.connection.sendall(request)
                item.sending_s = time.monotonic() - item.sent_s
        waiting = [item.connection for item in probes.values() if item.sent_s is not None]
        if now_s >= end_s:
            if not waiting:
                return {pid: item.samples.frozen() for pid, item in probes.items()}
            if now_s > end_s + 2.0:
                raise ConnectionError("a worker left a probe unanswered for two seconds after the trial's window")
        idle = [item.next_tick_s for item in probes.values() if item.sent_s is None]
        wake_s = min([*idle, end_s]) if now_s < end_s else now_s + 0.05
        readable, _, _ = select.select(waiting, [], [], max(0.0, wake_s - time.monotonic()))
        answered_s = time.monotonic()
        for item in probes.values():
            if item.connection in readable:
                _record(item, stamps, answered_s=answered_s, start_s=start_s, interval_s=interval_s)


def _record(item: _Probe, stamps: ArrivalStamps, *, answered_s: float, start_s: float, interval_s: float) -> None:
    arrived_s = stamps.arrived_s(item.connection, seen_s=answered_s)
    head, body = http1.receive_head(item.connection)
    if len(body) != head.content_length:
        raise ConnectionError("the response to a probe did not arrive in one piece")
    if item.sent_s is None:
        raise ConnectionError("a probe was answered twice")
    samples = item.samples
    if item.sending_s <= _LONGEST_SENDING_S:
        samples.at_ms.append((item.sent_s - start_s) * 1e3)
        samples.late_ms.append((item.sent_s - item.intended_s) * 1e3)
        samples.lag_ms.append((arrived_s - item.sent_s) * 1e3)
        samples.wake_ms.append((answered_s - arrived_s) * 1e3)
    item.sent_s = None
    item.next_tick_s += interval_s
    while item.next_tick_s <= answered_s:
        item.next_tick_s += interval_s
        samples.missed_ticks += 1
