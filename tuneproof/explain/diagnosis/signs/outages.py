"""Outages in access logs: periods of minutes in which many requests failed.

In a log of hours, an outage of minutes affects only a small share of all requests.
"""

from datetime import UTC, datetime
from typing import Final

from tuneproof.explain.diagnosis.thresholds import ENOUGH_REQUESTS
from tuneproof.explain.parse.access_log.log_summary import LONG_WAIT_S, LogSummary
from tuneproof.explain.parse.access_log.sums import Outage
from tuneproof.wording import seconds

NOTICED_SHARE: Final = 0.1
"""Users notice an outage in which at least this share of the requests fails."""
# Long polls wait on purpose; if most requests of a log are fast, they rarely make up this share, even when it is quiet.
_SLOW_SHARE: Final = 0.25
NEARLY_ALL: Final = 0.9
"""If at least this share of a log's errors is in one period, or from one client, this describes them."""
_SHORT: Final = 0.5


def noticed(outage: Outage | None, share: float = NOTICED_SHARE) -> Outage | None:
    """Return an outage if enough requests failed in it for users to notice; one client may be a scanner or a script."""
    if outage is None or outage.is_of_one_client or outage.failed < max(ENOUGH_REQUESTS, share * outage.requests):
        return None
    return outage


def period(outage: Outage, log: LogSummary) -> str:
    """Return when an outage was, in the log's time zone."""
    zone = log.first_time.tzinfo if log.first_time is not None else UTC
    begin, end = (datetime.fromtimestamp(second, zone) for second in (outage.begin_s, outage.end_s))
    # The offset changes on the night when summer time ends.
    is_one_zone = log.last_time is None or log.last_time.tzinfo == zone
    return f"between {begin:%Y-%m-%d %H:%M} and {end:%H:%M}{'' if is_one_zone else f' ({begin:%z})'}"


def short_period(errors: int, log: LogSummary) -> str:
    """Return the period of nearly all server errors, if it is at most half of the log's; else an empty text."""
    outage, first, last = log.outage, log.first_time, log.last_time
    if outage is None or first is None or last is None or outage.failed < NEARLY_ALL * errors:
        return ""
    is_short = outage.end_s - outage.begin_s <= _SHORT * (last - first).total_seconds()
    return period(outage, log) if is_short else ""


def slow_period(log: LogSummary) -> str:
    """Return how many requests waited long for an upstream in some minutes, and when; empty without such a period."""
    slow = noticed(log.slowness, _SLOW_SHARE)
    if slow is None:
        return ""
    text = f"{slow.failed} of {slow.requests} requests waited {seconds(LONG_WAIT_S)} or longer for an upstream"
    return f"{text} {period(slow, log)}."
