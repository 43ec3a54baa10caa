"""What trials of limits, buffers and timeouts do, and what they count."""

from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.observer import SocketFigures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow

OBJECTS: Final = 30
CONNECTIONS: Final = 60
STREAMS: Final = 30
ATTACKERS: Final = 20
# More than nginx's own buffers for headers hold, 4 of 8 KiB, and less than a socket's receive buffer.
HEADER_BYTES: Final = 60_000
COOKIE_BYTES: Final = 2000
BODY_BYTES: Final = 100_000
BODIES: Final = 10
DOWNLOADS: Final = 5
# nginx hears of room again once a third of what it has written is gone: at this rate that takes longer than 2 s.
STEADY_BYTES_PER_S: Final = 4000
STEADY_S: Final = 4.2
SILENT_S: Final = 2.5
ATTACK_S: Final = 1.0
HTTP2_PORT: Final = 8002


def page(rig: Rig) -> Figures:
    """Ask for all objects of a page at once."""
    rejected = statuses(rig.flow(Flow(connections=OBJECTS, path="/object-{c}")), 503)
    return {"rejected_share": rejected / OBJECTS}


def half_headers(rig: Rig) -> Figures:
    """Open connections that never finish their header."""
    held = rig.flow(Flow(connections=CONNECTIONS, head_bytes=20, hold_s=0.5))
    return {"ended_share": sum(one.closed_by_server for one in held) / CONNECTIONS}


def slow_downloads(rig: Rig) -> Figures:
    """Open connections that download slowly."""
    done = rig.flow(
        Flow(
            connections=CONNECTIONS,
            path="/1000000.bin",
            read_bytes_per_s=50_000,
            receive_buffer_bytes=4096,
            timeout_s=1.0,
        )
    )
    return {"ended_share": statuses(done, 503) / CONNECTIONS}


def streams(rig: Rig) -> Figures:
    """Ask for many objects at once on one connection of HTTP/2."""
    seen = rig.http2(STREAMS, port=HTTP2_PORT, path="/wait/300")
    return {"rejected_share": seen.count(503) / STREAMS}


def endless_headers(rig: Rig) -> Figures:
    """Let connections send as much of a header as they can, and never its end."""
    before = _memory_bytes(rig)
    path = f"/{'x' * HEADER_BYTES}"
    attack = Flow(connections=ATTACKERS, path=path, head_bytes=HEADER_BYTES, hold_s=ATTACK_S)

    def held() -> int:
        rig.wait(ATTACK_S - 0.4)
        return _memory_bytes(rig)

    meanwhile = rig.during(attack, read=held)
    return {"kept_bytes": max(meanwhile - before, 0)}


def _memory_bytes(rig: Rig) -> int:
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def cookies(rig: Rig) -> Figures:
    """Ask with a cookie as large as those of ordinary sites."""
    done = rig.flow(Flow(connections=5, requests=2, headers={"Cookie": f"session={'x' * COOKIE_BYTES}"}))
    asked = 10
    return {"rejected_share": (asked - statuses(done, 200)) / asked}


def uploads(rig: Rig) -> Figures:
    """Send bodies; count the temporary files that nginx made of them."""
    done = rig.flow(Flow(connections=1, requests=BODIES, method="POST", body_bytes=BODY_BYTES))
    buffered = rig.error_log().count("a client request body is buffered to a temporary file")
    return {"temporary_files": buffered, "answered": len(list(answers_of(done)))}


def steady_downloads(rig: Rig) -> Figures:
    """Download steadily, but slowly; count the downloads that nginx has ended by then.

    The client hears of it later: what the kernel has taken from nginx still goes out.
    """
    steady = Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=STEADY_BYTES_PER_S,
        receive_buffer_bytes=4096,
        timeout_s=STEADY_S,
    )

    def ended() -> int:
        rig.wait(STEADY_S - 0.5)
        return len(rig.access_log())

    return {"ended_share": rig.during(steady, read=ended) / DOWNLOADS}


def gone_silent(rig: Rig) -> Figures:
    """Let clients stop reading; count the sockets that still hold data for them after nginx has given them up."""
    silent = Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=40,
        receive_buffer_bytes=4096,
        timeout_s=SILENT_S,
    )

    def established() -> int:
        return rig.sockets().local.get("ESTAB", 0)

    def given_up() -> SocketFigures:
        # They stand before nginx gives them up, and only the kernel has them after that.
        rig.wait_until(lambda: established() == DOWNLOADS, "did not take all clients")
        rig.wait_until(lambda: established() == 0, "kept silent clients")
        return rig.sockets()

    left = rig.during(silent, read=given_up)
    return {"orphans": left.local.get("FIN-WAIT-1", 0)}
