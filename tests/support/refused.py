"""Lines of http{} that every nginx of the lab refuses, with its message, and similar lines that it loads."""

from collections.abc import Mapping
from typing import Final

_URI: Final = '"proxy_pass" cannot have URI part in location given by regular expression'
_NO_CERTIFICATE: Final = 'no "ssl_certificate" is defined for the'
# With variables, nginx reads the files when it needs them.
_CERTIFICATE: Final = "ssl_certificate $host.pem; ssl_certificate_key $host.key;"
_BLOCKS: Final[Mapping[str, tuple[str, str]]] = {
    "prefix-twice": ("server { location / { } location / { } }", 'duplicate location "/"'),
    "exact-twice": ("server { location = /a { } location =/a { } }", 'duplicate location "/a"'),
    "two-kinds-of-prefix": ("server { location ^~ /a { } location /a { } }", 'duplicate location "/a"'),
    "nested-twice": ("server { location /a { location /a/b { } location /a/b { } } }", 'duplicate location "/a/b"'),
    "bytes-twice": ("server { location /ä { } location /ä { } }", 'duplicate location "/ä"'),
    "outside": ("server { location /a { location /b { } } }", 'location "/b" is outside location "/a"'),
    "prefix-in-regex": ("server { location ~ x { location /a { } } }", 'location "/a" is outside location "x"'),
    "in-exact": ("server { location = /a { location /a/b { } } }", 'cannot be inside the exact location "/a"'),
    "in-named": ("server { location @a { location /b { } } }", 'cannot be inside the named location "@a"'),
    "nested-name": (
        "server { location /a { location @b { } } }",
        'named location "@b" can be on the server level only',
    ),
    "modifier": ("server { location ? /a { } }", 'invalid location modifier "?"'),
    "uri-in-regex": ("server { location ~ a { proxy_pass http://127.0.0.1/x; } }", _URI),
    "uri-is-a-slash": ("server { location @a { proxy_pass http://127.0.0.1/; } }", _URI),
    "uri-is-a-query": ("server { location ~* a { proxy_pass http://127.0.0.1?x; } }", _URI),
    "uri-in-if": ("server { location / { if ($arg_a) { proxy_pass http://127.0.0.1/; } } }", _URI),
    "uri-in-limit-except": ("server { location / { limit_except GET { proxy_pass http://127.0.0.1/; } } }", _URI),
    "upstream-twice": (
        "upstream a { server 127.0.0.1:1; } upstream A { server 127.0.0.1:2; }",
        'duplicate upstream "A"',
    ),
    "no-servers": ("upstream a { keepalive 2; }", "no servers are inside upstream"),
    "backup-of-a-hash": (
        "upstream a { hash $uri; server 127.0.0.1:1; server 127.0.0.1:2 backup; }",
        'balancing method does not support parameter "backup"',
    ),
    "misspelt-parameter": ("upstream a { server 127.0.0.1:1 max_fail=3; }", 'invalid parameter "max_fail=3"'),
    "no-weight": ("upstream a { server 127.0.0.1:1 weight=0; }", 'invalid parameter "weight=0"'),
    "parameter-without-value": ("upstream a { server 127.0.0.1:1 weight 2; }", 'invalid parameter "weight"'),
    "time-of-a-peer": ("upstream a { server 127.0.0.1:1 fail_timeout=soon; }", 'invalid parameter "fail_timeout=soon"'),
    "undefined-variable": (
        "server { location / { proxy_pass http://127.0.0.1; proxy_set_header Connection $connection_upgrade; } }",
        'unknown "connection_upgrade" variable',
    ),
    "log-format": ("server { access_log /tmp/a.log mine; }", 'unknown log format "mine"'),
    "log-format-is-an-option": ("access_log /tmp/a.log buffer=32k;", 'unknown log format "buffer=32k"'),
    "limit-req": ("server { limit_req zone=a burst=2; }", 'zero size shared memory zone "a"'),
    "limit-conn": (
        "limit_conn_zone $uri zone=b:1m; server { location / { limit_conn a 1; } }",
        'zero size shared memory zone "a"',
    ),
    "cache": (
        "server { location / { proxy_pass http://127.0.0.1; proxy_cache a; } }",
        '"proxy_cache" zone "a" is unknown',
    ),
    "flag-twice": ("gzip on; gzip on;", '"gzip" directive is duplicate'),
    "number-twice": ("server { client_max_body_size 1m; client_max_body_size 2m; }", "directive is duplicate"),
    "root-twice": ("server { location / { root /a; root /b; } }", '"root" directive is duplicate'),
    "passed-twice": (
        "server { location / { proxy_pass http://127.0.0.1; proxy_pass http://127.0.0.2; } }",
        '"proxy_pass" directive is duplicate',
    ),
    "fastcgi-name-without-port": ("server { location / { fastcgi_pass php; } }", 'no port in upstream "php"'),
    "grpc-without-port": (
        "server { location / { grpc_pass grpc://127.0.0.1; } }",
        'no port in upstream "127.0.0.1"',
    ),
    "uwsgi-ipv6-without-port": ("server { location / { uwsgi_pass [::1]; } }", 'no port in upstream "[::1]"'),
    "no-scheme": ("upstream a { server 127.0.0.1:1; } server { location / { proxy_pass a; } }", "invalid URL prefix"),
    "size-in-gigabytes": ("proxy_max_temp_file_size 100g;", '"proxy_max_temp_file_size" directive invalid value'),
    "size-in-words": ("client_max_body_size 10MB;", '"client_max_body_size" directive invalid value'),
    "time-in-words": ("proxy_read_timeout 60sec;", '"proxy_read_timeout" directive invalid value'),
    "timeout-of-a-year": ("send_timeout 1y;", '"send_timeout" directive invalid value'),
    "timeout-with-a-fraction": ("client_body_timeout 1.5;", '"client_body_timeout" directive invalid value'),
    "number-with-a-unit": ("types_hash_max_size 2k;", '"types_hash_max_size" directive invalid number'),
    "buffers-in-words": ("proxy_buffers 8 16kb;", '"proxy_buffers" directive invalid value'),
    "no-number-of-buffers": ("proxy_buffers 16k 8;", '"proxy_buffers" directive invalid value'),
    "buffered-log-with-variable": (
        "server { access_log /tmp/$host.log combined buffer=32k; }",
        "buffered logs cannot have variables in name",
    ),
    "small-busy-buffers": (
        "server { location / { proxy_buffers 4 64k; proxy_busy_buffers_size 32k; } }",
        '"proxy_busy_buffers_size" must be equal to or greater than the maximum of the value of "proxy_buffer_size"',
    ),
    "few-large-buffers": (
        "fastcgi_buffer_size 512k; server { fastcgi_buffers 4 256k; }",
        '"fastcgi_busy_buffers_size" must be less than the size of all "fastcgi_buffers" minus one buffer',
    ),
    "one-buffer": ("proxy_buffers 1 64k; server { }", 'there must be at least 2 "proxy_buffers"'),
    "small-writes": (
        "uwsgi_temp_file_write_size 64k; server { location / { uwsgi_buffers 8 128k; } }",
        '"uwsgi_temp_file_write_size" must be equal to or greater than the maximum',
    ),
    "small-temporary-file": (
        "scgi_max_temp_file_size 64k; server { scgi_buffers 8 128k; }",
        '"scgi_max_temp_file_size" must be equal to zero to disable temporary files usage',
    ),
    "condition-without-parentheses": ("server { if $host = a { return 403; } }", 'invalid condition "$host"'),
    "condition-without-an-end": ("server { if ($host = a { return 403; } }", 'invalid condition "a"'),
    "two-conditions": ("server { if ($uri = a && $host = b) { return 403; } }", 'invalid condition "$uri"'),
    "condition-with-two-equals-signs": ("server { if ($uri == a) { return 403; } }", 'unexpected "==" in condition'),
    "condition-with-an-unquoted-space": ("server { if ($uri = a b) { return 403; } }", 'invalid condition "$uri"'),
    "negated-condition": ("server { if (!$uri) { return 403; } }", 'invalid condition "!$uri"'),
    "unknown-file-test": ("server { if (-z $uri) { return 403; } }", 'invalid condition "-z"'),
    "quoted-condition": ('server { if ("$uri" = a) { return 403; } }', 'invalid condition ""$uri""'),
    "if-without-a-space": ("server { if($uri) { return 403; } }", 'unknown directive "if($uri)"'),
    "else": ("server { if ($uri) { return 403; } else { return 404; } }", 'unknown directive "else"'),
    "location-without-a-space": ("server { location/a { } }", 'unknown directive "location/a"'),
    "no-break-space": ("server { listen\u00a080; }", 'unknown directive "listen\u00a080"'),
    "directive-with-a-colon": ("server { server_name: a; }", 'unknown directive "server_name:"'),
    "port-in-words": (
        "server { location / { proxy_pass http://127.0.0.1:app; } }",
        'invalid port in upstream "127.0.0.1:app',
    ),
    "large-port": (
        "server { location / { grpc_pass grpc://127.0.0.1:65536; } }",
        'invalid port in upstream "127.0.0.1:65536"',
    ),
    "fastcgi-port-in-words": (
        "server { location / { fastcgi_pass 127.0.0.1:php; } }",
        'invalid port in upstream "127.0.0.1:php"',
    ),
    "no-certificate": ("server { listen 443 ssl; }", f'{_NO_CERTIFICATE} "listen ... ssl" directive'),
    "no-certificate-in-the-default-server": (
        f"server {{ listen 443; server_name a; }} server {{ listen 443 ssl; {_CERTIFICATE} }}",
        f'{_NO_CERTIFICATE} "listen ... ssl" directive',
    ),
    "no-certificate-for-one-address": (
        (
            "server { listen 127.0.0.1:443 ssl; listen 443; } "
            f"server {{ listen 443 ssl default_server; {_CERTIFICATE} }}"
        ),
        f'{_NO_CERTIFICATE} "listen ... ssl" directive',
    ),
    "no-key": (
        "ssl_certificate /a.pem; server { listen 80; }",
        'no "ssl_certificate_key" is defined for certificate "/a.pem"',
    ),
    "fewer-keys": (
        "server { ssl_certificate /a.pem; ssl_certificate /b.pem; ssl_certificate_key /a.key; }",
        'no "ssl_certificate_key" is defined for certificate "/b.pem"',
    ),
    "only-backup-servers": (
        "upstream a { server 127.0.0.1:1 backup; server 127.0.0.1:2 backup; }",
        'no servers in upstream "a"',
    ),
    "unknown-thread-pool": ("server { location / { aio threads=pool; } }", 'unknown thread pool "pool"'),
    "set-fixed-variable": ("server { set $host a; }", 'the duplicate "host" variable'),
    "map-of-fixed-variable": ("map $http_x $scheme { default https; }", 'the duplicate "scheme" variable'),
    "group-named-like-fixed-variable": (
        "server { location ~ ^/(?<uri>.*) { return 200; } }",
        'the duplicate "uri" variable',
    ),
    "zone-of-two-modules": (
        "limit_req_zone $uri zone=a:1m rate=1r/s; limit_conn_zone $uri zone=a:1m; server { limit_conn a 1; }",
        'the shared memory zone "a" is already declared for a different use',
    ),
    "zone-of-a-cache-and-an-upstream-block": (
        "proxy_cache_path /tmp/a keys_zone=a:1m; upstream a { zone a 1m; server 127.0.0.1:1; }",
        'the shared memory zone "a" is already declared for a different use',
    ),
    "zone-of-the-wrong-module": (
        "limit_conn_zone $uri zone=a:1m; server { limit_req zone=a; }",
        'the shared memory zone "a" is already declared for a different use',
    ),
    "zone-of-two-sizes": (
        "upstream a { zone a 64k; server 127.0.0.1:1; } upstream b { zone a 128k; server 127.0.0.1:1; }",
        'the size 131072 of shared memory zone "a" conflicts with already declared size 65536',
    ),
    "limit-zone-twice": (
        "limit_req_zone $uri zone=a:1m rate=1r/s; limit_req_zone $host zone=a:1m rate=1r/s;",
        'limit_req_zone "a" is already bound to key "$uri"',
    ),
    "cache-zone-twice": (
        "proxy_cache_path /tmp/a keys_zone=a:1m; proxy_cache_path /tmp/b keys_zone=a:1m;",
        'duplicate zone "a"',
    ),
    "cache-path-twice": (
        "proxy_cache_path /tmp/a keys_zone=a:1m; proxy_cache_path /tmp/a keys_zone=b:1m;",
        'the same path name "/tmp/a" used in ',
    ),
    "small-limit-zone": ("limit_conn_zone $uri zone=a:16k;", 'zone "zone=a:16k" is too small'),
    "small-upstream-zone": ("upstream a { zone a 8k; server 127.0.0.1:1; }", 'zone "a" is too small'),
    "small-session-cache": ("ssl_session_cache shared:a:1k;", 'session cache "shared:a:1k" is too small'),
    "keepalive-in-words": (
        "upstream a { server 127.0.0.1:1; keepalive 60s; }",
        'invalid value "60s" in "keepalive" directive',
    ),
    "upstream-zone-without-a-size": ("upstream a { zone a; server 127.0.0.1:1; }", 'zero size shared memory zone "a"'),
    "clients-without-a-ca": (
        f"server {{ listen 443 ssl; {_CERTIFICATE} ssl_verify_client optional; }}",
        "for ssl_verify_client",
    ),
    "verified-upstream-without-a-ca": (
        "proxy_ssl_verify on; server { location / { proxy_pass https://127.0.0.1; } }",
        "no proxy_ssl_trusted_certificate for proxy_ssl_verify",
    ),
    "verified-variable-without-a-ca": (
        "server { location / { grpc_ssl_verify on; grpc_pass grpc://$host:1; } }",
        "no grpc_ssl_trusted_certificate for grpc_ssl_verify",
    ),
    "no-host": ("server { location / { proxy_pass http:///a; } }", 'no host in upstream "/a"'),
    "no-host-before-a-port": ("server { location / { grpc_pass grpc://:50051; } }", 'no host in upstream ":50051"'),
    "two-ports": (
        "server { location / { proxy_pass http://127.0.0.1:80:81; } }",
        'invalid port in upstream "127.0.0.1:80:81"',
    ),
    "in-if-twice": ("server { location / { if ($arg_a) { root /a; root /b; } } }", '"root" directive is duplicate'),
}
# Further lines that nginx refuses, and the message.
_FORMS: Final = {
    "ssl_protocols TLSv1.4;": 'invalid value "TLSv1.4"',
    "ssl_verify_client yes;": 'invalid value "yes"',
    "ssl_session_cache shared:SSL;": 'invalid session cache "shared:SSL"',
    "gzip_comp_level 10;": "value must be between 1 and 9",
    "gzip_proxied no-cach;": 'invalid value "no-cach"',
    "proxy_next_upstream error,timeout;": 'invalid value "error,timeout"',
    "fastcgi_next_upstream http_502;": 'invalid value "http_502"',
    "proxy_http_version 4;": 'invalid value "4"',
    "satisfy one;": 'invalid value "one"',
    "server { return abc; }": 'invalid return code "abc"',
    "server { return $host; }": 'invalid return code "$host"',
    "error_page 200 /a;": 'value "200" must be between 300 and 599',
    "error_page 4xx /a;": 'invalid value "4xx"',
    "proxy_cache_valid 200 10m 1h;": 'invalid status "10m"',
    "limit_req_zone $uri zone=a:1m rate=1r/h;": 'invalid rate "rate=1r/h"',
    "limit_req_zone $uri zone=a rate=1r/s;": 'invalid zone size "zone=a"',
    "limit_req_zone $uri zone=a:1m rate=1r/s; limit_req zone=a no_delay;": 'invalid parameter "no_delay"',
    "limit_req_zone $uri zone=a:1m rate=1r/s; limit_req burst=2;": '"limit_req" must have "zone" parameter',
    "limit_conn_zone $uri zone=a:1m; limit_conn a 0;": 'invalid number of connections "0"',
    "limit_conn_zone $uri zone=a:1m; limit_conn a 1; limit_conn a 2;": '"limit_conn" directive is duplicate',
    "limit_req_status 200;": "value must be between 400 and 599",
    "proxy_cache_path /tmp/a keys_zone=a;": 'invalid keys zone size "keys_zone=a"',
    "proxy_cache_path /tmp/a levels=1:3 keys_zone=a:1m;": 'invalid "levels" "levels=1:3"',
    "error_log /tmp/a verbose;": 'invalid log level "verbose"',
    "add_header A b c;": 'invalid parameter "c"',
    "server { rewrite ^ /a c; }": 'invalid parameter "c"',
    "server { set a b; }": 'invalid variable name "a"',
    "map $uri a { default b; }": 'invalid variable name "a"',
    "open_file_cache on;": 'invalid "open_file_cache" parameter "on"',
    "allow a.example;": 'invalid parameter "a.example"',
    "deny 10.0.0.0/40;": 'invalid parameter "10.0.0.0/40"',
    "deny 10.1.0.0/255.255.0.0;": 'invalid parameter "10.1.0.0/255.255.0.0"',
    "server { location ~ ^/[ab { } }": 'missing terminating ] for character class in "^/[ab"',
    "server { location ~*^/[ab { } }": 'missing terminating ] for character class in "^/[ab"',
    "server { rewrite ^/[ab /c; }": 'missing terminating ] for character class in "^/[ab"',
    "server { server_name ~[ab; }": 'missing terminating ] for character class in "[ab"',
    "server { if ($uri !~* [ab) { return 403; } }": 'missing terminating ] for character class in "[ab"',
    "map $uri $a { ~*[ab c; }": 'missing terminating ] for character class in "[ab"',
    "map $uri $a { default 1; default 2; }": "duplicate default map parameter",
    "map $uri $a { a 1; A 2; }": 'conflicting parameter "a"',
    "expires 1x;": '"expires" directive invalid value',
    "expires 30 days;": '"expires" directive invalid value',
    "keepalive_timeout 75x;": '"keepalive_timeout" directive invalid value',
    "server { server_name *a.example; }": 'server name "*a.example" is invalid',
    "resolver 127.0.0.1 valid=x;": "invalid parameter: valid=x",
    "resolver 127.0.0.1 ipv6=no;": "invalid parameter: ipv6=no",
    "upstream a { server 127.0.0.1/a; }": 'invalid host in upstream "127.0.0.1/a"',
    "upstream a { server 127.0.0.1:65536; }": 'invalid port in upstream "127.0.0.1:65536"',
    "upstream a { server http://127.0.0.1; }": 'invalid host in upstream "http://127.0.0.1"',
    "proxy_cache_path /tmp/a keys_zone=a:1m max_size=10gb;": 'invalid max_size value "max_size=10gb"',
    "proxy_cache_path /tmp/a keys_zone=a:1m inactive=1month;": 'invalid inactive value "inactive=1month"',
    "proxy_cache_path /tmp/a keys_zone=a:1m use_temp_path=no;": 'invalid use_temp_path value "use_temp_path=no"',
    "proxy_cache_use_stale error http_5xx;": 'invalid value "http_5xx"',
    "fastcgi_cache_use_stale http_502;": 'invalid value "http_502"',
    "proxy_cache_methods GET PUT;": 'invalid value "PUT"',
    "proxy_ignore_headers X-Powered-By;": 'invalid value "X-Powered-By"',
    "limit_req_log_level debug;": 'invalid value "debug"',
    "limit_rate 100kb;": '"limit_rate" directive invalid value',
    "access_log /tmp/a.log combined warn;": 'invalid parameter "warn"',
    "access_log /tmp/a.log combined flush=5m;": 'no buffer is defined for access_log "/tmp/a.log"',
    "map $uri $a { default a b; }": "invalid number of the map parameters",
    "map $uri $a { default; }": "invalid number of the map parameters",
    "geo $a { default 0; localhost 1; }": 'invalid network "localhost"',
    "geo $a { 10.0.0.0/8; }": "invalid number of the geo parameters",
    "add_header A max-age=1; includeSubDomains;": 'unknown directive "includeSubDomains"',
    "add_header A 1; mode=block;": 'unknown directive "mode=block"',
    "log_format a $uri; log_format a $host;": 'duplicate "log_format" name "a"',
    "log_format combined $uri;": 'duplicate "log_format" name "combined"',
    "server { location / { try_files /a /b; try_files /c /d; } }": '"try_files" directive is duplicate',
    "server { location / { root /a; alias /b; } }": '"alias" directive is duplicate, "root" directive was specified',
    "server { location / { limit_except FOO { deny all; } } }": 'invalid method "FOO"',
    "server { location ~ ^/(?<user-id>[0-9]+) { } }": "syntax error in subpattern name (missing terminator",
    "server { server_name ~^(?P<sub.domain>a); }": "syntax error in subpattern name (missing terminator",
    "error_page 404 =abc /a;": 'invalid value "=abc"',
    "limit_req_zone $uri zone=a:1m rate=1r/s; limit_req zone=a delay=soon;": 'invalid delay value "delay=soon"',
    "upstream a { hash $uri consistant; server 127.0.0.1:1; }": 'invalid parameter "consistant"',
    "proxy_bind 127.0.0.1 transparant;": 'invalid parameter "transparant"',
    "log_format a escape=xml $uri;": 'unknown log format escaping "xml"',
    "aio thread;": '"aio" directive invalid value',
    "directio on;": '"directio" directive invalid value',
    "client_body_in_file_only yes;": 'invalid value "yes"',
    "if_modified_since never;": 'invalid value "never"',
    "keepalive_disable all;": 'invalid value "all"',
    "server { location / { grpc_pass http://127.0.0.1:50051; } }": 'invalid host in upstream "http://127.0.0.1:50051"',
    "open_file_cache inactive=20s;": '"open_file_cache" must have the "max" parameter',
    "geo $a { ranges; 10.0.0.0/8 1; }": 'invalid range "10.0.0.0/8"',
    "server { auth_request /a; auth_request /b; }": '"auth_request" directive is duplicate',
    "upstream a { server 127.0.0.1:1; keepalive 2; keepalive 4; }": '"keepalive" directive is duplicate',
    "server { location @a { alias /b; } }": 'the "alias" directive cannot be used inside the named location',
    "server { location / { proxy_redirect default; proxy_pass http://127.0.0.1; } }": (
        '"proxy_redirect default" should be placed after the "proxy_pass" directive'
    ),
    "server { location / { proxy_pass http://$host; proxy_redirect default; } }": (
        '"proxy_redirect default" cannot be used with "proxy_pass" directive with variables'
    ),
    "error_page 404 0499 /a;": 'invalid value "0499"',
    "proxy_buffers 0 4k;": '"proxy_buffers" directive invalid value',
    "gzip_buffers 4 0k;": '"gzip_buffers" directive invalid value',
    "proxy_cache_path /tmp/a keys_zone=a:1m max_age=1h;": 'invalid parameter "max_age=1h"',
    "proxy_cache_path /tmp/a keys_zone=a:1m loader_files=many;": 'invalid loader_files value "loader_files=many"',
    "proxy_cache_path /tmp/a keys_zone=a:1m manager_sleep=1y;": 'invalid manager_sleep value "manager_sleep=1y"',
    "proxy_cache_path /tmp/a levels=1:2;": '"proxy_cache_path" must have "keys_zone" parameter',
    "proxy_cache_path /tmp/a keys_zone=a:4k;": 'keys zone "keys_zone=a:4k" is too small',
    "limit_req_zone $uri rate=1r/s rate=2r/s;": '"limit_req_zone" must have "zone" parameter',
    "limit_req_zone $uri zone=a:1m burst=5;": 'invalid parameter "burst=5"',
    "limit_conn_zone $uri zone=a:1m; limit_conn a 65536;": "connection limit must be less 65536",
    "geo a { default 0; }": 'invalid variable name "a"',
    "geo $remote_addr a { default 0; }": 'invalid variable name "a"',
    "split_clients $uri $a { 60% a; 50% b; }": "percent total is greater than 100%",
    "split_clients $uri $a { 60% a; * b; 1% c; }": "percent total is greater than 100%",
    "split_clients $uri $a { 50 a; * b; }": 'invalid percent value "50"',
    "split_clients $uri $a { 0.00% a; * b; }": 'invalid percent value "0.00%"',
    "split_clients $uri $a { 0.125% a; * b; }": 'invalid percent value "0.125%"',
    "access_log /tmp/a.log combined gzip=10;": 'invalid compression level "10"',
    "access_log /tmp/a.log combined buffer=1g;": 'invalid buffer size "1g"',
    "access_log /tmp/a.log combined buffer=1k flush=0;": 'invalid flush time "0"',
    "server { access_log off combined; }": 'invalid parameter "combined"',
    "access_log syslog:server=127.0.0.1 combined buffer=1k;": "logs to syslog cannot be buffered",
    "access_log syslog:server=127.0.0.1,tag=my-app;": 'syslog "tag" only allows alphanumeric characters and underscore',
    "access_log syslog:server=127.0.0.1,severity=warning;": 'unknown syslog severity "warning"',
    "access_log syslog:server=127.0.0.1,port=514;": 'unknown syslog parameter "port=514"',
    "error_log syslog:server=127.0.0.1,tag=a,tag=b;": 'duplicate syslog "tag"',
    "error_log syslog:tag=a;": "no syslog server specified",
    "access_log /tmp/a.log combined buffer=1k; server { access_log /tmp/a.log combined buffer=2k; }": (
        'access_log "/tmp/a.log" already defined with conflicting parameters'
    ),
    "server { if (${host} = a) { return 403; } }": 'unknown "{host}" variable',
    "server { if ($) { return 403; } }": 'invalid condition "$"',
    'server { set $a "${host"; }': 'the closing bracket in "host" variable is missing',
    "server { rewrite ^/a$ /b$ last; }": "invalid variable name",
    "map $uri $a { default $; }": "invalid variable name",
    "server { return 200 $0; }": 'unknown "0" variable',
    "upstream a { server 127.0.0.1:http; }": 'invalid port in upstream "127.0.0.1:http"',
    "limit_zone a $binary_remote_addr 1m;": 'unknown directive "limit_zone"',
    "upstream a { server 127.0.0.1:80:81; }": 'invalid port in upstream "127.0.0.1:80:81"',
    "upstream a { zone a 1mb; server 127.0.0.1:1; }": 'invalid zone size "1mb"',
    "upstream a { server 127.0.0.1:1; random three; }": 'invalid parameter "three"',
    "server { location / { root $document_root/a; } }": (
        'the $document_root variable cannot be used in the "root" directive'
    ),
    "server { location /a/ { alias ${realpath_root}/b/; } }": (
        'the $realpath_root variable cannot be used in the "alias" directive'
    ),
    "proxy_cache_path /tmp/a keys_zone=a:1m; server { location / { proxy_store on; proxy_cache a; } }": (
        '"proxy_cache" directive is incompatible with "proxy_store"'
    ),
    "server { location / { try_files $uri =404x; } }": 'invalid code "=404x"',
    "proxy_cache_valid any;": 'invalid time value "any"',
    "open_log_file_cache inactive=20s;": '"open_log_file_cache" must have "max" parameter',
    'gzip_disable msie6 "MSIE [1-6";': 'missing terminating ] for character class in "MSIE [1-6"',
    "server { location / { valid_referers none ~[a; } }": 'missing terminating ] for character class in "[a"',
    "server { location / { proxy_pass http://127.0.0.1; proxy_redirect ~*[a /b; } }": (
        'missing terminating ] for character class in "[a"'
    ),
    "proxy_cookie_path ~[a /b;": 'missing terminating ] for character class in "[a"',
    "proxy_cookie_domain ~[a b;": 'missing terminating ] for character class in "[a"',
    "server { location / { fastcgi_split_path_info ^(.+[a)$; } }": "missing terminating ] for character class",
    "fastcgi_split_path_info ^(.+\\.php)/?$;": 'pattern "^(.+\\.php)/?$" must have 2 captures',
}
REFUSED: Final[Mapping[str, tuple[str, str]]] = {
    **_BLOCKS,
    **{f"form-{at}": pair for at, pair in enumerate(_FORMS.items())},
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
    "down-only": "upstream a { server 127.0.0.1:1 down; }",
}


def whole(text: str) -> str:
    """Return a complete configuration with these lines in http{}."""
    return f"error_log stderr; pid /tmp/nginx.pid; events {{ }}\nhttp {{ access_log off; {text} }}\n"
