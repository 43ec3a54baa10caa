"""Scripts and counts for trials of limits, buffers and timeouts."""

from typing import Final

from tuneproof.catalogue.counting import HALF
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step

OBJECTS: Final = 30
RATE_PER_S: Final = 5
BURST: Final = 10
CONNECTIONS: Final = 60
FILE_BYTES: Final = 1_000_000
STREAMS: Final = 30
ATTACKERS: Final = 20
# More than nginx's header buffers (four of 8 KiB) hold, but less than a socket's receive buffer.
HEADER_BYTES: Final = 60_000
COOKIE_BYTES: Final = 2000
BODY_BYTES: Final = 100_000
BODIES: Final = 10
DOWNLOADS: Final = 5
# The kernel reports room once a third of the send buffer is free; at this rate, that takes more than 2 s.
STEADY_BYTES_PER_S: Final = 4000
STEADY_S: Final = 4.2
SILENT_BYTES_PER_S: Final = 40
HTTP2_PORT: Final = 8002


def page(rig: Rig) -> Figures:
    """Request all objects of a page at once."""
    done = rig.flow(Flow(connections=OBJECTS, path="/object-{c}"))
    took_s = max(one.open_s for one in done)
    # In that time the rate admits this many requests in addition to the burst and the first request.
    in_time = took_s * RATE_PER_S
    rig.must(
        BURST + 1 + in_time < HALF * OBJECTS,
        f"the requests took {took_s:.1f} s, in which the rate admits {in_time:.0f} more",
    )
    return {"rejected_share": statuses(done, 503) / OBJECTS}


def half_headers(rig: Rig) -> Figures:
    """Open connections that never finish their headers; a later request shows that all have been accepted."""
    held, _ = rig.flows(Flow(connections=CONNECTIONS, head_bytes=20, then=(Step.STAY,)), Flow())
    return {"ended_share": sum(one.closed_by_server for one in held) / CONNECTIONS}


def slow_downloads(rig: Rig) -> Figures:
    """Open connections that download slowly, until a response has begun on each."""
    slow = Flow(
        connections=CONNECTIONS,
        path=f"/{FILE_BYTES}.bin",
        read_bytes_per_s=50_000,
        receive_buffer_bytes=4096,
        then=(Step.STAY,),
    )
    done = rig.flow(slow)
    # No download may have ended before the last client sends its request.
    furthest = max(answer.body_bytes for answer in answers_of(done) if answer.status == 200)  # noqa: PLR2004 - OK
    rig.must(furthest < HALF * FILE_BYTES, f"a download had reached {furthest} bytes before all requests were answered")
    return {"ended_share": statuses(done, 503) / CONNECTIONS}


def streams(rig: Rig) -> Figures:
    """Request many objects at once on one HTTP/2 connection."""
    seen = rig.client.http2(*rig.at(HTTP2_PORT), STREAMS, "/wait/300")
    rig.must(0 not in seen, f"{seen.count(0)} of {STREAMS} streams were not answered")
    return {"rejected_share": seen.count(503) / STREAMS}


def endless_headers(rig: Rig) -> Figures:
    """Let clients send the beginning of an overlong request line; return how much the workers' memory grows."""
    before = _memory_bytes(rig)
    path = f"/{'x' * HEADER_BYTES}"
    with rig.standing(Flow(connections=ATTACKERS, path=path, head_bytes=HEADER_BYTES, then=(Step.STAY,)), Flow()):
        meanwhile = rig.steady(lambda: _memory_bytes(rig))
    return {"kept_bytes": max(meanwhile - before, 0)}


def _memory_bytes(rig: Rig) -> int:
    return sum(worker.rss_anon_bytes for worker in rig.workers())


def cookies(rig: Rig) -> Figures:
    """Send a cookie of a size that ordinary sites use."""
    done = rig.flow(Flow(connections=5, requests=2, headers={"Cookie": f"session={'x' * COOKIE_BYTES}"}))
    asked = 10
    return {"rejected_share": (asked - statuses(done, 200)) / asked}


def uploads(rig: Rig) -> Figures:
    """Send bodies; count the temporary files into which nginx wrote them."""
    done = rig.flow(Flow(connections=1, requests=BODIES, method="POST", body_bytes=BODY_BYTES))
    rig.rest()
    buffered = rig.error_log().count("a client request body is buffered to a temporary file")
    return {"temporary_files": buffered, "answered": len(list(answers_of(done)))}


def steady_downloads(rig: Rig) -> Figures:
    """Download steadily, but slowly; count the downloads that nginx ends within STEADY_S.

    The client notices later, since the kernel still sends what nginx has written.
    """
    with rig.standing(_from_full_sockets(STEADY_BYTES_PER_S)) as steady:
        # nginx ends a download by its own timer and logs it in the same loop iteration, for which rest() waits.
        rig.wait(STEADY_S)
        rig.rest()
        ended = len(rig.access_log())
    rig.must(statuses(steady[0], 200) == DOWNLOADS, "not all downloads began")
    return {"ended_share": ended / DOWNLOADS}


def gone_silent(rig: Rig) -> Figures:
    """Let clients almost stop reading; count the sockets that still hold data after nginx has given up on them."""

    def established() -> int:
        return rig.sockets().local.get("ESTAB", 0)

    with rig.standing(_from_full_sockets(SILENT_BYTES_PER_S)):
        # When no connection is established any more, only the kernel still holds the data.
        rig.wait_until(lambda: established() == 0, "did not close the connections of silent clients")
        left = rig.sockets()
    return {"orphans": left.local.get("FIN-WAIT-1", 0)}


def _from_full_sockets(bytes_per_s: int) -> Flow:
    """Return downloads that clients with small receive buffers read at this rate, without closing them."""
    return Flow(
        connections=DOWNLOADS,
        path="/4000000.bin",
        read_bytes_per_s=bytes_per_s,
        receive_buffer_bytes=4096,
        then=(Step.STAY,),
    )
