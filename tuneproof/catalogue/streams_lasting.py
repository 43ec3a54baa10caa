"""What ends a stream, and what one costs while it lasts."""

from typing import Final

from tuneproof.catalogue.counting import Count, Setting, more, usual
from tuneproof.catalogue.streams_config import streaming
from tuneproof.catalogue.streams_scripts import MANY, leaving, memory, silence
from tuneproof.proof.inference.verdicts import Verdict

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
CLAIMS: Final = (
    usual(
        "read_timeout_ends_quiet_streams",
        "proxy_read_timeout ends a stream on which the backend has sent nothing for so long",
        source="NVIDIA/NemoClaw#3210, caprover/caprover#1765: the stream dies after 60 s",
        arm="read-timeout-1",
        figure="quiet_ended_share",
        what="trials in which more than half of the quiet streams are ended, over TLS and HTTP/2",
        turned_by="read-timeout-60",
        line="proxy_read_timeout 86400s;",
    ),
    usual(
        "comments_keep_streams",
        "Comments that come more often than proxy_read_timeout keep a stream that has no events",
        source="esengine/DeepSeek-Reasonix#3064: a comment every 15 s keeps proxies from dropping it",
        arm="read-timeout-1",
        figure="commented_kept",
        what="trials in which a stream that gets only comments outlives the timeout",
        turned_by="read-timeout-60",
    ),
    usual(
        "other_timeouts_end_quiet_streams",
        "send_timeout, proxy_send_timeout, proxy_connect_timeout or keepalive_timeout end a quiet stream, too",
        source="websockets/ws#2283: all three of proxy_connect, proxy_send and proxy_read_timeout are needed",
        arm="read-timeout-1",
        figure="others_ended_share",
        what="trials in which more than half of the quiet streams are ended, over TLS and HTTP/2",
        turned_by="read-timeout-60",
        expected=Verdict.REFUTED,
        line="proxy_send_timeout 86400s;",
    ),
    usual(
        "clients_leave_unheard",
        "The backend does not hear of a client that has left a quiet stream",
        source="alibaba/tengine#512: a client's connection ends, and the backend's stays",
        arm="leaving",
        figure="kept_share",
        what="trials in which the backend still has more than half of the streams",
        turned_by="leaving-ignored",
        expected=Verdict.REFUTED,
    ),
    usual(
        "ignored_aborts_keep_quiet_streams",
        "With proxy_ignore_client_abort on the backend keeps quiet streams that nobody reads any more",
        source="nginx: whether the connection is closed when a client does so without waiting for the response",
        arm="leaving-ignored",
        figure="kept_share",
        what="trials in which the backend still has more than half of the streams",
        turned_by="leaving",
        line="proxy_ignore_client_abort on;",
    ),
    more(
        "buffering_costs_streams_memory",
        "Buffering costs an open stream at least twice the memory",
        source="nginx: proxy_buffers sets the buffers for each connection, 8 of 4k or 8k",
        arms=("stream-buffered", "stream-unbuffered"),
        count=Count(figure="stream_bytes", what=f"memory of the workers for each of {MANY} open streams"),
        threshold=2.0,
        why="twice the memory for each stream halves the number of them that a machine holds",
        expected=Verdict.REFUTED,
        turned_by={"stream-buffered": "stream-within-tls"},
    ),
    more(
        "tls_costs_streams_memory",
        "TLS costs an open stream at least twice the memory",
        source="control of the one above: this is what a stream costs",
        arms=("stream-within-tls", "stream-unbuffered"),
        count=Count(figure="stream_bytes", what=f"memory of the workers for each of {MANY} open streams"),
        threshold=2.0,
        why="as for buffering: twice the memory for each stream halves the number of them that a machine holds",
    ),
)
