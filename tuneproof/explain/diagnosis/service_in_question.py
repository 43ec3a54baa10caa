"""Selects the services in captures that the diagnosis is about: nginx's and its backends'.

A capture on a real machine also contains port scans, a metadata service, ssh or a monitor's probes. Their refusals and
losses say nothing about nginx. Services with HTTP or TLS are kept if the capture shows both legs of their requests, or
if they have at least a twentieth of the busiest one's traffic. Without such services, the limit applies to all. A
port without any data is kept as well if clients tried it often and it may be nginx's.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tuneproof.errors import BadInputError
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.thresholds import ENOUGH_REQUESTS
from tuneproof.explain.parse.capture.capture_summary import SERVICES, CaptureSummary
from tuneproof.explain.parse.capture.quic import QuicService
from tuneproof.explain.parse.capture.records import Endpoint
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.wording import count

# The least share of the busiest service's connections or requests: a keepalive backend has few connections.
PART_OF_BUSIEST: Final = 0.05


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """The evidence on the services in question."""

    evidence: EvidenceSet  # without the other services in its captures
    left_out: str  # the omitted services, in one sentence; empty for none


def narrowed(evidence: EvidenceSet, service: Endpoint | None = None) -> Narrowed:
    """Leave out services other than nginx's and its backends'.

    ``service``: the address and port in captures to keep; default: chosen by traffic.

    Raises BadInputError: There are captures, but none contains the given service.
    """
    if (
        service is not None
        and evidence.captures
        and not any(_has(named.content, service) for named in evidence.captures)
    ):
        raise BadInputError(
            f"--service {service}: no capture contains connections to it",
            remedy=f"use one of: {', '.join(_busiest(evidence))}",
        )
    kept: list[Named[CaptureSummary]] = []
    others: list[ServiceSummary] = []
    connections = 0
    for named in evidence.captures:
        content, left = _narrowed(named.content, service)
        kept.append(Named(name=named.name, content=content))
        others += left
        # A summary contains the busiest services only.
        connections += named.content.flows - sum(known.flows for known in content.services)
    left_out = ""
    if others:
        is_more = any(len(named.content.services) == SERVICES for named in evidence.captures)
        to = f"{len(others)} or more other services" if is_more else count(len(others), "other service")
        left_out = f"{count(connections, 'connection')} to {to} (--service ADDRESS:PORT selects one of them)."
    return Narrowed(evidence=replace(evidence, captures=tuple(kept), other_services=tuple(others)), left_out=left_out)


def _has(capture: CaptureSummary, service: Endpoint) -> bool:
    over_tcp = any(known.server == service for known in capture.services)
    return over_tcp or any(known.server == service for known in capture.quic)


def _busiest(evidence: EvidenceSet) -> list[str]:
    known = [service for named in evidence.captures for service in named.content.services]
    ends = [service.server for service in sorted(known, key=_weight, reverse=True)]
    ends += [service.server for named in evidence.captures for service in named.content.quic]
    return [str(end) for end in dict.fromkeys(ends)][:5]


def _weight(service: ServiceSummary) -> int:
    return max(service.flows, service.requests)


def _narrowed(capture: CaptureSummary, service: Endpoint | None) -> tuple[CaptureSummary, list[ServiceSummary]]:
    """Return a capture without the unrelated services, and these services."""
    if not capture.services:
        return replace(capture, quic=_quic_in_question(capture.quic, {service.address} if service else set())), []
    matched = {capture.held.front, *capture.held.back} if capture.held is not None else set()
    if service is not None and _has(capture, service):
        wanted = matched if service in matched else {service}
        kept = [known for known in capture.services if known.server in wanted]
    else:
        kept = _in_question(capture.services, matched)
    left = [known for known in capture.services if known not in kept]
    addresses = {service.address} if service else {known.server.address for known in kept}
    return replace(capture, services=tuple(kept), quic=_quic_in_question(capture.quic, addresses)), left


def _quic_in_question(services: Sequence[QuicService], addresses: Collection[str]) -> tuple[QuicService, ...]:
    """Return the services at these addresses; without addresses, those that clients tried most."""
    least = PART_OF_BUSIEST * max((known.connections for known in services), default=0)
    return tuple(
        known for known in services if (known.server.address in addresses if addresses else known.connections >= least)
    )


def _in_question(services: Sequence[ServiceSummary], matched: Collection[Endpoint]) -> list[ServiceSummary]:
    """Return the services of a capture that may be nginx's, or its backends'."""
    web = [known for known in services if known.requests or known.tls_flows or known.server in matched]
    least = PART_OF_BUSIEST * max(map(_weight, web or services))
    kept = [
        known
        for known in web or services
        if known.server in matched or known.flows >= least or known.requests >= max(ENOUGH_REQUESTS, least)
    ]
    tried = [known for known in services if _is_silent(known) and known.flows >= max(ENOUGH_REQUESTS, least)]
    return kept + [known for known in tried if known not in kept and not _is_unrelated(known, kept)]


def _is_silent(service: ServiceSummary) -> bool:
    """Tell whether no data was exchanged, so that the protocol is unknown."""
    return not service.from_client.payload_bytes and not service.from_server.payload_bytes


def _is_unrelated(service: ServiceSummary, others: Sequence[ServiceSummary]) -> bool:
    """Tell whether a port without any working connection is unrelated to nginx, since another service works.

    It is a closed port of the same machine, or the IPv6 address that clients try before the working IPv4 address (RFC
    8305), or vice versa. It may be nginx's if a working service connects to it, as nginx does to a local upstream.
    """
    if service.refused + service.unanswered < service.flows:
        return False
    address = service.server.address
    working = {other.server.address for other in others}
    if service.clients & working:
        return False
    return address in working or all((":" in address) != (":" in other) for other in working)
