"""Scripts and counts for trials of cache updates, locks and keys."""

from collections.abc import Callable
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow

CLIENTS: Final = 30
RENEW_MS: Final = 100
RENEW_SLOWLY_MS: Final = 400
# Longer than the 500 ms after which a waiting request checks again, and shorter than twice that.
SLOW_MS: Final = 700
# A key zone of 32k has fewer than eight pages, each with room for 32 keys.
PAGES: Final = 250
_PAGES_EACH: Final = 50
_CACHED: Final = 50
# Two requests for the expiring page, one for the other page, and two to the origin.
_LOGGED: Final = 5
SAME_CONNECTION: Final = Flow(requests=2, path="/{n}")
ANOTHER_CONNECTION: Final = Flow(connections=2, at_once=1, path="/{c}")


def upstream_requests(rig: Rig, requests: int) -> int:
    """Return how many requests were answered by the upstream, once the log contains this many lines."""
    return sum(bool(line["upstream"]) for line in rig.logged(requests))


def _stale(rig: Rig) -> None:
    rig.ok(rig.flow(Flow(path="/page")), requests=1)
    rig.must(upstream_requests(rig, 1) == 1, "the first request was not answered by the upstream")


def waiting_on_expired(rig: Rig) -> Figures:
    """Let all clients request an expired page at once; count the requests that the upstream answered."""
    _stale(rig)
    rig.ok(rig.flows_behind_stopped_workers(Flow(connections=CLIENTS, path="/page"))[0], requests=CLIENTS)
    waited = upstream_requests(rig, 1 + CLIENTS) - 1
    return {"waiting_clients": waited, "nobody_waits": float(waited == 0)}


def renewed_first(flow: Flow) -> Callable[[Rig], Figures]:
    """Return the script: request an expired page, and then a page that nginx serves without an upstream.

    The log lists both requests, and those to the origin, in the order in which they ended.
    """

    def script(rig: Rig) -> Figures:
        rig.ok(rig.flow(Flow(path="/0")), requests=1)
        rig.ok(rig.flow(flow), requests=2)
        ended = [line["uri"] for line in rig.logged(_LOGGED)]
        renewed = len(ended) - 1 - ended[::-1].index(f"/wait/{RENEW_SLOWLY_MS}")
        return {"renewed_first": float(ended.index("/1") > renewed)}

    return script


def stampede(rig: Rig) -> Figures:
    """Let all clients at once request a page that is not cached yet."""
    rig.ok(rig.flows_behind_stopped_workers(Flow(connections=CLIENTS, path="/page"))[0], requests=CLIENTS)
    return {"upstream_requests": upstream_requests(rig, CLIENTS)}


def asked_twice(rig: Rig) -> Figures:
    """Request many pages, each twice; count the responses from the cache."""
    pages = Flow(connections=PAGES // _PAGES_EACH, requests=_PAGES_EACH, path="/{c}-{n}")
    for _ in range(2):
        rig.ok(rig.flow(pages), requests=PAGES)
    fetched = upstream_requests(rig, 2 * PAGES) - PAGES
    return {"cached_share": 1 - fetched / PAGES}


def restarted(rig: Rig) -> Figures:
    """Request pages, upgrade nginx, which empties the key zone, and request them again before the cache is loaded."""
    pages = Flow(requests=_CACHED, path="/page-{n}")
    rig.ok(rig.flow(pages), requests=_CACHED)
    before = upstream_requests(rig, _CACHED)
    old = {worker.pid for worker in rig.workers()}
    rig.signal("USR2")
    rig.settle(2 * len(old))
    rig.signal("QUIT")
    rig.until_they_are_gone(old)
    rig.ok(rig.flow(pages), requests=_CACHED)
    return {"fetched_again_share": (upstream_requests(rig, 2 * _CACHED) - before) / _CACHED}
