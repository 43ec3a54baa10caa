"""Events in error logs, if there are enough of them: a log may span years, and does not count requests."""

from collections.abc import Iterator
from dataclasses import dataclass

from tuneproof.explain.diagnosis.case import Case
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.shares import lower_limit
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS, TOUCHED_SHARE
from tuneproof.explain.parse.error_log import UPSTREAMS, ErrorLog, Event


@dataclass(frozen=True, kw_only=True)
class FrequentEvent:
    """An event in one log."""

    number: int
    upstream: str  # "upstreams" for several or none
    file: str


def frequent_events(evidence: EvidenceSet, event: Event) -> Iterator[FrequentEvent]:
    """Yield the logs in which an event occurs often enough to be significant."""
    for named in evidence.error_logs:
        if (number := named.content.of(event)) >= ENOUGH_EVENTS:
            yield FrequentEvent(number=number, upstream=named.content.upstream_of(event), file=named.name)


def weigh(evidence: EvidenceSet, case: Case, event: Event, *, proves: bool = True, least: int = ENOUGH_EVENTS) -> None:
    """Weigh an event; each occurrence is a request that failed or went to another upstream.

    ``proves``: whether no other cause makes nginx log it. ``least``: how many occurrences count as evidence.
    """
    requests = sum(log.content.requests for log in evidence.access_logs)
    for named in evidence.error_logs:
        number = named.content.of(event)
        if number >= least and (not requests or lower_limit(min(number, requests), requests) >= TOUCHED_SHARE):
            weighs = case.proves if proves else case.suggests
            weighs(
                statement(named.content, event), named.name, touched=min(1.0, number / requests) if requests else 0.0
            )
        elif number and proves:
            of = f" In {requests} requests." if requests else ""
            case.affects_few(f"{statement(named.content, event)}{of}", named.name)


def statement(log: ErrorLog, event: Event) -> str:
    """Return a sentence with the number of an event and its upstream."""
    upstream = log.upstream_of(event)
    return f"Error log: {log.of(event)} {event.value}{'' if upstream == UPSTREAMS else f' ({upstream})'}."
