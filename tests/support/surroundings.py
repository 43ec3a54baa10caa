"""Configurations of users' own nginx that depend on their surroundings."""

from collections.abc import Mapping
from typing import Final

from tests.support.configurations import Case, whole

# Each needs addresses to listen on, keys, names of other hosts, or files.
SURROUNDINGS: Final[Mapping[str, Case]] = {
    "single-addresses-and-keys": whole(
        "access_log logs/access.log;\n"
        "server { listen 203.0.113.5:443 ssl; listen [::]:443 ssl; ssl_certificate certs/a.pem;\n"
        "ssl_certificate_key certs/a.key; ssl_dhparam /etc/letsencrypt/ssl-dhparams.pem;\n"
        "include /etc/letsencrypt/options-ssl-nginx.conf; location / { proxy_pass http://127.0.0.1:443; } }\n"
        "server { listen 203.0.113.6:443 ssl; ssl_certificate b.pem; ssl_certificate_key b.key;\n"
        "ssl_protocols TLSv1.2; ssl_ciphers ECDHE-RSA-AES128-GCM-SHA256;\n"
        "location / { proxy_pass https://App.Internal; } }\n"
        "server { listen 127.0.0.1:8080; location / { proxy_pass http://localhost:3000; } }"
    ),
    "site-alone": Case(
        files={
            "site.conf": "server { listen 443 ssl; server_name wiki.*; include /config/ssl.conf;\n"
            "access_log /var/log/nginx/wiki.log main; limit_req zone=each burst=5; limit_conn all 10;\n"
            "location / { include /config/proxy.conf; proxy_cache pages;\n"
            "set $app wiki; set $port 3000; set $proto http; proxy_pass $proto://$app:$port; }\n"
            "location /php { fastcgi_pass fpm; } }\n"
        }
    ),
    "names-of-the-lab": whole(
        "upstream api { server client:3000; keepalive 8; }\n"
        "server { listen 8080; location / { proxy_pass http://yours; } location /s/ { proxy_pass http://standin:81; }\n"
        'location /api/ { proxy_pass http://api; proxy_http_version 1.1; proxy_set_header Connection ""; } }'
    ),
    "ipv6-and-proxy-protocol": whole(
        "upstream six { server [::1]:8000; server [2001:db8::5]:8000; }\n"
        "server { listen 8443 ssl proxy_protocol; ssl_certificate a.pem; ssl_certificate_key a.key;\n"
        "set_real_ip_from 0.0.0.0/0; real_ip_header proxy_protocol; location / { proxy_pass http://six; } }\n"
        "server { listen 203.0.113.5:80 proxy_protocol; location / { proxy_pass http://app:81; } }"
    ),
    "one-address-and-all": whole(
        "server { listen 127.0.0.1:80; location / { return 200 ok; } }\n"
        "server { listen 80; location / { proxy_pass http://app; } }"
    ),
    "names-and-files": whole(
        'resolver 10.0.0.2 valid=10s;\nserver { listen 8080; set $up "api.internal"; root /var/www/app;\n'
        "location / { proxy_pass http://$up:9000; }\n"
        "location ~ \\.php$ { try_files $uri =404; include fastcgi_params; fastcgi_pass unix:/run/php/fpm.sock; } }"
    ),
}
