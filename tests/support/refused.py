"""Lines of http{} that every nginx of the lab refuses, with its message, and similar lines that it loads."""

from collections.abc import Mapping
from typing import Final

from tests.support.tables import table

# With variables, nginx reads the files when it needs them.
_CERTIFICATE: Final = "ssl_certificate $host.pem; ssl_certificate_key $host.key;"
# The texts and their messages, by their lines in the table.
REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    f"line-{number}": (text, message) for number, (text, message) in enumerate(table("refused_lines"), 2)
}
LOADED: Final[Mapping[str, str]] = {
    "keywords-in-any-letter-case": (
        "ssl_protocols tlsv1.2; gzip_proxied ANY; proxy_next_upstream Error; satisfy ANY; autoindex_format JSON;"
    ),
    "forms-of-arguments": (
        "ssl_protocols TLSv1.2 TLSv1.3; ssl_session_cache builtin:1000 shared:SSL:10m; gzip_comp_level 9; "
        "gzip_proxied expired auth; proxy_next_upstream error timeout http_502 non_idempotent; satisfy any; "
        "error_page 404 =200 /a; error_page 500 502 /b; error_page 403 = @c; proxy_cache_valid any 1m; "
        "proxy_cache_valid 200 302 10m; proxy_cache_valid 5m; limit_req_zone $uri zone=a:1m rate=30r/m; "
        "limit_req zone=a burst=5 delay=2; limit_conn_zone $uri zone=b:1m; limit_conn b 10; limit_req_status 429; "
        "proxy_cache_path /tmp/cache levels=1:2 keys_zone=c:1m inactive=1h max_size=1g use_temp_path=off; "
        "map $uri $a { default 1; \\default 2; a 3; b 3; ~a 4; } keepalive_timeout 1m 60s; "
        "resolver 127.0.0.1 valid=1m; "
        "expires -1; upstream a { server 127.0.0.1:65535; server unix:/a/b; server [::1]:80; } "
        "server { listen 85; server_name '' .a.example *.b.example c.* ~^d _; expires modified +1y; } "
        "error_log /tmp/e.log warn; add_header A b always; open_file_cache max=10 inactive=20s; "
        "allow 10.0.0.0/8; allow 2001:db8::/32; allow unix:; deny all; "
        "server { listen 81; return https://a; } server { listen 82; return 444; } "
        "server { listen 83; rewrite ^ /a last; set $a b; return 200 $a; } "
        "server { listen 84; location / { limit_except GET { deny all; } root /a; } }"
    ),
    "fastcgi-block-without-port": (
        "upstream php { server 127.0.0.1:9000; } server { location / { fastcgi_pass PHP; } }"
    ),
    "fastcgi-socket": "server { location / { fastcgi_pass unix:/run/php.sock; } }",
    "fastcgi-variable": "server { location / { fastcgi_pass $arg_a; } }",
    "exact-and-prefix": "server { location = /a { } location /a { } }",
    "regex-twice": "server { location ~ /a { } location ~ /a { } location ~* /a { } }",
    "name-twice": "server { location @a { } location @a { } }",
    "in-regex-twice": "server { location ~ ^/a { location ~ b { } location ~ b { } } }",
    "same-in-two-servers": "server { listen 81; location / { } } server { listen 82; location / { } }",
    "names-without-slash": "server { location a { location ab { } } }",
    "variable-uri-in-regex": "server { location ~ /a { proxy_pass http://127.0.0.1$request_uri; } }",
    "variable-scheme-in-regex": "server { location ~ /a { proxy_pass $arg_s://127.0.0.1/x; } }",
    "no-uri-in-regex": "server { location ~ /a { proxy_pass http://127.0.0.1; } }",
    "uri-in-prefix": "server { location ^~ /a { proxy_pass http://127.0.0.1/; } }",
    "no-uri-in-if": "server { location / { if ($arg_a) { proxy_pass http://127.0.0.1; } } }",
    "brackets-that-match": (
        "server { location ~ []a] { } location ~ [^](] { } location ~ '[)]' { } location ~ '\\Q(\\E' { } "
        "location ~ '(?x)a #(' { } location ~ '(?#()a' { } location ~ '(?<b>a){2}' { } location ~ \\( { } "
        "location ~ '[(?<a-b>]' { } location ~ '\\(?<a-b>' { } location ~ \"(?<c>x)(?P<d>x)(?'e'x)(?<=x)(?<!x)\" { } }"
    ),
    "lists-twice": "server { add_header A b; add_header A b; error_page 404 /a; error_page 404 /b; index a; index b; }",
    "once-in-each-block": "gzip on; server { gzip on; location / { gzip on; if ($arg_a) { gzip on; } } }",
    "known-names": (
        "log_format mine $uri; limit_req_zone $uri zone=a:1m rate=1r/s; limit_conn_zone $uri zone=b:1m; "
        "proxy_cache_path /tmp/cache levels=1:2 keys_zone=c:1m; access_log /tmp/a.log combined; "
        "server { access_log /tmp/b.log mine buffer=32k; limit_req zone=a burst=2; limit_conn b 1; "
        "location / { proxy_pass http://127.0.0.1; proxy_cache c; } location /a { proxy_cache off; access_log off; } "
        "location /b { proxy_pass http://127.0.0.1; proxy_cache $arg_a; } }"
    ),
    "entries-named-like-directives": "types { root a; root b; gzip c; gzip d; }",
    "sizes-and-times": (
        "client_max_body_size 10g; proxy_max_temp_file_size 1024m; client_body_timeout 1m30s; send_timeout '1d 2h'; "
        "types_hash_max_size 2048; proxy_buffers 8 16k; client_header_timeout 500ms; limit_rate 1m;"
    ),
    "log-with-variable": "server { access_log /tmp/$host.log combined if=$arg_a; }",
    "large-buffers": (
        "proxy_buffer_size 128k; proxy_buffers 4 256k; proxy_busy_buffers_size 256k; proxy_max_temp_file_size 0; "
        "server { proxy_temp_file_write_size 256k; location / { proxy_buffers 8 128k; } }"
    ),
    # A server without these settings inherits those of http{}; nginx checks nothing without a server.
    "buffers-of-no-server": "proxy_buffers 1 64k;",
    "certificate-in-http": f"{_CERTIFICATE} server {{ listen 443 ssl; }}",
    "certificate-and-key-on-two-levels": (
        "ssl_certificate_key $host.key; server { listen 443 ssl; ssl_certificate $host.pem; }"
    ),
    "certificate-in-the-default-server": (
        f"server {{ listen 443 ssl; server_name a; }} server {{ listen 443 ssl default_server; {_CERTIFICATE} }}"
    ),
    "no-key-but-no-server": "ssl_certificate /a.pem;",
    "tables-with-keys-like-directives": (
        "map $arg_lang $name { default a; if b; else c; location/a d; listen: e; } types { location/a b; }"
    ),
    "conditions-with-spaces": (
        'server { if ( $host = "a b" ) { return 403; } if ($uri ~ (a|(b))) { return 403; } '
        'if ($host = "") { return 403; } if (!-e $request_filename) { return 404; } if ($host) { return 403; } '
        'if ( -f $request_filename ) { return 403; } if ($host !~* "^a b$") { return 403; } }'
    ),
    "parameters-of-peers": (
        "upstream a { server 127.0.0.1:1 weight=2 max_fails=0 fail_timeout=10s max_conns=5 down; "
        "server 127.0.0.1:2 backup; least_conn; }"
    ),
    "method-below-a-backup": "upstream a { server 127.0.0.1:1; server 127.0.0.1:2 backup; hash $uri; }",
    "defined-variables": (
        "map $uri $a { '~^/(?<b>.*)' $b; } server { location ~ '^/(?P<c>x)' { set $d 1; return 200 $a$b$c$d$arg_e; } }"
    ),
    "zones-in-several-places": (
        "limit_req_zone $uri zone=a:1m rate=1r/s; server { limit_req zone=a; location / { limit_req zone=a; } } "
        "proxy_cache_path /tmp/a levels=1:2 keys_zone=b:1m; proxy_cache_path /tmp/a/ keys_zone=c:1m; "
        "ssl_session_cache shared:d:1m; server { listen 81; ssl_session_cache shared:d:1m; proxy_cache b; "
        "location / { proxy_pass http://127.0.0.1; proxy_cache off; } location /a { proxy_cache $arg_a; } } "
        "upstream e { zone e 64k; server 127.0.0.1:1; } upstream f { zone e; server 127.0.0.1:2; } "
        "server { limit_conn g 1; } limit_conn_zone $uri zone=g:32k;"
    ),
    "ports": (
        "server { location / { proxy_pass http://[::1]:80; } location /b { proxy_pass http://[::1]/a:b; } "
        "location /c { proxy_pass http://unix:/a.sock:/d; } location /e { uwsgi_pass unix:/a.sock; } "
        "location /f { proxy_pass http://127.0.0.1:80?a=b:c; } location /g { proxy_pass http://127.0.0.1:$arg_a; } }"
    ),
    "numbers-as-nginx-reads-them": (
        "limit_req_zone $uri zone=a:1m rate=10; limit_req_zone $uri zone=b:1m rate=010r/s; limit_req zone=a burst=05; "
        "gzip_comp_level 05; upstream a { server 127.0.0.1:080; } limit_rate $arg_a; limit_rate_after 1m; "
        "limit_req_status 0429; error_page 0404 /a; server { listen 81; limit_rate 100K; }"
    ),
    "words-of-caches-and-logs": (
        "proxy_cache_path /tmp/a keys_zone=a:1m max_size=10g inactive=1M use_temp_path=on loader_files=1; "
        "proxy_cache_use_stale updating http_502; proxy_cache_methods get; proxy_ignore_headers vary; "
        "limit_req_log_level Warn; access_log /tmp/b.log combined gzip flush=1m; "
        "access_log /tmp/a.log combined buffer=1k flush=1s gzip=1 if=$arg_a;"
    ),
    "lines-of-tables": (
        "map $uri $a { hostnames; volatile; default ''; a.example 1; } geo $b { default 0; 10.0.0.1/8 1; ::1 2; "
        "2001:db8::/32 3; delete 10.0.0.1/8; proxy 10.0.0.0/8; } geo $c { ranges; 10.0.0.0-10.0.0.9 1; }"
    ),
    "names-of-formats-in-any-letter-case": (
        "log_format mine $uri; access_log /tmp/a.log Mine; server { access_log /tmp/b.log COMBINED; }"
    ),
    "logs": (
        "access_log syslog:server=127.0.0.1:5140,facility=local7,tag=nginx_1,severity=info,nohostname combined; "
        "access_log /tmp/a.log combined gzip; server { access_log /tmp/a.log combined buffer=64k gzip=1; "
        "error_log syslog:server=unix:/dev/log warn; } server { listen 81; access_log /tmp/a.log; }"
    ),
    "shares": (
        "split_clients $uri $a { 0.05% a; .5% b; 99.45% c; } split_clients $uri $b { 60% a; 40% b; * c; } "
        "split_clients $uri $c { * a; * b; }"
    ),
    "dollars-that-are-no-variables": (
        "server { if ($uri ~ a$) { return 403; } location ~ b$ { rewrite ^/(b)$ /${uri}$1$is_args; } "
        "server_name ~^c$; } split_clients $uri $a { * a$; } geo $b { default $; } map $uri $c { ~a$ 1; b$ 2; }"
    ),
    "caches": (
        "proxy_cache_path /tmp/a levels=1:2 keys_zone=a:16k loader_files=200 loader_sleep=50ms loader_threshold=1s "
        "manager_files=1 manager_sleep=1m manager_threshold=200;"
    ),
    "words-of-several-modules": (
        "upstream a { hash $uri consistent; server 127.0.0.1:1; keepalive 2; } log_format b escape=none $uri; "
        "aio threads; directio 4m; client_body_in_file_only Clean; if_modified_since exact; keepalive_disable msie6; "
        "geo $c { ranges; default 0; 10.0.0.0-10.0.0.9 1; } proxy_redirect off; "
        "server { error_page 404 = /a; error_page 403 =200 /b; auth_request /c; location / { auth_request off; "
        "proxy_pass http://127.0.0.1; proxy_redirect default; proxy_bind 127.0.0.1 transparent; } "
        "location /g { grpc_pass GRPC://127.0.0.1:1; } }"
    ),
    "largest-and-smallest-numbers": (
        "limit_conn_zone $uri zone=a:1m; limit_conn a 065535; error_page 498 500 /a; proxy_buffers 03 4k; "
        "geo $remote_addr $a { default 0; } server { allow 010.000.0.1; deny 192.168.001.0/24; }"
    ),
    "words-of-other-modules": (
        "gzip_disable msie6 degradation 'MSIE [4-6]\\.'; fastcgi_split_path_info ^(.+?\\.php)(/.*)$; "
        "server { location / { valid_referers none blocked server_names *.a ~^b; try_files $uri =404; } "
        "location /b { proxy_pass http://127.0.0.1; proxy_redirect ~^(http://[^:]+):\\d+(/.+)$ $1$2; "
        "proxy_cookie_path ~*^/a(.*)$ /b$1; proxy_cookie_domain ~\\.([a-z]+)$ $1; proxy_store off; "
        "proxy_cache off; } } "
        "open_log_file_cache off; proxy_cache_valid 1m; proxy_cache_valid any 1m; "
        "upstream a { random two least_conn; zone b 64k; server 127.0.0.1:1; } upstream c { zone b; server [::1]:1; }"
    ),
    "certificates-without-verification": (
        f"ssl_verify_client optional_no_ca; server {{ listen 443 ssl; {_CERTIFICATE} }} "
        "proxy_ssl_verify on; server { location / { proxy_pass http://127.0.0.1; } "
        "location /a { proxy_ssl_verify off; proxy_pass https://127.0.0.1; } }"
    ),
    "thread-pools": "aio threads; server { location / { aio threads=default; } }",
    "set-own-and-changeable-variables": (
        "server { set $args a; set $limit_rate 1k; set $hosts a; set $http_x a; set $arg_a b; "
        "location ~ ^/(?<hostname_of>.*) { return 200; } }"
    ),
    "addresses-with-ports": (
        "resolver 127.0.0.1:053 [::1]:53 [::2] 127.0.0.2 valid=30s; proxy_bind 10.0.0.1:80; fastcgi_bind ::1; "
        "grpc_bind [::1]:80; uwsgi_bind $remote_addr transparent; scgi_bind off; set_real_ip_from 10.0.0.1/8; "
        "set_real_ip_from unix:; set_real_ip_from 2001:db8::/32; set_real_ip_from 010.0.0.1;"
    ),
    "several-mirrors": "server { location / { mirror /a; mirror /b; } location /c { mirror off; } }",
    "small-buffers-of-headers-that-no-server-has": (
        "large_client_header_buffers 4 8; server { large_client_header_buffers 4 1k; } "
        "server { listen 81; connection_pool_size 256; large_client_header_buffers 4 256; }"
    ),
    "access-and-cookies": (
        "proxy_store_access user:rw group:r all:rw; userid LOG; userid_expires max; "
        "userid_mark =; server { userid_expires 365d; userid_mark off; http2_chunk_size 1; }"
    ),
    "down-only": "upstream a { server 127.0.0.1:1 down; }",
}


def whole(text: str) -> str:
    """Return a complete configuration with these lines in http{}."""
    return f"error_log stderr; pid /tmp/nginx.pid; events {{ }}\nhttp {{ access_log off; {text} }}\n"
