"""What nginx's error log says more than once or twice: it may span years, and tells no number of requests."""

from collections.abc import Iterator
from dataclasses import dataclass

from tuneproof.explain.diagnosis.evidence_set import EvidenceSet
from tuneproof.explain.diagnosis.thresholds import ENOUGH_EVENTS
from tuneproof.explain.parse.error_log import Event


@dataclass(frozen=True, kw_only=True)
class SaidOften:
    """An event."""

    number: int  # how often it happened
    whose: str  # the upstream that it is about; "upstreams" for several
    file: str  # the log


def said_often(evidence: EvidenceSet, event: Event) -> Iterator[SaidOften]:
    """Yield the logs in which an event happened often enough to mean something."""
    for named in evidence.error_logs:
        if (number := named.content.of(event)) >= ENOUGH_EVENTS:
            yield SaidOften(number=number, whose=named.content.whose(event), file=named.name)
