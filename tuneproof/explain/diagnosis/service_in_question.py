"""Whose service the evidence is about: a capture on a real machine has other people's connections in it.

Scans of other ports, a metadata service, ssh, a monitor's probe: each is a service of its own, with its own refusals
and losses, which say nothing of nginx. What carries most is in question, and whatever carries a good part of that.
"""

from dataclasses import dataclass, replace
from typing import Final

from tuneproof.errors import BadInputError
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.records import Endpoint
from tuneproof.explain.parse.capture.services import ServiceSummary
from tuneproof.wording import count

# A twentieth of the busiest service's connections: a backend behind keepalive has few, but it has requests.
PART_OF_BUSIEST: Final = 0.05
# So many requests make a service worth looking at, however many another one has.
ENOUGH_REQUESTS: Final = 20


@dataclass(frozen=True, kw_only=True)
class Narrowed:
    """Evidence of the services in question.

    Attributes:
        evidence: The evidence, without the other services of its captures.
        left_out: What was left out, in one sentence; empty for nothing.
    """

    evidence: EvidenceSet
    left_out: str


def narrowed(evidence: EvidenceSet, service: Endpoint | None = None) -> Narrowed:
    """Leave out what is none of nginx's.

    Args:
        evidence: All evidence.
        service: The service in question, as its captures have it; default: the one that carries most.

    Raises:
        BadInputError: No capture has the service that is given.
    """
    if (
        service is not None
        and evidence.captures
        and not any(_has(named.content, service) for named in evidence.captures)
    ):
        raise BadInputError(
            f"--service {service}: no capture has connections to it",
            remedy=f"one of: {', '.join(_busiest(evidence))}",
        )
    kept, services, connections = [], 0, 0
    for named in evidence.captures:
        content, left = _narrowed(named.content, service)
        kept.append(Named(name=named.name, content=content))
        services += len(left)
        connections += sum(other.flows for other in left)
    said = ""
    if services:
        to = count(services, "other service")
        said = f"Left out: {count(connections, 'connection')} to {to} (--service ADDRESS:PORT asks for one of them)."
    return Narrowed(evidence=replace(evidence, captures=tuple(kept)), left_out=said)


def _has(capture: CaptureSummary, service: Endpoint) -> bool:
    return any(known.server == service for known in capture.services)


def _busiest(evidence: EvidenceSet) -> list[str]:
    known = [service for named in evidence.captures for service in named.content.services]
    return [str(service.server) for service in sorted(known, key=_weight, reverse=True)[:5]]


def _weight(service: ServiceSummary) -> int:
    return max(service.flows, service.requests)


def _narrowed(capture: CaptureSummary, service: Endpoint | None) -> tuple[CaptureSummary, list[ServiceSummary]]:
    """Return a capture without the services that are not in question, and those."""
    if not capture.services:
        return capture, []
    matched = {capture.held.front, *capture.held.back} if capture.held is not None else set()
    if service is not None and _has(capture, service):
        wanted = matched if service in matched else {service}
        kept = [known for known in capture.services if known.server in wanted]
    else:
        least = PART_OF_BUSIEST * max(map(_weight, capture.services))
        kept = [
            known
            for known in capture.services
            if known.server in matched or known.flows >= least or known.requests >= max(ENOUGH_REQUESTS, least)
        ]
    left = [known for known in capture.services if known not in kept]
    return replace(capture, services=tuple(kept)), left
