"""Comparisons between two versions of nginx: the trials' scripts, and the smallest difference that is reported."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tuneproof.errors import LabError
from tuneproof.lab.load.counted import Figures
from tuneproof.lab.load.exchanges import answers_of
from tuneproof.lab.load.rig import Rig
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol.exchanges import Connection, Step, Streams
from tuneproof.wording import format_number, size
from tuneproof.yours import trials
from tuneproof.yours.routes import Probe, Route

SEPARATOR: Final = ": "
"""Separates the comparison from the observed text in a figure's name; the figure is how often the text was seen."""
WARNS: Final = "nginx warns"
HEADER: Final = "header"
_ASKED: Final = 3
_CONNECTIONS: Final = 4
# One request more than any version allows on a connection by default.
_MOST_REQUESTS: Final = 1001
_TLS: Final = ("1.2", "1.3")
# nginx writes to standard error until it has opened a log; in some packages, standard error is the log.
_WARNING: Final = re.compile(r"^(?:nginx: |[\d/]+ [\d:]+ )\[warn\] (?:\d+#\d+: )?(?!\*|\d+#)(.+)", re.MULTILINE)
_VERSION: Final = re.compile(r"\b(nginx|angie|openresty)/[\d.]+")
_OF_STANDIN: Final = "x-tuneproof-answer"
# These headers depend on when the lab created a file, so only whether an etag is weak is compared.
_OF_FILES: Final = frozenset({"etag", "last-modified"})
_WEAK: Final = re.compile("W/")


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A number to compare."""

    what: str
    margin: float  # the smallest ratio that is a difference
    why: str
    shown: Callable[[float], str] = format_number


FIGURES: Final[Mapping[str, Figure]] = {
    "upstream_connects": Figure(
        what="connections to the upstream for 32 requests, 4 at a time",
        margin=1.5,
        why="it varies a little with the clients that each worker gets; a difference of half has another cause",
    ),
    "kept": Figure(what="idle connections to the upstream kept open after 32 requests", margin=1.5, why="likewise"),
    "from_cache": Figure(what="answers from the cache, of 32", margin=1.0, why="a count"),
    "client_requests": Figure(
        what="requests that one client connection may send, up to 1001", margin=1.0, why="a count"
    ),
    "closed": Figure(what="idle client connections that a reload closes, of 4", margin=1.0, why="a count"),
    "answered": Figure(what="clients answered on idle connections after a reload, of 4", margin=1.0, why="a count"),
    "grown_bytes": Figure(
        what="memory for each slow reader",
        margin=1.25,
        why="touched pages of tables change it by less",
        shown=size,
    ),
    "worker_bytes": Figure(
        what="memory of a worker at its start", margin=1.1, why="a tenth more is worth considering", shown=size
    ),
    "turn_bytes": Figure(
        what="bytes of large responses that a loop iteration reads",
        margin=2.0,
        why="if an iteration reads half as much, other clients wait half as long",
        shown=size,
    ),
}


@dataclass(frozen=True, kw_only=True)
class Look:
    """One comparison, made once per round on both versions."""

    at: str  # the place that is compared, in the user's terms
    script: trials.Script


def looks_of(probes: Sequence[Probe], routes: Sequence[Route], *, records_turns: bool) -> Iterator[Look]:
    """Yield the comparisons for a configuration."""
    yield Look(at="all workers", script=trials.fresh_workers)
    for probe in probes:
        yield Look(at=probe.shown, script=asked(probe))
    if probes:
        yield Look(at=probes[0].shown, script=lasting(probes[0]))
        yield Look(at=probes[0].shown, script=reloaded(probes[0]))
    for probe in {(one.port, one.host): replace(one, path="/") for one in probes}.values():
        server = replace(probe, path="").shown
        yield Look(at=server, script=over_http2(probe))
        if probe.tls and not probe.proxy_protocol:
            yield Look(at=server, script=handshakes(probe))
    for route in routes:
        yield Look(at=route.shown, script=connections(route))
    # Only the first place of each kind: comparisons that take seconds are not repeated for equivalent places.
    first = list(reversed(routes))
    for route in {
        (route.proxied.target.kind, route.proxied.reader_bytes, route.tls): route for route in first
    }.values():
        if route.proxied.reader_bytes is not None:
            yield Look(at=route.shown, script=trials.slow_readers(route, route.proxied.reader_bytes))
    for route in {
        route.proxied.target.kind: route for route in first if route.proxied.is_buffered and records_turns
    }.values():
        yield Look(at=route.shown, script=trials.bulk(route))


def asked(probe: Probe) -> trials.Script:
    """Return the trial of some requests, which counts the statuses and header lines of the responses."""

    def script(rig: Rig) -> Figures:
        flow = trials.flow_to(probe, keeps_heads=True, timeout_s=trials.ANSWERED_WITHIN_S)
        return seen_in([rig.flow(flow, port=probe.port) for _ in range(_ASKED)])

    return script


def seen_in(results: Sequence[Sequence[Connection]]) -> Figures:
    """Return how often each status and header line was seen, without nginx's own version."""
    seen: Counter[str] = Counter()
    for connections_ in results:
        answers = [answer for answer in answers_of(connections_) if answer.status]
        errors = [f"none ({one.error or 'closed'})" for one in connections_ if not any(a.status for a in one.answers)]
        seen.update(f"status{SEPARATOR}{status}" for status in (*(answer.status for answer in answers), *errors))
        for line in (line for answer in answers for line in answer.head):
            name, _, value = line.partition(":")
            name, value = name.strip().lower(), _VERSION.sub(r"\1/VERSION", value.strip())
            if name == _OF_STANDIN:
                continue
            seen[f"{HEADER}{SEPARATOR}{name}"] += 1
            seen[f"{HEADER} {name}{SEPARATOR}{_WEAK.match(value) is not None if name in _OF_FILES else value}"] += 1
    return {name: float(number) for name, number in seen.items()}


