"""What trials of streams do, and what they count: a backend sends, and nothing is looked at before nothing moves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Streams
from tuneproof.lab.protocol.messages import call
from tuneproof.lab.protocol.scripted import Reply, Scripted
from tuneproof.lab.subject.written_config import PORT, TLS_PORT

EVENTS: Final = 20
# A token of a language model with what is around it; all events together are smaller than any buffer on the way.
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
"""The lines of the copied snippet, each alone in a location of its name: with HTTP/1.0 unless it says otherwise."""
TRANSPORTS: Final[Mapping[str, int]] = {"plain": PORT, "tls": TLS_PORT, "http2": HTTP2_PORT}
"""The ports over which clients come: HTTP/1.1, the same over TLS, and HTTP/2 over TLS."""
CLEAR: Final[Mapping[str, int]] = {**TRANSPORTS, "http2": CLEAR_HTTP2_PORT}
"""The same with HTTP/2 outside of TLS, which browsers do not speak."""
ARRIVED: Final[Mapping[str, tuple[str, str]]] = {
    f"{line}_{transport}": (line, transport) for line in LINES for transport in TRANSPORTS
}
"""Figures of a delivery: the share of small events that have arrived, by line and transport."""
OF_SIZE: Final[Mapping[str, int]] = {f"of_{size}_bytes": size for size in (SMALL_BYTES, 1000, 10_000)}
"""Further ones: the share of events of other sizes, with HTTP/1.1 to the upstream and over TLS."""
# A stream on which nothing is sent.
SILENT: Final = "silent"
_GZIP: Final = {"Accept-Encoding": "gzip"}
# nginx's timeout in trials of silence is 1 s.
_LONGEST_PAUSE_S: Final = 0.8


def event(size_bytes: int) -> str:
    """Return an event of so many bytes (https://html.spec.whatwg.org/multipage/server-sent-events.html)."""
    frame = "data: \n\n"
    return f"data: {'x' * (size_bytes - len(frame))}\n\n"


def delivery(*, accel_buffering: str = "", ports: Mapping[str, int] = TRANSPORTS) -> Callable[[Rig], Figures]:
    """Return the script that streams along every line and over every transport, and counts what arrives.

    accel_buffering: what the backend says in X-Accel-Buffering.
    """

    def script(rig: Rig) -> Figures:
        _play(rig, accel_buffering)
        silent = [(SILENT, "plain"), (SILENT, "http2")]
        _open(rig, [*ARRIVED.values(), *((name, "tls") for name in OF_SIZE), *silent], ports)
        for line in LINES:
            rig.backend(call(Scripted.send, event(SMALL_BYTES), EVENTS, f"/{line}/"))
        for name, size in OF_SIZE.items():
            rig.backend(call(Scripted.send, event(size), EVENTS, f"/{name}/"))
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
    """Return the script that lets streams be quiet for longer than a timeout of 1 s, and counts those that nginx ends.

    How long that is, nginx's own timers say: another stream with such a timeout is opened after all others.

    comment: what one of the streams gets all the while; empty for nothing.
    """

    def script(rig: Rig) -> Figures:
        _play(rig, comment=comment)
        _open(rig, [("commented", "plain"), *((line, where) for line in ("quiet", "others") for where in _BROWSERS)])
        rig.backend(call(Scripted.send, event(SMALL_BYTES), 1))
        _open(rig, [("control", "plain")])
        rig.wait_until(lambda: bool(rig.arrived()[-1].end), "did not end a stream by its timeout")
        # What was due before has been done before; this reads what was on its way.
        commented, *others, _control = [bool(one.end) for one in rig.arrived()]
        rig.leave_streams()
        pause_s = rig.backend(call(Scripted.seen)).longest_pause_s
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
    """Let the client leave quiet streams, over every transport; count those that the backend still has."""
    _play(rig)
    _open(rig, [("stream", transport) for transport in TRANSPORTS])
    rig.backend(call(Scripted.send, event(SMALL_BYTES), 1))
    settle(rig)
    rig.leave_streams()
    settle(rig)
    at_once = rig.backend(call(Scripted.seen)).open_streams
    for _ in range(2):
        # What nginx writes first meets a socket whose other end is gone; that this has reset it, is seen at the second.
        rig.backend(call(Scripted.send, event(SMALL_BYTES), 1))
        settle(rig)
    after_events = rig.backend(call(Scripted.seen)).open_streams
    return {
        "kept_share": at_once / len(TRANSPORTS),
        "kept_after_events_share": after_events / len(TRANSPORTS),
    }


def memory(transport: str) -> Callable[[Rig], Figures]:
    """Return the script that keeps many streams open, and counts what the workers' memory grows by for each.

    Each of them has had some events.
    """

    def script(rig: Rig) -> Figures:
        _play(rig)
        settle(rig)
        before = _memory_bytes(rig)
        _open(rig, [("stream", transport)], each=MANY)
        rig.backend(call(Scripted.send, event(SMALL_BYTES), EVENTS))
        settle(rig)
        grown = _memory_bytes(rig) - before
        rig.leave_streams()
        return {"stream_bytes": max(grown, 0) / MANY}

    return script


def _memory_bytes(rig: Rig) -> int:
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def _play(rig: Rig, accel_buffering: str = "", *, comment: str = "") -> None:
    """Let the backend stream whatever is asked for, and forget what an earlier trial left."""
    headers = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache"}
    if accel_buffering:
        headers["X-Accel-Buffering"] = accel_buffering
    commented = Reply(path="/commented/", headers=headers, streams=True, beat=comment)
    rig.leave_streams()
    rig.backend(call(Scripted.play, (commented, Reply(headers=headers, streams=True))))


def _open(
    rig: Rig, streams: Sequence[tuple[str, str]], ports: Mapping[str, int] = TRANSPORTS, *, each: int = 1
) -> None:
    """Open streams along lines and over transports, and wait until the backend has their requests."""

    def requests() -> int:
        return len(rig.backend(call(Scripted.seen)).requests)

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
    """Wait until nothing moves any more.

    The backend's kernel has sent all, no socket of nginx's holds anything, its workers sleep, and neither they nor what
    backend and client have seen were different the last time.
    """
    before: object = None

    def stands_still() -> bool:
        nonlocal before
        seen, workers, arrived = rig.backend(call(Scripted.seen)), rig.workers(), rig.arrived()
        earlier, before = before, (seen, arrived, [(one.run_s, one.voluntary_switches) for one in workers])
        if earlier != before or seen.unacknowledged_bytes or not all(worker.is_asleep for worker in workers):
            return False
        # Last, since the kernel lists all sockets of the machine for each port.
        sockets = [rig.sockets(port) for port in ports.values()]
        return not sum(sockets[0].unread_bytes) + sum(one.send_queue_bytes for one in sockets)

    rig.wait_until(stands_still, "did not come to rest")
