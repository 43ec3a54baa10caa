"""Measures a path between two network namespaces: delay, loss and rate each way.

One agent answers (``answer_probes``), the other one leads (``probe_path``). They coordinate over a TCP connection on
the same path. All containers of an engine share one kernel, so CLOCK_MONOTONIC is common and delays can be measured one
way.

A probe arrives when the kernel takes it from the link (SO_TIMESTAMPNS, socket(7)), not when this process next gets the
CPU. A busy host can still delay a probe, but never speed it up: it interrupts a sender between reading the
clock and sending, or gives the shaper the CPU too late. Low quantiles therefore show the link. The result also contains
how late this process itself woke up: a shaper that must hold a packet is delayed in the same way.
"""

import json
import select
import socket
import struct
import time
from contextlib import closing
from dataclasses import asdict
from typing import IO, Any, Final

from tuneproof.lab.protocol.links import PathSeen, ProbePath

from .load_path import Sink, load, watch

_PROBE: Final = struct.Struct("!QQQ")  # number, time sent, time sent back (0 on the way there), in ns
_UDP_BUFFER_BYTES: Final = 8 << 20
_SO_RCVBUFFORCE: Final = 33
# Requested and returned under the same number (include/uapi/asm-generic/socket.h), as a struct timespec of
# CLOCK_REALTIME.
_SO_TIMESTAMPNS: Final = 35
_TIMESPEC: Final = struct.Struct("@ll")
_WAIT_S: Final = 20.0
# After a pause, probes are sent at this multiple of the planned rate until they are on schedule again: all at once,
# they could overflow a queue, which would look like loss on the link.
_HURRY: Final = 4
_BREATH_S: Final = 0.0001


def answer_probes(port: int) -> None:
    """Answer the probes of one leader until it closes its connection (OSError: none connects, or it falls silent)."""
    arrivals: list[list[int]] = []
    # The listener comes last: once it exists, the leader sends.
    with _udp(port) as probes, closing(Sink(port + 1)) as sink, socket.create_server(("", port)) as listener:
        listener.settimeout(_WAIT_S)
        control, (leader, _) = listener.accept()
        with control, control.makefile("rw", encoding="ascii") as stream:
            control.settimeout(_WAIT_S)
            while True:
                readable, _, _ = select.select([control, probes], [], [], _WAIT_S)
                if not readable:
                    raise TimeoutError("no more probes arrive from the agent that sends them")
                if probes in readable:
                    arrivals.append(_send_back(probes))
                    continue
                line = stream.readline()
                if not line:
                    return
                _send(stream, _obey(json.loads(line), arrivals=arrivals, sink=sink, leader=leader))


def probe_path(asked: ProbePath) -> PathSeen:
    """Measure the path to an answering agent (OSError: none answers, or it ends early)."""
    arrived: dict[str, tuple[tuple[int, int], ...]] = {}
    with (
        closing(Sink(asked.own_port or asked.port + 1)) as sink,
        _connect(asked.address, asked.port) as control,
        control.makefile("rw", encoding="ascii") as stream,
    ):
        with _udp(0) as probes:
            probes.connect((asked.address, asked.port))
            late, back = _send_probes(probes, asked, packets=asked.packets)
            _send(stream, {"do": "tell"})
            # The other agent reports when it has sent back all probes that it has received: a busy one is late, but
            # loses nothing.
            there = _receive(stream)["arrivals"]
            _, stragglers = _send_probes(probes, asked, packets=0)
        if egress := asked.loads.get("egress"):
            _send(stream, {"do": "watch", **asdict(egress)})
            load(asked.address, asked.port + 1, **asdict(egress))
            arrived["egress"] = _points(_receive(stream)["arrived"])
        if ingress := asked.loads.get("ingress"):
            _send(stream, {"do": "load", "port": sink.port, **asdict(ingress)})
            arrived["ingress"] = _points(watch(sink, **asdict(ingress)))
            _receive(stream)
    back += stragglers
    return PathSeen(sent=asked.packets, late=tuple(late), there=_points(there), back=tuple(back), loads=arrived)


def _points(pairs: list[list[int]]) -> tuple[tuple[int, int], ...]:
    return tuple((first, second) for first, second in pairs)


def _obey(order: dict[str, Any], *, arrivals: list[list[int]], sink: Sink, leader: str) -> dict[str, Any]:
    what = order.pop("do")
    if what == "watch":
        return {"arrived": watch(sink, **order)}
    if what == "load":
        load(leader, **order)
    return {"arrivals": arrivals}


