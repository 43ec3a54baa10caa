"""How streams end, and what open streams cost."""

from typing import Final

from tuneproof.catalogue.counting import Setting
from tuneproof.catalogue.streams_config import streaming
from tuneproof.catalogue.streams_scripts import leaving, memory, silence

_OTHERS: Final = "send_timeout 1s; proxy_send_timeout 1s; proxy_connect_timeout 1s; keepalive_timeout 1s;"
_READ: Final = "proxy_read_timeout 1s;"
_COMMENT: Final = ": still here\n\n"
_LEFT: Final = "proxy_http_version 1.1; proxy_buffering off;"


def _timeouts(*, quiet: str, others: str) -> str:
    lines = {"quiet": quiet, "others": others, "commented": _READ, "control": _READ}
    return streaming(lines, http="proxy_buffering off;")


def _stream(line: str) -> str:
    return streaming({"stream": line})


SETTINGS: Final = (
    Setting(name="read-timeout-1", config=_timeouts(quiet=_READ, others=_OTHERS), script=silence(comment=_COMMENT)),
    Setting(name="read-timeout-60", config=_timeouts(quiet="", others=_READ), script=silence(comment="")),
    Setting(name="leaving", config=_stream(_LEFT), script=leaving),
    Setting(name="leaving-ignored", config=_stream(f"{_LEFT} proxy_ignore_client_abort on;"), script=leaving),
    Setting(name="stream-buffered", config=_stream("proxy_http_version 1.1;"), script=memory("plain")),
    Setting(name="stream-unbuffered", config=_stream(_LEFT), script=memory("plain")),
    Setting(name="stream-within-tls", config=_stream(_LEFT), script=memory("tls")),
)
