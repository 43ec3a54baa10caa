"""Kinds of requests that last long, wait or end early, although there is no problem."""

import re
from typing import Final

from tuneproof.explain.parse.access_log.records import LogRecord

_SWITCHING_PROTOCOLS: Final = 101
BAD_REQUEST: Final = 400
REQUEST_TIMEOUT: Final = 408
_BODILESS: Final = frozenset({"GET", "HEAD", "OPTIONS", "DELETE", "TRACE"})
# Names of balancers, orchestrators and monitors, and their usual paths.
_CHECKERS: Final = re.compile(
    r"kube-probe|ELB-HealthChecker|GoogleHC|HAProxy|Consul Health Check|check_http|HealthCheck|Uptime|Pingdom",
    re.IGNORECASE,
)
_CHECKED: Final = re.compile(
    r"/(?:-/)?(?:health(?:z|check|_check|-check)?|livez|readyz|ready|live|liveness|readiness|ping|heartbeat"
    r"|nginx_status|stub_status|basic_status)(?:/|$)",
    re.IGNORECASE,
)
SENT_AT_ONCE_BYTES: Final = 16 << 10
"""Linux's default send buffer (tcp_wmem)."""
_IDENTIFIER: Final = re.compile(r"[^/]*[0-9][^/]*")
_LONGEST_PATH: Final = 200


def lasts_by_design(record: LogRecord) -> bool:
    """Tell whether a request upgraded its connection, such as to a WebSocket: its time is that of the session."""
    return record.status == _SWITCHING_PROTOCOLS


def is_incomplete(record: LogRecord) -> bool:
    """Tell whether nginx never got the whole request, so that its time is the client's.

    nginx then closes the connection without a response, and logs 408 after a timeout, 400 after the client's close. An
    upstream or a location may also answer with these: only a 400 without a request line is certainly nginx's.
    """
    if _sent_bytes(record) != 0 or record.status in record.upstream_status:
        return False
    has_line = record.request is None or bool(record.request.strip("- "))
    return record.status == REQUEST_TIMEOUT or (record.status == BAD_REQUEST and not has_line)


def is_sent_at_once(record: LogRecord) -> bool | None:
    """Tell whether a response fits into a socket's send buffer and need not wait for the client; None if unknown."""
    sent = _sent_bytes(record)
    return None if sent is None else sent <= SENT_AT_ONCE_BYTES


def may_have_body(record: LogRecord) -> bool:
    """Tell whether a request may have a body, which a backend waits for if nginx does not buffer it."""
    return (record.request or "").partition(" ")[0] not in _BODILESS


def is_health_check(record: LogRecord) -> bool:
    """Tell by user agent or path whether a monitor sent a request: monitors may close the connection early."""
    agent = record.columns.get("http_user_agent", "")
    return bool(_CHECKERS.search(agent) or _CHECKED.match(_path(record)))


def kind_of_path(record: LogRecord) -> str:
    """Return the path without the query, with a star for each part that contains a digit, as identifiers do."""
    return _IDENTIFIER.sub("*", _path(record)[:_LONGEST_PATH])


def _sent_bytes(record: LogRecord) -> int | None:
    return record.body_bytes if record.body_bytes is not None else record.sent_bytes


def _path(record: LogRecord) -> str:
    return (record.request or "").partition(" ")[2].partition(" ")[0].partition("?")[0]
