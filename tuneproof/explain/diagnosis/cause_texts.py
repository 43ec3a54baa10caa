"""The name of each cause and its next step, with the page about it if there is one."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.parse.access_log.known import RECOMMENDED

# Evidence that distinguishes several causes, with its command or directive.
BOTH_LEGS: Final = "nsenter -t PID -n tcpdump -ni any -s 256 -w both.pcap (both legs; PID is nginx's)"
LOG_TIMES: Final = f"the access log with the worker, the upstream and the times: log_format explain '{RECOMMENDED}';"


BULK_STEP: Final = (
    "separate large downloads from the other requests, then consider a smaller net.ipv4.tcp_rmem, which bounds what "
    "one loop iteration reads: docs/reuseport-stall.md."
)
"""The next step against loop iterations that read or write a lot."""


class CauseText(NamedTuple):
    """The texts about a cause; ``next_step`` is for one that was found."""

    name: str
    next_step: str


CAUSE_TEXTS: Final[Mapping[Cause, CauseText]] = {
    Cause.REFUSED: CauseText(
        name="Connections are refused",
        next_step="start what should listen there (ss -ltnp on that host), or correct the address; nginx's error log "
        "names it.",
    ),
    Cause.QUIC_UNANSWERED: CauseText(
        name="Clients get no answer over QUIC (HTTP/3)",
        next_step="see whether nginx listens on that UDP port (listen ... quic), whether firewalls, load balancers and "
        "published container ports let UDP pass, and whether old workers are left from a reload: docs/http3.md.",
    ),
    Cause.NO_PORT: CauseText(
        name="nginx runs out of local ports",
        next_step="keep connections to the upstream (keepalive): a wider net.ipv4.ip_local_port_range, proxy_bind and "
        "more addresses only move the limit: docs/upstream-names.md.",
    ),
    Cause.KEPT_CONNECTION_CLOSED: CauseText(
        name="Backends close keepalive connections during a request",
        next_step="let nginx close first: keepalive_timeout in the upstream block below the backend's idle timeout; "
        "with several servers, max_fails=0: docs/dying-connections.md.",
    ),
    Cause.RELOAD: CauseText(
        name="A reload closes clients' connections",
        next_step="set keepalive_min_timeout (1.27.4 and later) longer than clients pause between requests, or let "
        "them retry: docs/reloads.md.",
    ),
    Cause.NO_LIVE_UPSTREAM: CauseText(
        name="nginx considers every server of an upstream down",
        next_step="see in the error log which failures came before; max_fails and fail_timeout decide when nginx "
        "stops using a server: docs/upstream-peers.md.",
    ),
    Cause.SYN_QUEUE_DROP: CauseText(
        name="The kernel drops SYNs (SYN-queue drop)",
        next_step="switch net.ipv4.tcp_syncookies on, and raise the listener's backlog and net.core.somaxconn "
        "(tcp_max_syn_backlog matters only without cookies): docs/listen-queues.md.",
    ),
    Cause.ACCEPT_QUEUE_OVERFLOW: CauseText(
        name="The accept queue overflows",
        next_step="raise both the listener's backlog (in nginx backlog= of listen) and net.core.somaxconn, and find "
        "out what keeps its program from accepting: docs/listen-queues.md.",
    ),
    Cause.PATH_LOSS: CauseText(
        name="Packets are lost",
        next_step="capture the same connections at both ends to see where packets are lost, and look for drops in "
        "ip -s -s link and ethtool -S.",
    ),
    Cause.EVENT_LOOP_STALL: CauseText(
        name="nginx's event loop stalls",
        next_step=f"see what the worker does meanwhile: ./lab watch. If it reads large downloads: {BULK_STEP}",
    ),
    Cause.SLOW_READER_BUFFERING: CauseText(
        name="Clients read slowly, and nginx buffers",
        next_step="bound what one slow reader can hold (proxy_buffers, proxy_max_temp_file_size); audit "
        "computes it for your nginx.conf: docs/proxy-buffering.md.",
    ),
    Cause.BACKEND_SLOW: CauseText(
        name="The backend is slow",
        next_step="time the backend without nginx, and look there: curl -w '%{time_starttransfer}\\n' -so "
        "/dev/null URL.",
    ),
    Cause.CLIENT_GONE: CauseText(
        name="Clients disconnect early",
        next_step="look at the timeouts of those clients, or of the load balancer in front of nginx: the responses "
        "were not late.",
    ),
}


def label(cause: Cause) -> str:
    """Return a cause's name for lists on the screen; JSON has the value."""
    return "stale keepalive connection" if cause is Cause.KEPT_CONNECTION_CLOSED else cause.value
