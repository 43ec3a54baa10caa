"""Configurations to patch."""

from tests.support.configurations import CASES, HEAD, Case

# This text combines difficulties: several changes in a line, tabs, comments, no newline at the end.
DENSE = Case(
    files={
        "nginx.conf": f"{HEAD}http {{\n"
        "    map $http_upgrade $up { # both\n        default upgrade;\n        '' close; # bad\n    }\n"
        "    upstream one { server a:1; }   # one line\n"
        "    upstream two {\n\tserver b:1;\n\tserver b:2; # last\n    }\n"
        "    tcp_nodelay on;\n"
        "    server {\n        listen 80 reuseport; listen 443 ssl;\n"
        "        ssl_certificate a.pem; ssl_certificate_key a.key;\n"
        "        proxy_set_header Host $host; # for all\n"
        "        location / { proxy_pass http://one; }\n"
        "        location /ws { proxy_pass http://two; proxy_set_header Connection $up; }\n"
        "        location /a {\n            # before\n"
        "            proxy_pass http://10.0.0.1:81/x; # behind\n        }\n"
        "        location /b {\n            proxy_pass http://10.0.0.1:81;\n            proxy_buffers 64 1m;\n"
        "            proxy_buffer_size 1m; proxy_busy_buffers_size 4m;\n        }\n"
        "    }\n}"
    }
)
# nginx does not allow a patch's additions in these blocks, or the additions would affect other blocks.
INNER = {
    "nginx.conf": f"{HEAD}http {{\n    upstream u {{ server 10.0.0.1:81; keepalive 8; }}\n"
    "    server {\n        listen 80;\n"
    "        location / {\n            if ($arg_a) { gzip on; proxy_pass http://u; }\n"
    "            root /srv;\n        }\n"
    "        location /b {\n            limit_except GET { proxy_pass http://u; }\n        }\n"
    "        location /c {\n            if ($arg_a) { proxy_pass http://u; }\n"
    "            proxy_pass http://u;\n        }\n"
    "    }\n}\n"
}
SHARED = {
    "nginx.conf": f"{HEAD}http {{\n    upstream a {{ include peers.conf; }}\n"
    "    upstream b { least_conn; include peers.conf; }\n"
    "    proxy_busy_buffers_size 64k;\n"
    "    server {\n        listen 80;\n        location /a { proxy_pass http://a; }\n"
    "        location /b { proxy_pass http://b; proxy_buffers 256 16k; }\n"
    "        location /c { proxy_pass http://b; proxy_buffers 4 64k; proxy_buffer_size 64k; }\n    }\n}\n",
    "peers.conf": "server 10.0.0.1:81;\nserver 10.0.0.2:81;\n",
}
# In the second server, a header that a patch adds to the included location would replace the server's header.
INCLUDED = {
    "nginx.conf": f"{HEAD}http {{\n    upstream a {{ server 10.0.0.1:81; keepalive 8; }}\n"
    "    server { listen 80; include app.conf; }\n"
    "    server { listen 81; proxy_set_header X-A b; include app.conf; }\n}\n",
    "app.conf": "location / { proxy_pass http://a; }\nlocation /b { proxy_pass http://10.0.0.2:81; }\n",
}
# Several servers include the lines that change.
SNIPPETS = {
    "nginx.conf": f"{HEAD}http {{\n    upstream a {{ server 10.0.0.1:81; }}\n"
    "    server { include listen.conf; server_name a; include app.conf; }\n"
    "    server { include listen.conf; server_name b; include app.conf; }\n"
    "    server { listen 8443; include tls.conf; }\n    server { listen 9443; include tls.conf; }\n}\n",
    "listen.conf": "listen 80;\nlisten [::]:80;\n",
    "app.conf": "location /a { proxy_pass http://a; proxy_set_header Accept text/event-stream; }\ngzip on;\n",
    "tls.conf": "ssl on;\nssl_certificate a.pem;\nssl_certificate_key a.key;\n",
}
TEXTS = {
    **{name: case.files for name, case in CASES.items() if not case.problems},
    "dense": DENSE.files,
    "inner": INNER,
    "shared": SHARED,
    "included": INCLUDED,
    "snippets": SNIPPETS,
    "dense-crlf": {name: text.replace("\n", "\r\n") for name, text in DENSE.files.items()},
}
