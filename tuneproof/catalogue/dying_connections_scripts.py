"""Scripts and counts for trials of dying keepalive connections."""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from tuneproof.catalogue.upstream_peers import FAIL_TIMEOUT_S, RETRIED
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Connection, Flow, Streams
from tuneproof.lab.protocol.scripted import Reply

BACKENDS: Final = ("backend", "second")
ONE: Final = BACKENDS[:1]
ASKED: Final = 12
ROUNDS: Final = 6
AT_ONCE: Final = 8
TRIES: Final = 3
PEER_PORT: Final = 9001
# Each kind of request has its own location and upstream block, so that none affects another.
SERVERS: Final = {"get_one": ONE, "get_several": BACKENDS, "post_one": ONE, "post_several": BACKENDS}
FIGURES: Final = {
    "get_one_502s": "get_one",
    "get_several_502s": "get_several",
    "post_one_502s": "post_one",
    "post_several_502s": "post_several",
}


def _flow(kind: str, requests: int, body_bytes: int = 100) -> Flow:
    if kind.startswith("post"):
        return Flow(requests=requests, path=f"/{kind}", method="POST", body_bytes=body_bytes)
    return Flow(requests=requests, path=f"/{kind}")


def _play(rig: Rig, *replies: Reply) -> None:
    for name in BACKENDS:
        rig.backend(name).play(replies)


def _received(rig: Rig) -> Counter[str]:
    """Return how many complete requests have reached the backends, by path."""
    seen = [rig.backend(name).seen() for name in BACKENDS]
    return Counter(line.split(" ")[1].strip("/") for one in seen for line in one.requests)


def _kept(rig: Rig) -> int:
    """Return how many connections to the backends nginx keeps open, according to the kernel."""
    return rig.sockets().others.get("ESTAB", 0)


def _failed(rig: Rig, results: Mapping[str, tuple[Connection, ...]], asked: int) -> Figures:
    """Count the 502s of each kind; the trial is void unless all other requests got a 200."""
    for kind, connections in results.items():
        failed, answered = statuses(connections, 502), statuses(connections, 200)
        rig.must(failed + answered == asked, f"{failed} 502s and {answered} 200s for {asked} requests of {kind}")
    return {figure: statuses(results[kind], 502) for figure, kind in FIGURES.items()}


def asked_in_turn(
    replies: tuple[Reply, ...] = (Reply(answers=1),), *, body_bytes: int = 100
) -> Callable[[Rig], Figures]:
    """Return the script: send requests one by one; by default, a backend closes a connection at its second request."""

    def script(rig: Rig) -> Figures:
        _play(rig, *replies)
        with rig.before(FAIL_TIMEOUT_S, RETRIED):
            results = rig.flows(*(_flow(kind, ASKED, body_bytes) for kind in SERVERS))
        return _figures(rig, dict(zip(SERVERS, results, strict=True)))

    return script


def asked_after_pauses(rig: Rig) -> Figures:
    """Send requests of each kind one by one, each only after nginx has closed its idle connections."""
    _play(rig, Reply(answers=1))
    results: dict[str, tuple[Connection, ...]] = dict.fromkeys(SERVERS, ())
    for _ in range(ASKED):
        for kind, connections in zip(SERVERS, rig.flows(*(_flow(kind, 1) for kind in SERVERS)), strict=True):
            results[kind] += connections
        rig.wait_until(lambda: not _kept(rig), "did not close its connections")
    return _figures(rig, results)


def _figures(rig: Rig, results: Mapping[str, tuple[Connection, ...]]) -> Figures:
    received = _received(rig)
    repeated = sum(max(received[kind] - ASKED, 0) for kind in SERVERS if kind.startswith("post"))
    return {**_failed(rig, results, ASKED), "tries": received.total(), "repeated_posts": repeated}


def ended_before(*, resets: bool) -> Callable[[Rig], Figures]:
    """Return the script: the backends close or reset idle connections while a request waits for the stopped worker."""

    def script(rig: Rig) -> Figures:
        _play(rig, Reply())
        raced: dict[str, tuple[Connection, ...]] = dict.fromkeys(SERVERS, ())

        def end() -> None:
            for name in BACKENDS:
                rig.backend(name).end_connections(resets)
            rig.wait_until(lambda: not _kept(rig), "did not notice the end")

        for _ in range(ROUNDS):
            # Each server gets a request, so that nginx keeps a connection to every server.
            asked = rig.flows(*(_flow(kind, len(servers)) for kind, servers in SERVERS.items()))
            for servers, connections in zip(SERVERS.values(), asked, strict=True):
                rig.ok(connections, requests=len(servers))
            results = rig.flows_behind_stopped_workers(*(_flow(kind, 1) for kind in SERVERS), then=end)
            for kind, connections in zip(SERVERS, results, strict=True):
                raced[kind] += connections
        answered = statuses(raced["post_one"], 200)
        return {**_failed(rig, raced, ROUNDS), "answered_posts_share": answered / ROUNDS}

    return script


def one_request_for_all(rig: Rig) -> Figures:
    """Let nginx keep several connections; then send a request at which the backends close them, and count the tries."""
    _play(rig, Reply(path="/get_one/again", answers=1), Reply())
    rig.ok(rig.flows_behind_stopped_workers(Flow(connections=AT_ONCE, path="/get_one"))[0], requests=AT_ONCE)
    rig.flow(Flow(path="/get_one/again"))
    tries = _received(rig)["get_one/again"]
    return {"tries": tries, "within_three": float(tries <= TRIES)}


def streams_at_once(rig: Rig) -> Figures:
    """Request responses that stay open; count the connections from nginx to its peer."""
    _play(rig, Reply(streams=True))
    rig.open_streams(Streams(count=AT_ONCE, path="/"))
    rig.wait_until(lambda: all(one.status for one in rig.arrived()), "did not pass all responses on")
    rig.backend().end_streams()
    rig.wait_until(lambda: all(one.end for one in rig.arrived()), "did not end all responses")
    rig.leave_streams()
    return _peer_connections(rig)


def requests_of_one_client(rig: Rig) -> Figures:
    """Send several requests directly to the peer, on a single HTTP/2 connection."""
    _play(rig, Reply())
    rig.client.http2(*rig.at(PEER_PORT), AT_ONCE)
    return _peer_connections(rig)


def _peer_connections(rig: Rig) -> Figures:
    rig.rest()
    lines = rig.access_log()
    rig.must(len(lines) == AT_ONCE, f"the peer logged {len(lines)} of {AT_ONCE} requests")
    return {"connections": len({line["connection"] for line in lines})}
