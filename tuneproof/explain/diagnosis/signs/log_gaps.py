"""Requests that an access log may hide: in unread lines, without a status, or in the part that was not unpacked."""

from collections.abc import Iterator
from typing import Final, NamedTuple

from tuneproof.explain.diagnosis.case import Case
from tuneproof.explain.diagnosis.cause_texts import LOG_TIMES
from tuneproof.explain.diagnosis.evidence_set import Named
from tuneproof.explain.diagnosis.thresholds import TOUCHED_SHARE
from tuneproof.explain.parse.access_log.log_summary import LogSummary
from tuneproof.wording import count

_FORMAT_OF_OTHERS: Final = (
    "if these lines are requests, put them into a separate file, and name its fields with --nginx-conf or --log-format"
)


class Gap(NamedTuple):
    """Why a log may hide a problem."""

    text: str  # a clause
    would_decide: str  # the evidence to give instead


def gaps(log: LogSummary) -> Iterator[Gap]:
    """Yield why a log may hide a problem; a few requests do not matter."""
    if log.unmatched_lines >= TOUCHED_SHARE * (log.requests + log.unmatched_lines):
        text = f"{count(log.unmatched_lines, 'line')} in another format could not be read"
        yield Gap(text, _FORMAT_OF_OTHERS)
    if log.is_cut:
        yield Gap(
            "only a part of the file could be unpacked", "the whole file; gzip -t shows whether a copy is complete"
        )
    # nginx logs 000 for a request that ended without a response.
    unknown = log.requests - sum(number for status, number in log.status_counts.items() if status)
    if unknown > TOUCHED_SHARE * log.requests:
        yield Gap(f"the status of {count(unknown, 'request')} is unknown", LOG_TIMES)
    without_unit = max(log.times_without_unit.values(), default=0)
    if without_unit > TOUCHED_SHARE * log.requests:
        yield Gap(f"{count(without_unit, 'time')} in an unknown unit could not be read", LOG_TIMES)


def refute(case: Case, log: Named[LogSummary], text: str) -> None:
    """Add a figure about a whole log that contradicts the cause; a doubt if the log may hide other requests.

    ``text``: the sentence without its full stop.
    """
    gap = next(gaps(log.content), None)
    if gap is not None:
        case.doubts(f"{text}, but {gap.text}.", log.name)
    else:
        case.refutes(f"{text}.", log.name)
