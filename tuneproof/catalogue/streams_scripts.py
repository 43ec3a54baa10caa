"""Scripts for trials of streams: a backend sends, and most scripts count only once everything is at rest."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Streams
from tuneproof.lab.protocol.scripted import Reply
from tuneproof.lab.subject.written_config import PORT, TLS_PORT

EVENTS: Final = 20
# An event with one token of a language model; all events together are smaller than any buffer on the way.
SMALL_BYTES: Final = 100
HTTP2_PORT: Final = 8444
CLEAR_HTTP2_PORT: Final = 8002
MANY: Final = 100

_COPIED: Final = (
    'proxy_http_version 1.1; proxy_set_header Connection ""; chunked_transfer_encoding off; '
    "proxy_cache off; tcp_nodelay on; gzip off;"
)
LINES: Final[Mapping[str, str]] = {
    "defaults": "",
    "http_1_0": "proxy_http_version 1.0;",
    "http_1_1": "proxy_http_version 1.1;",
    "connection": 'proxy_http_version 1.0; proxy_set_header Connection "";',
    "chunked_off": "proxy_http_version 1.0; chunked_transfer_encoding off;",
    "cache_off": "proxy_http_version 1.0; proxy_cache off;",
    "tcp_nodelay": "proxy_http_version 1.0; tcp_nodelay on;",
    "gzip_off": "proxy_http_version 1.0; gzip off;",
    "three_lines": 'proxy_http_version 1.1; proxy_set_header Connection ""; chunked_transfer_encoding off;',
    "all_but_buffering": _COPIED,
}
"""The lines of the copied snippet, each in its own location with HTTP/1.0 to the upstream; but ``defaults`` has none,
``http_1_1`` and the last two use HTTP/1.1, and the last two combine several lines."""
TRANSPORTS: Final[Mapping[str, int]] = {"plain": PORT, "tls": TLS_PORT, "http2": HTTP2_PORT}
"""The ports for clients: HTTP/1.1, HTTP/1.1 over TLS, and HTTP/2 over TLS."""
CLEAR: Final[Mapping[str, int]] = {**TRANSPORTS, "http2": CLEAR_HTTP2_PORT}
"""The same, but HTTP/2 without TLS, which browsers do not speak."""
ARRIVED: Final[Mapping[str, tuple[str, str]]] = {
    f"{line}_{transport}": (line, transport) for line in LINES for transport in TRANSPORTS
}
"""Figures for delivery: the share of small events that have arrived, by line and transport."""
OF_SIZE: Final[Mapping[str, int]] = {f"of_{size}_bytes": size for size in (SMALL_BYTES, 1000, 10_000)}
"""Further figures: the share of events of each size that have arrived, with HTTP/1.1 to the upstream, and over TLS."""
SILENT: Final = "silent"
_GZIP: Final = {"Accept-Encoding": "gzip"}
# In trials of silence, nginx's timeout is 1 s.
_LONGEST_PAUSE_S: Final = 0.8


def event(size_bytes: int) -> str:
    """Return an event of this many bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    frame = "data: \n\n"
    return f"data: {'x' * (size_bytes - len(frame))}\n\n"


