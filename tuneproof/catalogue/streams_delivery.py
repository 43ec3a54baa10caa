"""What lets the events of a stream through, and what holds them.

Whether an event arrives is decided by flushes. Without buffering nginx flushes whatever it reads
(ngx_http_upstream_process_non_buffered_request in src/http/ngx_http_upstream.c). With buffering it fills a buffer
first, unless the upstream's chunks say that a part is whole (ngx_event_pipe_read_upstream in
src/event/ngx_event_pipe.c, ngx_http_proxy_chunked_filter). Then it asks for no flush: HTTP/1.1 sends that on all the
same, and HTTP/2 flushes each DATA frame, but within TLS it waits for a full record (ngx_ssl_send_chain in
src/event/ngx_event_openssl.c), and gzip for its window.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from tuneproof.catalogue.counting import HALF, ONE_OR_THE_OTHER, USUALLY, CountedClaim, Setting
from tuneproof.catalogue.streams_config import streaming
from tuneproof.catalogue.streams_scripts import (
    CLEAR,
    EVENTS,
    LINES,
    OF_SIZE,
    SILENT,
    SMALL_BYTES,
    TRANSPORTS,
    delivery,
)
from tuneproof.proof.inference.effects import Scale, Tally
from tuneproof.proof.inference.verdicts import Verdict


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
_OVER: Final = {"plain": "plain HTTP", "tls": "TLS", "http2": "HTTP/2"}


def _arrive(  # noqa: PLR0913 - keyword-only; each is one part of a claim
    name: str,
    sentence: str,
    *,
    source: str,
    arm: str,
    turned_by: str,
    of: str,
    over: tuple[str, ...] = tuple(TRANSPORTS),
    held: bool = False,
    somewhere: bool = False,
    expected: Verdict = Verdict.HOLDS,
    expired_since: str = "",
    expired_reason: str = "",
    line: str = "",
) -> CountedClaim:
    """Return the claim that small events arrive over each of some transports.

    of: the name of a line (:data:`tuneproof.catalogue.streams_scripts.LINES`).
    held: whether it is claimed that they do not arrive.
    somewhere: whether one of the transports is enough.
    """
    figures = tuple(f"{of}_{transport}" for transport in over)
    what = "fewer than half" if held else "more than half"
    return CountedClaim(
        name=name,
        sentence=sentence,
        source=source,
        arms=(arm,),
        effect=lambda block: Tally.yes(when=_shown([block[arm][figure] > HALF for figure in figures], held, somewhere)),
        effect_name=f"trials in which {what} of {EVENTS} events of {SMALL_BYTES} bytes arrive over "
        + (" or " if somewhere else " and ").join(_OVER[transport] for transport in over),
        scale=Scale.SHARE,
        threshold=USUALLY,
        why=ONE_OR_THE_OTHER,
        expected=expected,
        expired_since=expired_since,
        expired_reason=expired_reason,
        turned_by={arm: turned_by},
        line=line,
    )


def _shown(arrive: Sequence[bool], held: bool, somewhere: bool) -> bool:  # noqa: FBT001 - as they are claimed
    return any(one != held for one in arrive) if somewhere else all(one != held for one in arrive)


def _rises(shares: Sequence[float]) -> bool:
    return all(one < next_ for one, next_ in pairwise(shares))


def _alone(of: str, directive: str, source: str) -> CountedClaim:
    """Return the claim that a line of the copied snippet lets events through, without all others."""
    return _arrive(
        f"{of}_lets_events_through",
        f"{directive} alone lets most small events through over HTTP, TLS or HTTP/2, despite buffering",
        source=source,
        arm="buffered",
        turned_by="unbuffered",
        of=of,
        somewhere=True,
        expected=Verdict.REFUTED,
        line=directive,
    )


_SNIPPET: Final = "boostcampwm2025/web28-show-me-the-gujo#77: each line with its reason"
_SINCE_1_29_7: Final = "HTTP/1.1 to the upstream is the default, and nginx passes on each chunk"

CLAIMS: Final = (
    _arrive(
        "defaults_hold_events",
        "By default, nginx holds back most small events over plain HTTP",
        source="nginx/nginx#1505: nginx buffers event streams",
        arm="buffered",
        turned_by="unbuffered",
        of="defaults",
        over=("plain",),
        held=True,
        expired_since="1.29.7",
        expired_reason=_SINCE_1_29_7,
    ),
    _arrive(
        "defaults_hold_events_within_tls",
        "By default, nginx holds back most small events over TLS",
        source="dstackai/dstack#4269: nothing arrives, not even the head, until 16 KB have accumulated",
        arm="buffered",
        turned_by="unbuffered",
        of="defaults",
        over=("tls",),
        held=True,
    ),
    _arrive(
        "defaults_hold_events_over_http2",
        "By default, nginx holds back most small events over HTTP/2",
        source="openchamber/openchamber#1006: nginx buffers the response over HTTP/2",
        arm="buffered",
        turned_by="unbuffered",
        of="defaults",
        over=("http2",),
        held=True,
        expired_since="1.29.7",
        expired_reason=_SINCE_1_29_7,
    ),
    _arrive(
        "buffering_off_is_enough",
        "proxy_buffering off alone lets most small events through, over plain HTTP, TLS and HTTP/2",
        source="ralscha/sse-eventbus#18: proxy_buffering is the important setting",
        arm="unbuffered",
        turned_by="buffered",
        of="defaults",
        line="proxy_buffering off;",
    ),
    _arrive(
        "buffering_off_needs_http_1_1",
        "With HTTP/1.0 to the upstream, nginx holds back most small events despite proxy_buffering off",
        source="confidential-dot-ai/c8s#144: HTTP/1.0 makes nginx read to the end, and buffer regardless",
        arm="unbuffered",
        turned_by="buffered",
        of="http_1_0",
        held=True,
        expected=Verdict.REFUTED,
    ),
    _arrive(
        "accel_header_is_enough",
        "X-Accel-Buffering: no from the backend lets most small events through, with no change to nginx.conf",
        source="gin-gonic/gin#1589, ggml-org/llama.cpp#24774 and most frameworks since",
        arm="header",
        turned_by="buffered",
        of="http_1_0",
        line="X-Accel-Buffering: no",
    ),
    _arrive(
        "http_1_1_is_enough_over_plain_http",
        "proxy_http_version 1.1 alone lets most small events through over plain HTTP",
        source="confidential-dot-ai/c8s#144: HTTP/1.1 is what makes the response streamable",
        arm="buffered",
        turned_by="gzip",
        of="http_1_1",
        over=("plain",),
        line="proxy_http_version 1.1;",
    ),
    _arrive(
        "http_1_1_is_enough_within_tls",
        "proxy_http_version 1.1 alone lets most small events through over TLS",
        source="as over plain HTTP: what was tried there is what users get from an HTTPS site",
        arm="buffered",
        turned_by="unbuffered",
        of="http_1_1",
        over=("tls",),
        expected=Verdict.REFUTED,
        line="proxy_http_version 1.1; with TLS",
    ),
    _alone("connection", "proxy_set_header Connection '';", _SNIPPET),
    _alone("chunked_off", "chunked_transfer_encoding off;", "minio/docs#284, to allow server-sent events"),
    _alone("cache_off", "proxy_cache off;", "amir20/dozzle#561"),
    _alone("tcp_nodelay", "tcp_nodelay on;", "w3f/polkadot-validator-setup#134: taken over blindly"),
    _alone("gzip_off", "gzip off;", "nexu-io/open-design#111"),
    _arrive(
        "three_lines_are_enough_within_tls",
        "HTTP/1.1, Connection '' and chunked_transfer_encoding off are enough for server-sent events over TLS",
        source="saucelabs/forwarder#154, from the answer that most others copy",
        arm="buffered",
        turned_by="unbuffered",
        of="three_lines",
        over=("tls",),
        expected=Verdict.REFUTED,
    ),
    _arrive(
        "snippet_without_buffering_off_is_enough_within_tls",
        "The copied SSE snippet lets most small events through over TLS, even without proxy_buffering off",
        source=_SNIPPET,
        arm="buffered",
        turned_by="unbuffered",
        of="all_but_buffering",
        over=("tls",),
        expected=Verdict.REFUTED,
    ),
    _arrive(
        "gzip_holds_unbuffered_events",
        "gzip with text/event-stream in gzip_types holds back most small events, even with proxy_buffering off",
        source="nexu-io/open-design#111: gzip on can still buffer what is not buffered otherwise",
        arm="gzip-unbuffered",
        turned_by="gzip",
        of="http_1_1",
        over=("plain", "tls"),
        held=True,
        expected=Verdict.REFUTED,
        line="gzip_types text/event-stream;",
    ),
    _arrive(
        "records_of_4k_let_events_through",
        "ssl_buffer_size 4k with HTTP/1.1 lets most small events through over TLS, even without proxy_buffering off",
        source="igrigorik/istlsfastyet.com#63: 4k is reasonable, less for interactive traffic",
        arm="records-4k",
        turned_by="unbuffered",
        of="http_1_1",
        over=("tls",),
        expected=Verdict.REFUTED,
        line="ssl_buffer_size 4k;",
    ),
    CountedClaim(
        name="smaller_events_are_held_longer",
        sentence="Without proxy_buffering off, smaller events are held back longer over TLS",
        source="dstackai/dstack#4269: nothing arrives before some 65 small chunks have accumulated",
        arms=("buffered",),
        effect=lambda block: Tally.yes(when=_rises([block["buffered"][name] for name in OF_SIZE])),
        effect_name=f"trials in which a larger share of {EVENTS} events arrives for each larger size",
        scale=Scale.SHARE,
        threshold=USUALLY,
        why=ONE_OR_THE_OTHER,
        exploratory="sizes of 500 and 2000 bytes gave way to one of 1000 after a first run: at 500, all events fit "
        "into one TLS record",
        turned_by={"buffered": "unbuffered"},
    ),
)
