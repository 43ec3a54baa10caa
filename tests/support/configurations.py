"""Realistic configurations, and the expected results of auditing them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

MAIN: Final = "nginx.conf"
# Most configurations start like this.
HEAD: Final = "user www-data;\nworker_processes auto;\nevents { worker_connections 1024; }\n"
OUTPUT_BYTES: Final = 65536  # output_buffers, 2 32k by default, which nginx uses without sendfile
DEFAULT_BYTES: Final = 36864 + OUTPUT_BYTES  # proxy_buffer_size 4k and proxy_buffers 8 4k, with output_buffers


@dataclass(frozen=True, kw_only=True)
class Case:
    """A configuration, and the expected results of its audit."""

    files: Mapping[str, str]  # its files by path below a folder; the file that a user would name comes first
    version: str = "1.22"
    proxied: tuple[tuple[str, str, bool, int | None], ...] = ()
    """For each proxied location: location, keepalive, buffering, reader_bytes."""
    expects: Mapping[str, Any] = field(default_factory=dict)  # further expected fields of the audit
    problems: tuple[tuple[int, str], ...] = ()  # line and message of each problem


def whole(http: str, **values: Any) -> Case:
    return Case(files={MAIN: f"{HEAD}http {{\n{http}\n}}\n"}, **values)


def place(location: str, keepalive: str, *, buffering: bool = True, held: int | None = DEFAULT_BYTES) -> Any:
    return (location, keepalive, buffering, held)


UPGRADE: Final = "map $http_upgrade $connection_upgrade { default upgrade; '' close; }\n"
KEPT_UPGRADE: Final = "map $http_upgrade $connection_upgrade { default upgrade; '' ''; }\n"
APP: Final = "upstream app { server 10.0.0.1:8080; server 10.0.0.2:8080; keepalive 16; }\n"
PLAIN: Final = "upstream app { server 10.0.0.1:8080; }\n"
BOTH: Final = 'proxy_http_version 1.1; proxy_set_header Connection "";'
# The header's value comes from a map.
CONNECTION: Final = "proxy_http_version 1.1; proxy_set_header Connection $connection_upgrade;"


def passing(lines: str, keepalive: str, *, http: str = APP, to: str = "app", **values: Any) -> Case:
    """Return a configuration with one proxied location that contains these lines."""
    server = f"server {{ location / {{ proxy_pass http://{to}; {lines} }} }}"
    return whole(f"{http}{server}", proxied=(place("/", keepalive),), **values)


CASES: Final[Mapping[str, Case]] = {
    "address": whole(
        "server { listen 80; server_name a.example b.example; location / { proxy_pass http://127.0.0.1:3000; } }",
        proxied=(place("/", "no"),),
        expects={
            "workers": None,
            "worker_connections": 1024,
            "multi_accept": False,
            "servers": [{"listens": ["80"], "names": ["a.example", "b.example"]}],
            "upstreams": [],
        },
    ),
    "address-on-the-newest": passing("", "no", version="1.30", http="", to="127.0.0.1:3000"),
    "event-stream": whole(
        "upstream app { server 127.0.0.1:3000; keepalive 4; }\nserver {\nlocation /events {\n"
        f"proxy_pass http://app; {BOTH}\nproxy_set_header Accept text/event-stream;\n}}\n}}",
        proxied=(place("/events", "yes"),),
    ),
    "classic": passing(
        BOTH,
        "yes",
        expects={
            "upstreams": [{"name": "app", "servers": ["10.0.0.1:8080", "10.0.0.2:8080"], "keepalive": 16}],
            "servers": [{"listens": ["80"], "names": []}],
        },
    ),
    "without-http-1.1": passing("proxy_set_header Connection '';", "no"),
    "http-1.0-with-keep-alive": passing("proxy_set_header Connection Keep-Alive;", "depends"),
    "without-the-header": passing("proxy_http_version 1.1;", "no"),
    "without-the-header-on-the-newest": passing("proxy_http_version 1.1;", "yes", version="1.29.7"),
    "the-version-before-the-new-defaults": passing("", "no", version="1.29.6", http=PLAIN),
    "defaults-on-the-newest": passing(
        "",
        "yes",
        version="1.30",
        http=PLAIN,
        expects={"upstreams": [{"name": "app", "servers": ["10.0.0.1:8080"], "keepalive": 32}]},
    ),
    "switched-off-on-the-newest": passing("", "no", version="1.30", http="upstream app { server a:1; keepalive 0; }\n"),
    "one-request-per-connection": passing(
        BOTH, "no", http="upstream app { server a:1; keepalive 8; keepalive_requests 1; }\n"
    ),
    "no-idle-connections": passing(BOTH, "no", http="upstream app { server a:1; keepalive 8; keepalive_timeout 0; }\n"),
    "keepalive-with-local": passing(
        "", "yes", version="1.30", http="upstream app { server a:1; keepalive 8 local; }\n"
    ),
    "http-1.0-on-the-newest": passing("proxy_http_version 1.0;", "no", version="1.30", http=PLAIN),
    "http-2-to-the-upstream": passing("proxy_http_version 2;", "yes", version="1.30", http=PLAIN),
    "inherited-headers": whole(
        f"{APP}{BOTH}\nserver {{ location /a {{ proxy_pass http://app; }}\n"
        "location /b { proxy_pass http://app; proxy_set_header Host $host; } }",
        proxied=(place("/a", "yes"), place("/b", "no")),
    ),
    "directives-after-use": whole(
        f"server {{ location / {{ proxy_pass http://app; }} {BOTH} }}\n{APP}", proxied=(place("/", "yes"),)
    ),
    "websocket-map-that-closes": passing(
        f"proxy_set_header Upgrade $http_upgrade; {CONNECTION}", "no", http=UPGRADE + APP
    ),
    "websocket-map-that-closes-on-the-newest": whole(
        f"{APP}server {{ location / {{ proxy_pass http://app; proxy_set_header Connection $connection_upgrade; }} }}\n"
        f"{UPGRADE}",
        version="1.30",
        proxied=(place("/", "no"),),
    ),
    "websocket-map-that-keeps": passing(CONNECTION, "yes", http=KEPT_UPGRADE + APP),
    "upgrade-always": passing('proxy_http_version 1.1; proxy_set_header Connection "upgrade";', "depends"),
    "header-of-the-client": passing("proxy_http_version 1.1; proxy_set_header Connection $http_connection;", "depends"),
    "close-always": passing("proxy_set_header Connection close;", "no", version="1.30"),
    "variable-with-an-address": whole(
        "resolver 127.0.0.11;\nserver { set $backend http://web:3000; location / { proxy_pass $backend; } }",
        proxied=(place("/", "no"),),
    ),
    "variables-for-all-parts": whole(
        "resolver 127.0.0.11;\nserver { location / { set $app wiki; set $port 3000; set $proto http;\n"
        "proxy_pass $proto://$app:$port; } }",
        proxied=(place("/", "no"),),
    ),
    "variable-with-an-upstream": passing(f'set $pool "app"; {BOTH}', "yes", to="$pool$request_uri"),
    "variable-of-a-map": passing(
        BOTH, "depends", http=f"{APP}map $http_x $pool {{ default app; b other:81; }}\n", to="$pool"
    ),
    "variable-of-the-request": passing("", "unknown", version="1.30", to="$http_x_backend"),
    "variable-that-can-name-no-upstream": whole(
        f"{APP}server {{ location ~ ^/(\\w+)/ {{ proxy_pass http://$1.svc.cluster.local; }} }}",
        version="1.30",
        proxied=(place("~ ^/(\\w+)/", "no"),),
    ),
    "split-clients": passing(
        BOTH,
        "yes",
        http="split_clients $remote_addr $pool { 10% new; * old; }\n"
        "upstream new { server a:1; keepalive 4; } upstream old { server b:1; keepalive 4; }\n",
        to="$pool",
    ),
    "php": whole(
        "server { root /srv; index index.php;\n"
        "location ~ \\.php$ { include fastcgi_params; fastcgi_pass unix:/run/php/php8.2-fpm.sock; } }",
        proxied=(place("~ \\.php$", "no"),),
    ),
    "php-kept": whole(
        "upstream php { server 127.0.0.1:9000; keepalive 8; }\nserver {\n"
        "location ~ \\.php$ { fastcgi_pass php; fastcgi_keep_conn on; fastcgi_buffers 16 16k;\n"
        "fastcgi_buffer_size 32k; }\n"
        "location ~ \\.php5$ { fastcgi_pass php; fastcgi_buffering off; } }",
        proxied=(
            place("~ \\.php$", "yes", held=((32 + 256) << 10) + OUTPUT_BYTES),
            place("~ \\.php5$", "no", buffering=False, held=4096),
        ),
    ),
    "uwsgi": whole(
        "upstream django { server unix:///tmp/site.sock; keepalive 8; }\n"
        "server { location / { include uwsgi_params; uwsgi_pass django; } }",
        version="1.30",
        proxied=(place("/", "no"),),
    ),
    "grpc": whole(
        "upstream rpc { server 10.0.0.9:50051; keepalive 20; }\n"
        "ssl_certificate /etc/ssl/a.pem; ssl_certificate_key /etc/ssl/a.key;\n"
        "server { listen 443 ssl http2; location /p.S/ { grpc_pass grpc://rpc; } location / { grpc_pass a:1; } }",
        proxied=(place("/p.S/", "yes", buffering=False, held=4096), place("/", "no", buffering=False, held=4096)),
        expects={"servers": [{"listens": ["443 ssl http2"], "names": []}]},
    ),
    "unix-socket": whole(
        "upstream puma { server unix:/srv/app.sock fail_timeout=0; keepalive 4; }\n"
        f"server {{ location @app {{ proxy_pass http://puma; {BOTH} }}\n"
        "location /s { proxy_pass http://unix:/a.sock:/; } }",
        proxied=(place("@app", "yes"), place("/s", "no")),
    ),
    "if-and-limit-except": whole(
        f"{APP}server {{ location / {{ if ($request_method = POST) {{ proxy_pass http://app; }}\n"
        f"limit_except GET {{ proxy_pass http://10.0.0.3; }} proxy_pass http://app; {BOTH} }} }}",
        proxied=(place("/", "yes"), place("/", "yes"), place("/", "no")),
    ),
    "nested-locations": whole(
        f"{APP}server {{ {BOTH} location / {{ proxy_pass http://app; proxy_buffering off;\n"
        "location ~ \\.iso$ { proxy_pass http://app; proxy_buffering on; proxy_buffers 4 1m; } } }",
        proxied=(
            place("/", "yes", buffering=False, held=4096),
            place("~ \\.iso$", "yes", held=4096 + (4 << 20) + OUTPUT_BYTES),
        ),
    ),
    "huge-buffers": whole(
        "proxy_buffer_size 64m; proxy_buffers 64 16m; proxy_busy_buffers_size 256m;\n"
        "server { location / { proxy_pass http://10.1.1.1; } }",
        proxied=(place("/", "no", held=(1088 << 20) + OUTPUT_BYTES),),
    ),
    "tls-and-reuseport": Case(
        version="1.26",
        files={
            MAIN: "worker_processes 4;\nevents { worker_connections 8192; multi_accept on; use epoll; }\n"
            "http { server { listen 443 ssl reuseport backlog=4096; listen [::]:443 ssl; http2 on;\n"
            "ssl_certificate /etc/ssl/a.pem; ssl_certificate_key /etc/ssl/a.key; location / { return 204; } } }\n"
        },
        expects={
            "workers": 4,
            "worker_connections": 8192,
            "multi_accept": True,
            "reuseport": True,
            "servers": [{"listens": ["443 ssl reuseport backlog=4096", "[::]:443 ssl"], "names": []}],
        },
    ),
    "defaults": Case(
        files={MAIN: "events {}\nhttp { server { location / { root /srv; } } }\n"},
        expects={"workers": 1, "worker_connections": 512, "multi_accept": False, "reuseport": False},
    ),
    "stream-only": Case(
        files={
            MAIN: "events {}\nstream { upstream dns { server 10.0.0.1:53; }\n"
            "server { listen 53 udp reuseport; proxy_pass dns; } server { listen 5432; proxy_pass db:5432; } }\n"
        },
        expects={"stream_servers": 2, "servers": [], "upstreams": [], "reuseport": True},
    ),
    "cache": passing(
        f"proxy_cache c; proxy_cache_lock on; {BOTH}",
        "yes",
        http=f"proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=c:10m max_size=1g;\n{APP}",
    ),
    "generated-with-lua": whole(
        "upstream upstream_balancer { server 0.0.0.1;\nbalancer_by_lua_block {\n"
        "  -- it's a comment with a brace }\n  local t = { name = \"}\", [1] = [[ { ' ]] }\n  balancer.balance()\n}\n"
        "keepalive 320; }\n"
        "init_by_lua_block { collectgarbage('collect') }\n"
        'server { server_name _; listen 80 default_server backlog=511;\nlocation / { set $proxy_upstream_name "-";\n'
        "rewrite_by_lua_block { lua_ingress.rewrite({ a = { b = 1 } }) }\n"
        "proxy_http_version 1.1; proxy_set_header Connection $connection_upgrade;\n"
        "proxy_pass http://upstream_balancer; } }\n"
        f"{KEPT_UPGRADE}",
        proxied=(place("/", "yes"),),
        expects={"upstreams": [{"name": "upstream_balancer", "servers": ["0.0.0.1"], "keepalive": 320}]},
    ),
    "lua-fills-the-variable": passing(
        "set $target ''; access_by_lua_block { ngx.var.target = pick() }", "unknown", version="1.30", to="$target"
    ),
    "many-includes": Case(
        files={
            MAIN: f"{HEAD}http {{ include mime.types; include conf.d/*.conf; include /etc/nginx/sites-enabled/*; }}\n",
            "conf.d/10-up.conf": APP,
            "conf.d/20-proxy.conf": f"{BOTH}\n",
            "sites-enabled/one": "server { listen 8080; server_name one; include snippets/pass.conf; }\n",
            "snippets/pass.conf": "location / { proxy_pass http://app; }\n",
        },
        proxied=(place("/", "yes"),),
        expects={"unseen": [], "servers": [{"listens": ["8080"], "names": ["one"]}]},
    ),
    "missing-include": Case(
        files={MAIN: f"{HEAD}http {{\n include sites/*.conf;\n include gone.conf;\n}}\n"},
        expects={"unseen": ["sites/*.conf", "gone.conf"]},
    ),
    "include-outside-the-folder": Case(
        files={
            MAIN: f"{HEAD}http {{\n{APP}server {{ include /srv/ssl.conf; location / {{ include /srv/proxy.conf;\n"
            "proxy_pass http://app; } location /own { proxy_pass http://app; proxy_http_version 1.0; } } }\n"
        },
        proxied=(place("/", "unknown"), place("/own", "no")),
        expects={"unseen": ["/srv/ssl.conf", "/srv/proxy.conf"]},
    ),
    "fragment-below-its-prefix": Case(
        files={
            "conf.d/site.conf": "server { listen 85; location / { include snippets/pass.conf; } }\n",
            "snippets/pass.conf": "proxy_pass http://10.0.0.1;\nproxy_buffering off;\n",
        },
        proxied=(place("/", "no", buffering=False, held=4096),),
    ),
    "include-of-itself": Case(
        files={MAIN: f"{HEAD}http {{ include loop.conf; }}\n", "loop.conf": "include loop.conf;\n"},
        problems=((1, 'include "loop.conf" leads to itself'),),
    ),
    "upstream-elsewhere": Case(
        files={
            MAIN: f"{HEAD}http {{ include /srv/elsewhere/*.conf;\n"
            "server { location / { proxy_pass http://app; } } }\n"
        },
        version="1.30",
        proxied=(place("/", "unknown"),),
        expects={"unseen": ["/srv/elsewhere/*.conf"]},
    ),
    "site-fragment": Case(
        files={
            "site.conf": "upstream web { server 127.0.0.1:8000; }\n"
            "server {\n listen 80;\n server_name x;\n location / { proxy_pass http://web; }\n"
            " location /o { proxy_pass http://other; }\n}\n"
        },
        proxied=(place("/", "no"), place("/o", "unknown")),
        expects={"workers": None, "worker_connections": None, "multi_accept": None},
    ),
    "location-fragment": Case(
        files={"pass.conf": "location /api/ { proxy_pass http://10.0.0.5:9000/; proxy_buffering off; }\n"},
        proxied=(place("/api/", "no", buffering=False, held=4096),),
    ),
    "inner-fragment": Case(
        files={"proxy.conf": "proxy_pass http://10.0.0.5:9000;\nproxy_buffers 8 8k;\n"},
        proxied=(place("/", "no", held=4096 + (64 << 10) + OUTPUT_BYTES),),
    ),
    "stream-fragment": Case(
        files={"tcp.conf": "upstream db { server 10.0.0.1:5432; }\nserver { listen 5432; proxy_pass db; }\n"},
        expects={"stream_servers": 1, "servers": []},
    ),
    "hash-in-a-token": whole(
        f"{APP}server {{ # a {'{'} brace in a comment\nrewrite ^/a#b$ /c;\n"
        f'location ~ "^/x{{2}}$" {{ proxy_pass http://app; {BOTH} }} }}',
        proxied=(place("~ ^/x{2}$", "yes"),),
    ),
    "upper-case-upstream": passing(BOTH, "yes", http="upstream App { server a:1; keepalive 2; }\n"),
    "missing-semicolon": Case(
        files={MAIN: f"{HEAD}http {{\n server {{\n  listen 80\n  server_name x;\n }}\n}}\n"},
        problems=((6, 'invalid parameter "server_name"'),),
        expects={"servers": [{"listens": ["80 server_name x"], "names": []}]},
    ),
    "missing-semicolon-at-the-end-of-a-block": Case(
        files={MAIN: f"{HEAD}http {{\n upstream u {{\n  server a:1\n }}\n server {{ listen 81; }}\n}}\n"},
        problems=((7, 'unexpected "}"'),),
        expects={"servers": [{"listens": ["81"], "names": []}]},
    ),
    "upstream-with-a-port": Case(
        files={
            MAIN: f"{HEAD}http {{\nupstream app {{ server a:1; }}\nserver {{ location / {{\n"
            "proxy_pass http://app:8080;\n} } }\n"
        },
        proxied=(place("/", "no"),),
        problems=((7, 'upstream "app" may not have port 8080'),),
    ),
    "too-many-arguments": Case(
        files={
            MAIN: f"{HEAD}http {{\n server {{ location / {{\n  proxy_pass http://a:1\n  proxy_buffering off;\n"
            " } }\n}\n"
        },
        problems=((6, 'invalid number of arguments in "proxy_pass" directive'),),
        proxied=(place("/", "no"),),
    ),
    "misspelt": Case(
        files={
            MAIN: f"{HEAD}http {{\n more_set_headers 'X: y'; brotli on; map $a $b {{ listen_ 1; }}\n"
            " server { locaton / { proxy_passs http://a:1; } }\n}\n"
        },
        problems=((6, 'unknown directive "locaton"'), (6, 'unknown directive "proxy_passs"')),
    ),
    "missing-brace": Case(
        files={MAIN: f"{HEAD}http {{\n server {{ listen 82;\n}}\n"},
        problems=((6, 'unexpected end of file, expecting "}"'),),
        expects={"servers": [{"listens": ["82"], "names": []}]},
    ),
    "extra-brace": Case(
        files={MAIN: f"{HEAD}http {{\n server {{ listen 83; }} }}\n}}\n"},
        problems=((6, 'unexpected "}"'),),
        expects={"servers": [{"listens": ["83"], "names": []}]},
    ),
    "unclosed-quote": Case(
        files={MAIN: f'{HEAD}http {{\n server {{ listen 84; return 200 "hello; }}\n}}\n'},
        problems=((6, 'unexpected end of file, expecting ";" or "}"'),),
        expects={"servers": [{"listens": ["84"], "names": []}]},
    ),
}
