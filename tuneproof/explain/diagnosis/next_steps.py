"""What to do about a cause that was found: the next step, in one sentence, with the page that has the measurements."""

from collections.abc import Mapping
from typing import Final

from tuneproof.explain.diagnosis.findings import Cause

NEXT_STEPS: Final[Mapping[Cause, str]] = {
    Cause.REFUSED: "start what should listen there (ss -ltnp on that host), or correct the address; nginx's error log "
    "names it.",
    Cause.SYN_QUEUE_DROP: "switch net.ipv4.tcp_syncookies on, and raise tcp_max_syn_backlog and the listener's "
    "backlog: docs/listen-queues.md.",
    Cause.ACCEPT_QUEUE_OVERFLOW: "raise backlog= of that listen and net.core.somaxconn with it, and see what keeps the "
    "workers from accepting: docs/listen-queues.md.",
    Cause.PATH_LOSS: "capture the same connections at both ends to see where packets vanish, and look for drops in "
    "ip -s -s link and ethtool -S.",
    Cause.EVENT_LOOP_STALL: "bound what one turn of the loop reads (net.ipv4.tcp_rmem), and see which large responses "
    "share the workers: docs/reuseport-stall.md.",
    Cause.SLOW_READER_BUFFERING: "bound what one slow reader can hold (proxy_buffers, proxy_max_temp_file_size); audit "
    "computes it for your nginx.conf: docs/proxy-buffering.md.",
    Cause.BACKEND_SLOW: "time the backend without nginx, and look there: curl -w '%{time_starttransfer}\\n' -so "
    "/dev/null URL.",
    Cause.CLIENT_GONE: "look at the time-outs of those clients, or of what stands in front of nginx: the answers were "
    "not late.",
}
"""By cause; pages are those of the project's checkout."""