def _send_back(probes: socket.socket) -> list[int]:
    packet, ancillary, _, sender = probes.recvmsg(65536, socket.CMSG_SPACE(_TIMESPEC.size))
    number, sent_ns, _ = _PROBE.unpack_from(packet)
    probes.sendto(_PROBE.pack(number, sent_ns, time.monotonic_ns()) + packet[_PROBE.size :], sender)
    # Several may be waiting: sent back all at once, they could overflow a queue.
    time.sleep(_BREATH_S)
    return [number, (_arrived_ns(ancillary) - sent_ns) // 1000]


def _arrived_ns(ancillary: list[tuple[int, int, bytes]]) -> int:
    """Return when a packet arrived from the link, on CLOCK_MONOTONIC.

    CLOCK_REALTIME, the kernel's clock for this, is read first: an interruption between the two clocks makes the packet
    late, never early.
    """
    stamps = [data for level, kind, data in ancillary if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS)]
    if not stamps:
        raise OSError("the kernel gives no time of arrival for a probe")
    seconds, nanoseconds = _TIMESPEC.unpack(stamps[0])
    waited_ns: int = time.time_ns() - (seconds * 1_000_000_000 + nanoseconds)
    return time.monotonic_ns() - waited_ns


def _send_probes(
    probes: socket.socket, asked: ProbePath, *, packets: int
) -> tuple[list[int], list[tuple[int, int, int]]]:
    """Send this many probes on schedule; return how late this process was for each in µs, and those that came back.

    All of them are sent, and all answers are read, however late this process is: a machine that pauses loses no probe.
    """
    padding = bytes(asked.payload_bytes - _PROBE.size)
    began_s = sent_s = received_s = time.monotonic()
    late: list[int] = []
    back: list[tuple[int, int, int]] = []
    number = 0
    while True:
        now_s = time.monotonic()
        # How late this process notices that a probe is due, not how late it sends it: probes may wait until earlier
        # ones are sent.
        while len(late) < packets and (late_s := now_s - began_s - len(late) * asked.interval_s) >= 0:
            late.append(int(late_s * 1_000_000))
        hurried_s = max(began_s + number * asked.interval_s, sent_s + asked.interval_s / _HURRY)
        due_s = hurried_s if number < packets else max(sent_s, received_s) + asked.linger_s
        if number < packets and now_s >= due_s:
            probes.send(_PROBE.pack(number, time.monotonic_ns(), 0) + padding)
            number += 1
            sent_s = now_s
        elif select.select([probes], [], [], max(0.0, due_s - now_s))[0]:
            packet, ancillary, _, _ = probes.recvmsg(65536, socket.CMSG_SPACE(_TIMESPEC.size))
            arrived_ns = _arrived_ns(ancillary)
            received_s = now_s
            found, sent_ns, sent_back_ns = _PROBE.unpack_from(packet)
            back.append((found, (arrived_ns - sent_back_ns) // 1000, (arrived_ns - sent_ns) // 1000))
        elif number == packets:
            return late, back


def _udp(port: int) -> socket.socket:
    opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    # NET_ADMIN may exceed net.core.rmem_max (socket(7)): a slow process must not lose probes.
    try:
        opened.setsockopt(socket.SOL_SOCKET, _SO_RCVBUFFORCE, _UDP_BUFFER_BYTES)
    except PermissionError:
        # In a rootless engine, NET_ADMIN is valid only in the engine's own namespaces.
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _UDP_BUFFER_BYTES)
    opened.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)
    opened.bind(("", port))
    return opened


def _connect(address: str, port: int) -> socket.socket:
    """Connect as soon as the other agent listens: both are called at the same time."""
    deadline_s = time.monotonic() + _WAIT_S
    while True:
        try:
            control = socket.create_connection((address, port), timeout=_WAIT_S)
        except ConnectionRefusedError:
            if time.monotonic() > deadline_s:
                raise
            time.sleep(0.01)
        else:
            control.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return control


def _send(stream: IO[str], message: dict[str, Any]) -> None:
    stream.write(f"{json.dumps(message)}\n")
    stream.flush()


def _receive(stream: IO[str]) -> dict[str, Any]:
    line = stream.readline()
    if not line:
        raise ConnectionError("the answering agent went away")
    message: dict[str, Any] = json.loads(line)
    return message
