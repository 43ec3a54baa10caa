"""Scripts for trials of load balancing; they count requests by server."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step

WORKERS: Final = 4
SERVERS: Final = 16
HELD: Final = 40
MAX_CONNS: Final = 2
AT_ONCE: Final = 10
WAIT_MS: Final = 100
CLIENTS: Final = 30
KEYS: Final = 200
# nginx 1.18 closes a connection after its hundredth request.
_KEYS_EACH: Final = 100
FAIL_TIMEOUT_S: Final = 1
_AT_A_TIME: Final = 4
_EACH: Final = 16
_ASKED: Final = 20
# nginx counts in whole seconds: it tries a server again once more than fail_timeout has passed.
_LATER_S: Final = FAIL_TIMEOUT_S + 1.1
_DEAD: Final = "127.0.0.1:9"
_SERVED: Final = 200
_FAILED: Final = 500


def last(line: Mapping[str, str]) -> str:
    """Return the server that answered, which is the last one that was tried."""
    return line["upstream"].rpartition(", ")[2]


def by_server(lines: Iterable[Mapping[str, str]]) -> Counter[str]:
    """Return how many requests each server answered."""
    return Counter(map(last, lines))


def busiest(rig: Rig) -> Figures:
    """Send as many requests as there are servers, and keep them open; count those of the busiest server."""
    done = rig.flow(Flow(connections=SERVERS, path="/hold", read_bytes_per_s=1000, then=(Step.STAY,)))
    rig.must(statuses(done, _SERVED) == SERVERS, "not all responses began")
    return {"busiest": max(by_server(rig.logged(SERVERS)).values())}


def held(rig: Rig) -> Figures:
    """Send requests that stay open; count those that reach the server."""
    done = rig.flow(Flow(connections=HELD, path="/hold", read_bytes_per_s=1000, then=(Step.STAY,)))
    return {"reached": statuses(done, _SERVED), "refused": statuses(done, 502)}


def at_once(rig: Rig) -> Figures:
    """Let the worker receive all requests at once, before any server has answered."""
    (done,) = rig.flows_behind_stopped_workers(Flow(connections=AT_ONCE))
    second = by_server(rig.logged(AT_ONCE))["127.0.0.1:9002"]
    return {"served_share": statuses(done, _SERVED) / AT_ONCE, "backup_share": second / AT_ONCE}


def in_turn(rig: Rig) -> Figures:
    """Let a few clients each send requests one after the other; count those that the second server gets."""
    done = rig.flow(Flow(connections=_AT_A_TIME, requests=_EACH))
    second = by_server(rig.logged(_AT_A_TIME * _EACH))["127.0.0.1:9002"]
    return {"second": second, "errors": statuses(done, _FAILED)}


def moved_keys(rig: Rig) -> Figures:
    """Request each key before and after a change; count the keys that move although their server remains."""
    for location in ("/before", "/after"):
        asked = Flow(connections=KEYS // _KEYS_EACH, requests=_KEYS_EACH, path=f"{location}?k={{c}}-{{n}}")
        rig.ok(rig.flow(asked), requests=KEYS)
    servers: dict[str, dict[str, str]] = {"/before": {}, "/after": {}}
    for line in rig.logged(2 * KEYS):
        servers[line["uri"]][line["key"]] = last(line)
    still_there = set(servers["/after"].values())
    kept = {key: server for key, server in servers["/before"].items() if server in still_there}
    moved = sum(servers["/after"][key] != server for key, server in kept.items())
    return {"moved_keys": moved, "moved_share": moved / len(kept)}


def network(rig: Rig) -> Figures:
    """Let each client in a /24 network send a request; return the less busy server's share ÷ one half."""
    rig.ok(rig.flow(Flow(connections=CLIENTS, path="/?c={c}")), requests=CLIENTS)
    clients = by_server(rig.logged(CLIENTS))
    fewest = min(clients.values()) if len(clients) > 1 else 0
    return {"evenness": 2 * fewest / CLIENTS}


def tried_again(rig: Rig) -> Figures:
    """Let nginx detect a dead server; after fail_timeout, send requests and count how often nginx tries that server."""
    rig.ok(rig.flow(Flow(requests=_ASKED)), requests=_ASKED)
    rig.wait(_LATER_S)
    before = sum(_DEAD in line["upstream"].split(", ") for line in rig.logged(_ASKED))
    with rig.before(FAIL_TIMEOUT_S, "nginx tries a failed server again"):
        rig.ok(rig.flow(Flow(requests=_ASKED)), requests=_ASKED)
    tried = sum(_DEAD in line["upstream"].split(", ") for line in rig.logged(2 * _ASKED)) - before
    return {"tried_share": 2 * tried / _ASKED}
