"""Settings that let the events of a stream through, and those that hold them back.

Whether an event arrives depends on flushes. Without buffering, nginx flushes everything that it reads
(ngx_http_upstream_process_non_buffered_request in src/http/ngx_http_upstream.c). With buffering it fills a buffer
first, unless the upstream's chunks show that a part is complete (ngx_event_pipe_read_upstream in
src/event/ngx_event_pipe.c, ngx_http_proxy_chunked_filter). It then requests no flush: HTTP/1.1 still sends the part,
and HTTP/2 flushes each DATA frame, but TLS waits for a full record (ngx_ssl_send_chain in
src/event/ngx_event_openssl.c), and gzip leaves data in zlib's buffers.
"""

from typing import Final

from tuneproof.catalogue.counting import Setting
from tuneproof.catalogue.streams_config import streaming
from tuneproof.catalogue.streams_scripts import CLEAR, LINES, OF_SIZE, SILENT, delivery


def _config(http: str = "") -> str:
    return streaming({**LINES, **dict.fromkeys([*OF_SIZE, SILENT], "proxy_http_version 1.1;")}, http=http)


_OFF: Final = "proxy_buffering off;"
_GZIP: Final = "gzip on; gzip_types text/event-stream; gzip_min_length 0;"

SETTINGS: Final = (
    Setting(name="buffered", config=_config(), script=delivery()),
    Setting(name="unbuffered", config=_config(_OFF), script=delivery()),
    Setting(name="clear-http2", config=_config(_OFF), script=delivery(ports=CLEAR)),
    Setting(name="header", config=_config(), script=delivery(accel_buffering="no")),
    Setting(name="gzip", config=_config(_GZIP), script=delivery()),
    Setting(name="gzip-unbuffered", config=_config(_GZIP + _OFF), script=delivery()),
    Setting(name="records-4k", config=_config("ssl_buffer_size 4k;"), script=delivery()),
)
