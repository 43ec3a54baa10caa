"""Scripts for trials of uploads, most of which stop in the middle of a body."""

from collections.abc import Callable
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of, statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step
from tuneproof.lab.protocol.scripted import Reply, Then

CLIENTS: Final = 20
UPLOADS: Final = 20
LIMIT_BYTES: Final = 10_000  # client_max_body_size
STALLED_AFTER_MS: Final = 300  # client_body_timeout
# More than twice client_body_timeout.
_NOTICED_AFTER_S: Final = 0.8
SLOW_TIMES: Final = 2
# client_body_timeout for slow clients: many times their pauses, so that no delay on a busy machine is as long.
SLOW_STALLED_AFTER_MS: Final = 600
# More than nginx reads before it connects to the upstream: client_body_buffer_size is 8 or 16 KiB.
BODY_BYTES: Final = 100_000
# This is less than BODY_BYTES and LIMIT_BYTES.
_SENT_BYTES: Final = 5000
_CHUNK_BYTES: Final = 1000
_HTTP_ERROR: Final = 400

Script = Callable[[Rig], Figures]


def request(*headers: str) -> str:
    """Return the headers of an upload."""
    return "\r\n".join(["POST /upload HTTP/1.1", "Host: lab", *headers, "", ""])


def chunked(size_bytes: int) -> str:
    """Return an upload without a length (RFC 9112, section 7.1)."""
    chunk = f"{_CHUNK_BYTES:x}\r\n{'x' * _CHUNK_BYTES}\r\n"
    return request("Transfer-Encoding: chunked") + size_bytes // _CHUNK_BYTES * chunk + "0\r\n\r\n"


def whole(size_bytes: int, *headers: str) -> str:
    """Return an upload with a length."""
    return request(f"Content-Length: {size_bytes}", *headers) + "x" * size_bytes


def halted(upload: str, *, sent_bytes: int = _SENT_BYTES) -> Script:
    """Return the script in which clients send ``sent_bytes`` of an upload's body and wait.

    It counts nginx's responses and its connections to the backend; then the clients leave.
    """
    head_bytes = upload.index("\r\n\r\n") + 4

    def script(rig: Rig) -> Figures:
        rig.backend().play((Reply(),))
        waiting = Flow(connections=CLIENTS, says=upload, head_bytes=head_bytes + sent_bytes, then=(Step.STAY,))
        with rig.standing(waiting) as results:
            seen, _sent = rig.steady(lambda: (rig.backend().seen(), rig.counters()["Tcp.OutSegs"]))
        return {
            "backend_connections": seen.open_connections,
            "held_back_share": 1 - seen.connections / CLIENTS,
            "continue_share": statuses(results[0], 100) / CLIENTS,
            "rejected_share": sum(answer.status >= _HTTP_ERROR for answer in answers_of(results[0])) / CLIENTS,
        }

    return script


def too_large(rig: Rig) -> Figures:
    """Let clients send part of a body, count nginx's connects to the backend, and let the rest exceed the limit."""
    before = rig.counters()["Tcp.ActiveOpens"]
    upload = chunked(3 * LIMIT_BYTES)
    waiting = Flow(connections=CLIENTS, says=upload, head_bytes=_SENT_BYTES, then=(Step.STAY, Step.ASK))
    with rig.standing(waiting) as results:
        connects = rig.steady(lambda: rig.counters()["Tcp.ActiveOpens"]) - before
    rejected = statuses(results[0], 413)
    rig.must(rejected == CLIENTS, f"{rejected} of {CLIENTS} uploads were answered by 413")
    return {"reached_share": connects / CLIENTS}


def stalled(rig: Rig) -> Figures:
    """Let clients stop in the middle of a body until nginx closes their connections; count the responses."""
    rig.backend().play((Reply(),))
    done = rig.flow(
        Flow(connections=CLIENTS, says=whole(BODY_BYTES), head_bytes=_SENT_BYTES, then=(Step.AWAIT_END,)),
    )
    rig.rest()
    ended = sum(one.closed_by_server for one in done)
    rig.must(ended == CLIENTS, f"nginx ended {ended} of {CLIENTS} connections")
    logged = sum(line["status"] == "408" for line in rig.access_log())
    return {"answered_share": len(list(answers_of(done))) / CLIENTS, "logged_408_share": logged / CLIENTS}


def occupied(rig: Rig) -> Figures:
    """Let clients stop within a body for longer than the timeouts; count the backend connections that nginx closes."""
    rig.backend().play((Reply(),))
    with rig.standing(Flow(connections=CLIENTS, says=whole(BODY_BYTES), head_bytes=_SENT_BYTES, then=(Step.STAY,))):
        rig.wait_until(lambda: rig.backend().seen().connections == CLIENTS, "did not begin to send all uploads")
        rig.wait(_NOTICED_AFTER_S)
        held = rig.backend().seen().open_connections
    return {"freed_share": 1 - held / CLIENTS}


def slow(rig: Rig) -> Figures:
    """Let clients send an upload evenly, for twice client_body_timeout; count those that fail."""
    rig.backend().play((Reply(),))
    per_s = 1000 * BODY_BYTES // (SLOW_TIMES * SLOW_STALLED_AFTER_MS)
    done = rig.flow(Flow(connections=CLIENTS, says=whole(BODY_BYTES), sends_bytes_per_s=per_s))
    return {"failed_share": 1 - statuses(done, 200) / CLIENTS}


def paused(rig: Rig) -> Figures:
    """Let clients pause once in an upload, for longer than client_body_timeout; count those that fail."""
    rig.backend().play((Reply(),))
    pausing = Flow(connections=CLIENTS, says=whole(BODY_BYTES), head_bytes=_SENT_BYTES, then=(Step.STAY, Step.ASK))
    with rig.standing(pausing) as results:
        rig.wait(1.5 * SLOW_STALLED_AFTER_MS / 1000)
    return {"failed_share": 1 - statuses(results[0], 200) / CLIENTS}


def to_two_peers(rig: Rig) -> Figures:
    """Send uploads, of which every other one goes to a failing peer; count the uploads that get a 502."""
    rig.backend().play((Reply(),))
    rig.backend().fault("", Then.RESETS)
    # Each upload uses its own connection: nginx closes a connection if it has not read the body.
    done = rig.flow(Flow(connections=UPLOADS, at_once=1, method="PUT", path="/upload", body_bytes=BODY_BYTES))
    failed, ok = statuses(done, 502), statuses(done, 200)
    rig.must(failed + ok == UPLOADS, f"{failed + ok} of {UPLOADS} uploads were answered by 200 or 502")
    return {"failed_uploads": failed, "fails": float(failed > 0)}
