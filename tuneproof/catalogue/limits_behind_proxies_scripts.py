"""Scripts for trials of limits per client."""

import enum
from collections.abc import Callable
from typing import Final

from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import statuses
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.protocol.exchanges import Flow, Step

CLIENTS: Final = 30
BURST: Final = 4
WORKERS: Final = 4
FLOOD: Final = 40
# A zone of 32k has fewer than eight pages, each with room for 32 IPv4 addresses or short URIs on a 64-bit machine.
ADDRESSES: Final = 500
_ADDRESSES_EACH: Final = 100
_NEWCOMERS: Final = 20
LIMIT_CONN: Final = 5
_IDLE: Final = 20
_FILE: Final = "/1000.bin"
_SERVED: Final = 200
_REJECTED: Final = 503


class Newcomers(enum.Enum):
    """The query of the requests that new clients send once the zone is full."""

    WITH_OTHER_ADDRESSES = "?c=200&n={n}"
    WITH_LONG_URIS = f"?c=200&n={{n}}&{'x' * 300}"


def visitors(rig: Rig) -> Figures:
    """Let each of many clients send one request."""
    return _shares(rig, Flow(connections=CLIENTS, path=f"{_FILE}?c={{c}}"))


def one_client(rig: Rig) -> Figures:
    """Let one client send as many requests as all clients of :func:`visitors`."""
    return _shares(rig, Flow(requests=CLIENTS, path=f"{_FILE}?n={{n}}"))


def _shares(rig: Rig, flow: Flow) -> Figures:
    done = rig.flow(flow)
    return {
        "rejected_share": statuses(done, _REJECTED) / CLIENTS,
        "served_share": statuses(done, _SERVED) / CLIENTS,
    }


def by_proxy_protocol(rig: Rig) -> Figures:
    """Let each of many clients send one request through a load balancer that reports their addresses."""
    request = f"GET {_FILE} HTTP/1.1\r\nHost: lab\r\n\r\n"
    says = [f"PROXY TCP4 192.0.2.{number} 192.0.2.254 40000 80\r\n{request}" for number in range(CLIENTS)]
    done = rig.flows(*[Flow(says=each) for each in says])
    return {"served_share": sum(statuses(one, _SERVED) for one in done) / CLIENTS}


def flood(rig: Rig) -> Figures:
    """Let one client send requests on many connections."""
    done = rig.flow(Flow(connections=FLOOD, path=_FILE))
    return {"admitted": statuses(done, _SERVED), "rejected": statuses(done, _REJECTED)}


def flood_at_once(rig: Rig) -> Figures:
    """Let the worker get requests on many connections at once, so that the rate alone admits only the first."""
    (done,) = rig.flows_behind_stopped_workers(Flow(connections=FLOOD, path=_FILE))
    return {"admitted": statuses(done, _SERVED), "rejected": statuses(done, _REJECTED)}


def full_zone(newcomers: Newcomers) -> Callable[[Rig], Figures]:
    """Return the script: a client is rejected; others fill the zone, new ones send requests; then the first retries."""

    def script(rig: Rig) -> Figures:
        blocked = f"{_FILE}?c=250&n=1"
        before = rig.flow(Flow(requests=BURST + 2, path=blocked))
        rig.must(statuses(before, _REJECTED) == 1, "the client was not rejected before the zone was full")
        others = Flow(
            connections=ADDRESSES // _ADDRESSES_EACH, requests=_ADDRESSES_EACH, path=f"{_FILE}?c={{c}}&n={{n}}"
        )
        rig.ok(rig.flow(others), requests=ADDRESSES)
        new = rig.flow(Flow(requests=_NEWCOMERS, path=f"{_FILE}{newcomers.value}"))
        again = rig.flow(Flow(path=blocked))
        return {
            "rejected_share": statuses(new, _REJECTED) / _NEWCOMERS,
            "freed_share": float(statuses(again, _SERVED)),
        }

    return script


def beside_connections(*, reading: bool) -> Callable[[Rig], Figures]:
    """Return the script: a client with many connections, idle or downloading, sends requests on another one."""
    idle = Flow(connections=_IDLE, path=_FILE, then=(Step.STAY,))
    # More than nginx and the kernel buffer, so the rest is sent only as fast as the client reads.
    download = Flow(
        connections=_IDLE,
        path="/4000000.bin",
        read_bytes_per_s=50_000,
        receive_buffer_bytes=4096,
        then=(Step.STAY,),
    )

    def script(rig: Rig) -> Figures:
        _, asked = rig.flows(download if reading else idle, Flow(requests=_NEWCOMERS, path=_FILE))
        return {"rejected_share": statuses(asked, _REJECTED) / _NEWCOMERS}

    return script
