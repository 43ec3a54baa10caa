"""Scripts and counts for trials in which nginx serves files."""

from collections.abc import Callable
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow

REQUESTS: Final = 20
SMALL: Final = "/1000.bin"
LARGE: Final = "/1000000.bin"
FIRST_BYTES: Final = 1000
GROWN_BYTES: Final = 50_000
VALID_S: Final = 30


def calls_of(flow: Flow, *, port: int = 0) -> Callable[[Rig], Figures]:
    """Return the script that counts the system calls for requests on one keepalive connection."""

    def script(rig: Rig) -> Figures:
        # What nginx does only for the first request is not counted.
        rig.flow(Flow(path=flow.path, headers=flow.headers, tls=flow.tls), port=port)
        calls = rig.calls(lambda: rig.ok(rig.flow(flow, port=port), requests=flow.requests))
        return {
            "sendfile_calls": calls["sendfile"].made,
            "sent_by_sendfile": float(calls["sendfile"].made >= flow.requests),
            "setsockopt_calls": calls["setsockopt"].made,
            "open_calls": calls.made("open", "openat"),
            "opens_in_vain": calls["open"].failed + calls["openat"].failed,
            "read_calls": calls.made("pread", "read"),
            "write_calls": calls["write"].made,
            "epoll_wait_calls": calls["epoll_wait"].made,
            "calls": calls.made(),
        }

    return script


def segments(rig: Rig) -> Figures:
    """Request a small file many times; return the number of segments that nginx sends per request."""
    rig.flow(Flow(path=SMALL))
    rig.rest()
    before = rig.counters()["Tcp.OutSegs"]
    rig.ok(rig.flow(Flow(path=SMALL, requests=REQUESTS)), requests=REQUESTS)
    rig.rest()
    return {"segments_per_request": (rig.counters()["Tcp.OutSegs"] - before) / REQUESTS}


def grow(rig: Rig) -> Figures:
    """Request a file, let it grow in place, and request it again at once."""
    rig.write("page", FIRST_BYTES)
    with rig.before(VALID_S, "nginx looks at a file again"):
        rig.flow(Flow(path="/changing/page", requests=2))
        rig.write("page", GROWN_BYTES)
        seen = next(answers_of(rig.flow(Flow(path="/changing/page"))))
    return {"body_bytes": seen.body_bytes, "stale": float(seen.body_bytes < GROWN_BYTES)}


def not_found(rig: Rig) -> Figures:
    """Request a missing file many times; count the lines in the error log."""
    answered = statuses(rig.flow(Flow(path="/favicon.ico", requests=REQUESTS)), 404)
    rig.must(answered == REQUESTS, f"{answered} of {REQUESTS} requests were answered with 404")
    return {"error_lines": rig.error_log().count("No such file or directory")}


def compressed(rig: Rig) -> Figures:
    """Request text many times; return the bytes and the CPU time per response."""
    flow = Flow(path="/text.txt", requests=REQUESTS, headers={"Accept-Encoding": "gzip"})
    rig.flow(flow)
    before = rig.workers()[0].run_s
    done = rig.flow(flow)
    cpu_s = rig.workers()[0].run_s - before
    return {"body_bytes": next(answers_of(done)).body_bytes, "cpu_us_per_request": 1e6 * cpu_s / REQUESTS}
