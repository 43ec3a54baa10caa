"""Random configurations from a seed, with lines that rules and patches are about, in the blocks that may have them."""

import random
from collections.abc import Sequence

_HTTP = (
    "sendfile on;",
    "tcp_nopush on;",
    "tcp_nodelay on;",
    "tcp_nodelay off;",
    "gzip on;",
    "gzip_comp_level 9;",
    "gzip_types text/css;",
    "output_buffers 1 32k;",
    "postpone_output 1460;",
    "keepalive_timeout 15s;",
    "send_timeout 2;",
    "reset_timedout_connection on;",
    "client_header_buffer_size 3m;",
    "large_client_header_buffers 2 1k;",
    "large_client_header_buffers 4 1m;",
    "client_body_buffer_size 128k;",
    "open_file_cache max=9;",
    "proxy_next_upstream error timeout http_500 http_503;",
    "proxy_next_upstream error timeout non_idempotent;",
    "proxy_http_version 1.1;",
    'proxy_set_header Connection "";',
    "proxy_set_header Host $host;",
    "proxy_set_header Connection $up;",
    "proxy_buffers 64 16m;",
    "proxy_buffers 4 1m;",
    "proxy_buffers 4 256k; proxy_buffer_size 128k;",
    "proxy_limit_rate 1m;",
    "add_header X-Frame-Options DENY;",
    "log_not_found off;",
    "server_tokens off;",
)
_LOCATION = (
    *_HTTP[:4],
    "proxy_buffering off;",
    "proxy_buffering on;",
    "gzip_types text/event-stream;",
    "proxy_set_header Accept text/event-stream;",
    "chunked_transfer_encoding off;",
    *_HTTP[17:26],
    "add_header X-B c;",
    "deny 10.0.0.9;",
    "limit_conn addresses 100;",
    "auth_basic off;",
)
_EVENTS = ("multi_accept on;", "use epoll;", "accept_mutex on;", "worker_connections 64;")
_MAIN = ("worker_processes 1;", "worker_processes 4;", "worker_shutdown_timeout 10s;", "worker_rlimit_nofile 64;")
_METHODS = ("least_conn;", "ip_hash;", "random;", "hash $uri;")
_PEERS = (
    "server 127.0.0.1:{port};",
    "server 127.0.0.1:{port} max_fails=0;",
    "server 127.0.0.2:{port} fail_timeout=1h;",
)
_LISTENS = ("listen {port};", "listen 127.0.0.1:{port};", "listen {port} reuseport;", "listen {port} backlog=128;")
_OF_TLS = ("ssl_ecdh_curve secp384r1;", "ssl_session_tickets off;", "ssl_stapling on;")
_SSL_UNTIL = (1, 25, 1)
_ALONE = frozenset(line.split()[0] for line in (*_HTTP, *_LOCATION)) - {"proxy_set_header", "add_header", "deny"}
_TLS = "ssl_certificate /etc/tuneproof/tls.crt; ssl_certificate_key /etc/tuneproof/tls.key;"


def configuration(seed: int, version: Sequence[int]) -> str:
    """Return the text of a whole configuration; this version of nginx loads most such configurations."""
    chance = random.Random(seed)  # noqa: S311 - reproducible, not secret
    upstreams = [_upstream(chance, f"u{number}") for number in range(chance.randrange(3))]
    names = [f"u{number}" for number in range(len(upstreams))] + ["127.0.0.1:9000"]
    servers = [_server(chance, number, names, version) for number in range(1, chance.randrange(2, 4))]
    parts = [
        *_some(chance, _MAIN),
        f"events {{\n    {' '.join(_some(chance, _EVENTS))}\n}}",
        "http {",
        "map $http_upgrade $up { default upgrade; '' close; }",
        "limit_conn_zone $binary_remote_addr zone=addresses:1m;",
        "limit_req_zone $binary_remote_addr zone=u0:1m rate=1r/s;" if chance.random() < 0.3 else "",
        *_some(chance, _HTTP),
        *upstreams,
        *servers,
        "}",
    ]
    return "\n".join(filter(None, parts)) + "\n"


def _some(chance: random.Random, lines: Sequence[str]) -> list[str]:
    """Return at most seven of the lines in any order; a directive in _ALONE appears at most once."""
    taken: dict[str, str] = {}
    for line in chance.sample(lines, chance.randrange(min(8, len(lines) + 1))):
        name = line.split()[0]
        taken.setdefault(name if name in _ALONE else line, line)
    return list(taken.values())


def _upstream(chance: random.Random, name: str) -> str:
    chosen = chance.choices(_PEERS, k=chance.randrange(1, 4))
    peers = [peer.format(port=9001 + number) for number, peer in enumerate(chosen)]
    extra = [
        *([chance.choice(_METHODS)] if chance.random() < 0.4 else []),
        *(["keepalive 16;"] if chance.random() < 0.5 else []),
        *(["keepalive_timeout 4s;"] if chance.random() < 0.3 else []),
        *(["zone a 64k;"] if chance.random() < 0.2 and name == "u0" else []),
    ]
    lines = [*peers, *extra]
    chance.shuffle(lines)
    return f"upstream {name} {{\n    " + "\n    ".join(lines) + "\n}"


def _server(chance: random.Random, number: int, names: Sequence[str], version: Sequence[int]) -> str:
    port = 8080 + number
    lines = [chance.choice(_LISTENS).format(port=port)]
    if chance.random() < 0.3:
        is_old = tuple(version) < _SSL_UNTIL and chance.random() < 0.5
        lines = [
            *([f"listen {port};", "ssl on;"] if is_old else [f"listen {port} ssl;"]),
            _TLS,
            *_some(chance, _OF_TLS),
        ]
    locations = [_location(chance, path, names) for path in chance.sample(("/", "/events/", "/api", "~ \\.php$"), 2)]
    body = [*lines, *_some(chance, _HTTP), *locations]
    return "server {\n    " + "\n    ".join(body) + "\n}"


def _location(chance: random.Random, path: str, names: Sequence[str]) -> str:
    to = chance.choice(names)
    answers = (f"proxy_pass http://{to};", f"fastcgi_pass {to};", "return 200 ok;", "root /srv/www;")
    lines = [answers[chance.choices(range(4), (6, 1, 1, 1))[0]], *_some(chance, _LOCATION)]
    return f"location {path} {{\n        " + "\n        ".join(lines) + "\n    }"
