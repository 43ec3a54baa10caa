"""QUIC unanswered: clients send their first packet repeatedly, and the server does not answer (RFC 9000, 17.2).

UDP is blocked on the way or dropped at the host, or nothing listens there. ICMP reports a closed port, but firewalls
often drop the report. A connection counts as unanswered only if its client kept waiting, or ICMP reported
an error (parse/capture/quic.py).
"""

from typing import Final

from tuneproof.explain.diagnosis.case import Case
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.findings import Cause, CauseAssessment
from tuneproof.explain.diagnosis.shares import lower_limit
from tuneproof.explain.diagnosis.thresholds import ENOUGH_HANDSHAKES, TOUCHED_SHARE
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary
from tuneproof.explain.parse.capture.quic import QuicService
from tuneproof.wording import count, share

_WOULD_DECIDE: Final = (
    "whether nginx listens: nsenter -t PID -n ss -lunp",
    "a capture of UDP at nginx: nsenter -t PID -n tcpdump -ni any -s 256 -w quic.pcap udp port 443",
    "a client that does not fall back to TCP: curl --http3-only -v https://NAME/",
)


def assess(evidence: EvidenceSet) -> CauseAssessment:
    """Look for QUIC connections without an answer."""
    case = Case(Cause.QUIC_UNANSWERED)
    for named in evidence.captures:
        for service in named.content.quic:
            _weigh(case, named.name, named.content, service)
    return case.assessment(*_WOULD_DECIDE)


def _weigh(case: Case, file: str, capture: CaptureSummary, service: QuicService) -> None:
    silent = service.unanswered + service.unanswered_after_retry
    # Scanners try QUIC on every machine: a few attempts among many TCP connections may be theirs.
    over_tcp = sum(other.flows for other in capture.services if other.server.address == service.server.address)
    tried = service.connections + over_tcp
    text = f"{silent} of {count(service.connections, 'QUIC connection')} to {service.server} got no answer"
    if service.unanswered_after_retry:
        text += f", {service.unanswered_after_retry} of them after a Retry"
    if service.unreachable:
        text += f"; ICMP reported {service.unreachable} as unreachable"
    if silent and lower_limit(silent, tried) >= TOUCHED_SHARE:
        case.proves(f"{text} ({share(silent / service.connections)}).", file, touched=silent / tried)
    elif silent:
        case.affects_few(f"{text}, against {count(over_tcp, 'TCP connection')}.", file)
    elif service.established >= ENOUGH_HANDSHAKES:
        case.refutes(
            f"Of {count(service.connections, 'QUIC connection')} to {service.server}, {service.established} were "
            "established and none went unanswered.",
            file,
        )
