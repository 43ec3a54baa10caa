"""An nginx.conf for an experiment: the caller's parts, and what the lab adds around them."""

from typing import Final

from tuneproof.lab.subject.config import ACCESS_LOG_PATH, ERROR_LOG_PATH

PORT: Final = 8000
TLS_PORT: Final = 8443
CERTIFICATE: Final = "ssl_certificate /etc/tuneproof/tls.crt;\nssl_certificate_key /etc/tuneproof/tls.key;"
LOG: Final = f"access_log {ACCESS_LOG_PATH} counted;"

_TEMPLATE: Final = """\
{main}
error_log {error_log} warn;
pid /var/lib/subject/nginx.pid;

events {{
{events}
}}

http {{
include /etc/nginx/mime.types;
log_format counted escape=json '{{"uri":"$uri","status":"$status","bytes":"$bytes_sent","pid":"$pid",'
    '"upstream":"$upstream_addr","upstream_status":"$upstream_status","connection":"$connection"}}';
access_log off;
client_body_temp_path /var/lib/subject/body;
proxy_temp_path /var/lib/subject/proxy;
fastcgi_temp_path /var/lib/subject/fastcgi;
uwsgi_temp_path /var/lib/subject/uwsgi;
scgi_temp_path /var/lib/subject/scgi;
add_header X-Worker $pid always;
root /srv/www;
{http}
server {{
listen {port}{listen};
{server}
}}
}}
"""


def written_config(
    server: str,
    *,
    http: str = "",
    listen: str = "",
    workers: str = "1",
    main: str = "",
    events: str = "worker_connections 1024;",
) -> str:
    """Return the text of an nginx.conf; ``http`` goes before the server, and may contain upstream blocks."""
    return _TEMPLATE.format(
        main=f"worker_processes {workers};\n{main}",
        error_log=ERROR_LOG_PATH,
        events=events,
        http=http,
        port=PORT,
        listen=f" {listen}" if listen else "",
        server=server,
    )