def lasting(probe: Probe) -> trials.Script:
    """Return the trial of a connection that sends up to 1001 requests until nginx closes it: ``client_requests``."""

    def script(rig: Rig) -> Figures:
        flow = trials.flow_to(probe, requests=_MOST_REQUESTS, timeout_s=60.0)
        return {"client_requests": sum(answer.status > 0 for answer in answers_of(rig.flow(flow, port=probe.port)))}

    return script


def reloaded(probe: Probe) -> trials.Script:
    """Return the trial of a reload with idle connections that then send a request: ``closed`` and ``answered``."""

    def script(rig: Rig) -> Figures:
        flow = trials.flow_to(
            probe, connections=_CONNECTIONS, then=(Step.STAY, Step.ASK), timeout_s=trials.ANSWERED_WITHIN_S
        )
        with rig.standing(flow, port=probe.port) as results:
            rig.fresh_workers()
        (found,) = results
        return {
            "closed": sum(one.closed_by_server for one in found),
            "answered": sum(sum(answer.status > 0 for answer in one.answers) > 1 for one in found),
        }

    return script


def over_http2(probe: Probe) -> trials.Script:
    """Return the trial of a request over HTTP/2; without TLS, "with prior knowledge"."""

    def script(rig: Rig) -> Figures:
        status = 0
        try:
            asked_for = Streams(
                path=probe.path, tls=probe.tls, http2=True, host=probe.host, proxy_protocol=probe.proxy_protocol
            )
            rig.open_streams(asked_for, port=probe.port)
            wait_until(lambda: any(one.status or one.end for one in rig.arrived()), "no answer", within_s=5.0)
            status = rig.arrived()[0].status
        except LabError:
            # If the socket has no HTTP/2, the response is in another protocol, or missing.
            pass
        finally:
            rig.leave_streams()
        return {f"HTTP/2 request{SEPARATOR}{status or 'no answer'}": 1.0}

    return script


def handshakes(probe: Probe) -> trials.Script:
    """Return the trial of a TLS 1.2 and a TLS 1.3 handshake, and of the resumption of each session."""

    def script(rig: Rig) -> Figures:
        seen = {}
        for version in _TLS:
            what = f"TLS {version} handshake{SEPARATOR}"
            try:
                (first,) = rig.client.tls_connect(*rig.at(probe.port), 1, version=version)
                (again,) = rig.client.tls_resume(*rig.at(probe.port), (0,))
            except LabError:
                seen[f"{what}refused"] = 1.0
            else:
                seen[f"{what}{first.hellos} ClientHello, {'resumed' if again.resumed else 'not resumed'}"] = 1.0
        return seen

    return script


def connections(route: Route) -> trials.Script:
    """Return the trial of requests, with the number of upstream connections that stay open: ``kept``."""
    asking = trials.requests(route)

    def script(rig: Rig) -> Figures:
        figures = asking(rig)
        kept = rig.steady(lambda: rig.sockets(route.listens_on).others.get("ESTAB", 0))
        compared = {name: figures[name] for name in ("upstream_connects", "from_cache")}
        return {**compared, "kept": kept}

    return script


def warnings_in(log: str) -> Figures:
    """Return nginx's warnings at start, from its container's output, without those about requests ("*1" and so on)."""
    return dict.fromkeys((f"{WARNS}{SEPARATOR}{line}" for line in _WARNING.findall(log)), 1.0)
