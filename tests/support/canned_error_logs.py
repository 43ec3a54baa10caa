"""Lines of nginx's error log."""

from tuneproof.explain.parse.error_log import Event

BEHIND = (
    ', client: 10.0.0.9, server: shop, request: "GET /a#b HTTP/1.1", upstream: "http://10.0.0.5:8080/a", host: "shop"'
)
AT = "2026/11/22 14:50:0{} [{}] 29#30: *{} "
WORDS = {
    Event.REFUSED: ("error", f"connect() failed (111: Connection refused) while connecting to upstream{BEHIND}"),
    Event.CONNECT_TIMED_OUT: (
        "error",
        f"upstream timed out (110: Connection timed out) while connecting to upstream{BEHIND}",
    ),
    Event.ANSWER_TIMED_OUT: (
        "error",
        f"upstream timed out (110: Connection timed out) while reading response header from upstream{BEHIND}",
    ),
    Event.HUNG_UP: (
        "error",
        f"upstream prematurely closed connection while reading response header from upstream{BEHIND}",
    ),
    Event.NONE_LEFT: ("error", f"no live upstreams while connecting to upstream{BEHIND}"),
    Event.NO_PORT: (
        "crit",
        f"connect() to 10.0.0.5:8080 failed (99: Cannot assign requested address) while connecting to upstream{BEHIND}",
    ),
    Event.UNRESOLVED: ("error", f"app.internal could not be resolved (3: Host not found){BEHIND}"),
    Event.TO_FILE: (
        "warn",
        (
            "an upstream response is buffered to a temporary file /var/cache/nginx/proxy_temp/4/01/0000000014 while "
            f"reading upstream{BEHIND}"
        ),
    ),
    Event.CLIENT_LEFT: (
        "info",
        (
            "epoll_wait() reported that client prematurely closed connection, so upstream connection is closed too "
            f"while sending request to upstream{BEHIND}"
        ),
    ),
    Event.CLIENT_TIMED_OUT: ("info", f"client timed out (110: Connection timed out) while sending response{BEHIND}"),
    Event.LIMITED: ("error", 'limiting requests, excess: 5.112 by zone "each", client: 10.0.0.9, server: shop'),
    Event.NO_CONNECTIONS: ("alert", "1024 worker_connections are not enough while connecting to upstream"),
    Event.NO_DESCRIPTORS: ("crit", "accept4() failed (24: Too many open files)"),
    Event.WORKER_LEFT: ("notice", "gracefully shutting down"),
}
LOG = "".join(
    f"{AT.format(number % 10, level, number)}{words}\n" for number, (level, words) in enumerate(WORDS.values())
)
CONTAINER = "".join(f"web-1  | {line}\n10.0.0.9 - - [22/Nov/2026:14:50:01 +0000] GET\n" for line in LOG.splitlines())
