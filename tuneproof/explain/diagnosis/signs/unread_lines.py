"""Lines of access logs that are in another format than most: they may be those of failed requests."""

from tuneproof.explain.diagnosis.case import Case
from tuneproof.explain.diagnosis.evidence_set import EvidenceSet, Named
from tuneproof.explain.diagnosis.thresholds import TOUCHED_SHARE
from tuneproof.explain.parse.access_log.log_summary import LogSummary
from tuneproof.wording import count


def unread_lines(evidence: EvidenceSet) -> int:
    """Return the number of unread lines in those access logs in which they could hide a problem."""
    return sum(log.content.unmatched_lines for log in evidence.access_logs if _may_hide(log.content))


def refute(case: Case, log: Named[LogSummary], text: str) -> None:
    """Add a figure about a whole log that contradicts the cause; a doubt if unread lines may hide other requests.

    ``text``: the sentence without its full stop.
    """
    if _may_hide(log.content):
        unread = count(log.content.unmatched_lines, "line")
        case.doubts(f"{text}, but {unread} in another format could not be read.", log.name)
    else:
        case.refutes(f"{text}.", log.name)


def _may_hide(log: LogSummary) -> bool:
    return log.unmatched_lines >= TOUCHED_SHARE * (log.requests + log.unmatched_lines)
