"""Failed requests that nearly all come from one of many clients, such as a scanner or a monitor."""

from collections.abc import Collection

from tuneproof.explain.diagnosis.signs.outages import NEARLY_ALL
from tuneproof.explain.diagnosis.thresholds import ENOUGH_REQUESTS
from tuneproof.explain.parse.access_log.log_summary import LogSummary


def one_client(log: LogSummary, statuses: Collection[int]) -> str:
    """Return who got nearly all responses with these statuses, if it is one of many clients; else an empty text.

    A balancer in front of nginx, which sends most requests, fails no more often than others.
    """
    failed = sum(log.status_counts.get(status, 0) for status in statuses)
    most, addresses = log.clients.most_failing(statuses), len(log.clients.requests)
    if most is None or addresses < ENOUGH_REQUESTS or most.failed < NEARLY_ALL * failed:
        return ""
    if 2 * most.requests > log.requests and most.failed < NEARLY_ALL * most.requests:
        return ""
    part = "all" if most.failed == failed else most.failed
    more = "" if log.clients.are_all else " or more"
    return f", {part} of them from one address ({most.address}) of {addresses}{more} in the log"
