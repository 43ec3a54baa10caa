"""Scripts and counts for trials of HTTP/2."""

from collections.abc import Callable
from typing import Final

from tuneproof.catalogue.http2_frames import get, opening, upload
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step
from tuneproof.lab.protocol.scripted import Reply

HTTP2_PORT: Final = 8002
STREAMS: Final = 200
LIMIT: Final = 10  # http2_max_concurrent_streams
REQUESTS: Final = 30
EARLY_BYTES: Final = 1000
# More than the 64 KiB of http2_body_preread_size, and less than nginx reads at once (http2_recv_buffer_size).
IN_FLIGHT_BYTES: Final = 80_000
CLIENTS: Final = 5

Script = Callable[[Rig], Figures]


def requests(*, resets: bool) -> Script:
    """Return the script: a client sends many requests at once; count nginx's connects to the upstream.

    resets: whether the client cancels each request at once.
    """
    says = opening(acknowledges=True) + "".join(get(1 + 2 * number, resets=resets) for number in range(STREAMS))

    def script(rig: Rig) -> Figures:
        rig.backend().play((Reply(streams=True),))
        before = rig.counters()["Tcp.ActiveOpens"]
        with rig.standing(_raw(says), port=HTTP2_PORT):
            connects = rig.steady(lambda: rig.counters()["Tcp.ActiveOpens"]) - before
        return {"upstream_connects": connects, "reached_share": connects / STREAMS}

    return script


def beyond_the_limit(rig: Rig) -> Figures:
    """Let a client that has not seen nginx's settings send many requests; count those that nginx refuses."""
    seen = rig.client.http2(*rig.at(HTTP2_PORT), REQUESTS, "/wait/300")
    return {"refused_share": seen.count(0) / REQUESTS}


def early_uploads(rig: Rig) -> Figures:
    """Let clients upload before they have nginx's settings; count the uploads that do not reach the backend."""
    rig.backend().play((Reply(),))
    says = opening(acknowledges=False) + upload(1, EARLY_BYTES)
    with rig.standing(_raw(says, CLIENTS), port=HTTP2_PORT):
        arrived = rig.steady(lambda: len(rig.backend().seen().requests))
    return {"lost_share": 1 - arrived / CLIENTS}


def in_flight(rig: Rig) -> Figures:
    """Let more than 64 KiB of an upload arrive before nginx reads any; count the uploads that nginx accepts.

    The clients ignore nginx's window, so what nginx accepts shows how large the window is.
    """
    rig.backend().play((Reply(),))
    says = opening(acknowledges=True) + upload(1, IN_FLIGHT_BYTES)

    def unread() -> int:
        # unread_bytes has the established connections that are not on nginx's main port: here, the uploads.
        return sum(rig.sockets().unread_bytes)

    with rig.stopped_workers() as go_on, rig.standing(_raw(says, CLIENTS), port=HTTP2_PORT):
        rig.wait_until(lambda: unread() >= CLIENTS * len(says), "did not get all of the uploads")
        go_on()
        arrived = rig.steady(lambda: len(rig.backend().seen().requests))
    return {"accepted_share": arrived / CLIENTS, "cut_share": 1 - arrived / CLIENTS}


def to_upstream(rig: Rig) -> Figures:
    """Send a few requests; count the responses that come from the upstream."""
    return {"answered_share": statuses(rig.flow(Flow(connections=CLIENTS)), 200) / CLIENTS}


def _raw(says: str, connections: int = 1) -> Flow:
    return Flow(connections=connections, says=says, head_bytes=len(says), then=(Step.STAY,))