def delivery(*, accel_buffering: str = "", ports: Mapping[str, int] = TRANSPORTS) -> Callable[[Rig], Figures]:
    """Return the script that streams through every location and transport, and counts the events that arrive.

    accel_buffering: the backend's X-Accel-Buffering.
    """

    def script(rig: Rig) -> Figures:
        _play(rig, accel_buffering)
        silent = [(SILENT, "plain"), (SILENT, "http2")]
        _open(rig, [*ARRIVED.values(), *((name, "tls") for name in OF_SIZE), *silent], ports)
        for line in LINES:
            rig.backend().send(event(SMALL_BYTES), EVENTS, f"/{line}/")
        for name, size in OF_SIZE.items():
            rig.backend().send(event(size), EVENTS, f"/{name}/")
        settle(rig, ports)
        arrived = rig.arrived()
        rig.leave_streams()
        ended = [one.end for one in arrived if one.end]
        rig.must(not ended, f"{len(ended)} of {len(arrived)} streams have ended: {', '.join(ended)}")
        sizes = [SMALL_BYTES] * len(ARRIVED) + list(OF_SIZE.values())
        shares = [one.body_bytes // size / EVENTS for one, size in zip(arrived, sizes, strict=False)]
        return {
            **dict(zip([*ARRIVED, *OF_SIZE], shares, strict=True)),
            "unopened_plain": float(arrived[-2].status == 0),
            "unopened_http2": float(arrived[-1].status == 0),
        }

    return script


def silence(*, comment: str) -> Callable[[Rig], Figures]:
    """Return the script that keeps streams quiet for longer than a timeout of 1 s, and counts those that nginx ends.

    nginx's own timer shows when the timeout has passed: the last stream opened has such a timeout, too.

    comment: what the backend sends repeatedly on one of the streams; empty to send nothing.
    """

    def script(rig: Rig) -> Figures:
        _play(rig, comment=comment)
        _open(rig, [("commented", "plain"), *((line, where) for line in ("quiet", "others") for where in _BROWSERS)])
        rig.backend().send(event(SMALL_BYTES), 1)
        _open(rig, [("control", "plain")])
        rig.wait_until(lambda: bool(rig.arrived()[-1].end), "did not end a stream by its timeout")
        # nginx has handled earlier timers by now; this reads data that was still on its way.
        commented, *others, _control = [bool(one.end) for one in rig.arrived()]
        rig.leave_streams()
        pause_s = rig.backend().seen().longest_pause_s
        rig.must(pause_s < _LONGEST_PAUSE_S, f"no comment was sent for {pause_s:.1f} s")
        each = len(_BROWSERS)
        return {
            "quiet_ended_share": sum(others[:each]) / each,
            "others_ended_share": sum(others[each:]) / each,
            "commented_kept": float(not commented),
        }

    return script


_BROWSERS: Final = ("tls", "http2")


def leaving(rig: Rig) -> Figures:
    """Let the client close quiet streams, over every transport; count the streams that stay open at the backend."""
    _play(rig)
    _open(rig, [("stream", transport) for transport in TRANSPORTS])
    rig.backend().send(event(SMALL_BYTES), 1)
    settle(rig)
    rig.leave_streams()
    settle(rig)
    at_once = rig.backend().seen().open_streams
    for _ in range(2):
        # nginx's first write reaches a closed socket and is answered by a reset; only the second write fails.
        rig.backend().send(event(SMALL_BYTES), 1)
        settle(rig)
    after_events = rig.backend().seen().open_streams
    return {
        "kept_share": at_once / len(TRANSPORTS),
        "kept_after_events_share": after_events / len(TRANSPORTS),
    }


def memory(transport: str) -> Callable[[Rig], Figures]:
    """Return the script that keeps many streams open, and measures the growth of the workers' memory per stream.

    Each stream has carried some events.
    """

    def script(rig: Rig) -> Figures:
        _play(rig)
        settle(rig)
        before = _memory_bytes(rig)
        _open(rig, [("stream", transport)], each=MANY)
        rig.backend().send(event(SMALL_BYTES), EVENTS)
        settle(rig)
        grown = _memory_bytes(rig) - before
        rig.leave_streams()
        return {"stream_bytes": max(grown, 0) / MANY}

    return script


def _memory_bytes(rig: Rig) -> int:
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def _play(rig: Rig, accel_buffering: str = "", *, comment: str = "") -> None:
    """Let the backend stream every response, and reset what an earlier trial left."""
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    if accel_buffering:
        headers["X-Accel-Buffering"] = accel_buffering
    commented = Reply(path="/commented/", headers=headers, streams=True, beat=comment)
    rig.leave_streams()
    rig.backend().play((commented, Reply(headers=headers, streams=True)))


def _open(
    rig: Rig, streams: Sequence[tuple[str, str]], ports: Mapping[str, int] = TRANSPORTS, *, each: int = 1
) -> None:
    """Open streams through locations and transports, and wait until the backend has their requests."""

    def requests() -> int:
        return len(rig.backend().seen().requests)

    awaited = requests() + each * len(streams)
    rig.open_streams(*(_asked(line, transport, ports[transport], each) for line, transport in streams))
    rig.wait_until(lambda: requests() == awaited, "did not pass all requests on")


def _asked(line: str, transport: str, port: int, count: int) -> Streams:
    is_http2 = transport == "http2"
    return Streams(
        count=count,
        port=port,
        path=f"/{line}/",
        headers={} if is_http2 else _GZIP,
        tls=port in {TLS_PORT, HTTP2_PORT},
        http2=is_http2,
    )


def settle(rig: Rig, ports: Mapping[str, int] = TRANSPORTS) -> None:
    """Wait until everything is at rest.

    The backend's kernel has sent everything, nginx's sockets are empty, its workers sleep, and nothing has changed at
    the backend and the client since the last look.
    """
    before: object = None

    def stands_still() -> bool:
        nonlocal before
        seen, workers, arrived = rig.backend().seen(), rig.workers(), rig.arrived()
        earlier, before = before, (seen, arrived, [(one.run_s, one.voluntary_switches) for one in workers])
        if earlier != before or seen.unacknowledged_bytes or not all(worker.is_asleep for worker in workers):
            return False
        # This check comes last, because the kernel lists all sockets of the machine for each port.
        sockets = [rig.sockets(port) for port in ports.values()]
        return not sum(sockets[0].unread_bytes) + sum(one.send_queue_bytes for one in sockets)

    rig.wait_until(stands_still, "did not come to rest")
