"""Limits, buffers and timeouts of requests."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines.line import CopiedLine, said_as
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.values import size_bytes

_SCENARIO: Final = "request_limits"
# Of what clients send before nginx knows what they want; nginx's own buffers hold 32 KiB.
_LARGE_HEADER_BYTES: Final = 256 << 10
_SMALL_HEADER_BYTES: Final = 4 << 10
_BODY_BYTES: Final = 16 << 10
_SHORT_SEND_S: Final = 10.0
_FEW_CONNECTIONS: Final = 20


def _size_bytes(said: Statement, place: int) -> int:
    """Return a size among the arguments in bytes; 0 where there is none that can be read."""
    return (size_bytes(said.args[place]) or 0) if len(said.args) > place else 0


def _short_send(said: Statement, _block: Block, _facts: Facts) -> bool:
    text = said.value.removesuffix("s")
    return text.isdecimal() and float(text) < _SHORT_SEND_S


def _few_connections(said: Statement, _block: Block, _facts: Facts) -> bool:
    return said.args[-1:] != () and said.args[-1].isdecimal() and int(said.args[-1]) <= _FEW_CONNECTIONS


def _with_http2(said: Statement, block: Block, facts: Facts) -> bool:
    return _few_connections(said, block, facts) and any(
        server.is_on("http2") or server.listens_with("http2") for server in block.servers()
    )


LINES: Final = (
    CopiedLine(
        directive="client_header_buffer_size",
        scenario=_SCENARIO,
        claim="large_header_buffers_feed_attackers",
        state=State.HARMFUL,
        why="whoever never finishes a header may fill so much memory for each connection",
        when=lambda said, _block, _facts: _size_bytes(said, 0) >= _LARGE_HEADER_BYTES,
        leave_out=True,
    ),
    CopiedLine(
        directive="large_client_header_buffers",
        scenario=_SCENARIO,
        claim="header_buffers_of_1k_reject_cookies",
        state=State.HARMFUL,
        why="a header line, such as a cookie, that is longer than one of them is answered by 400",
        when=lambda said, _block, _facts: 0 < _size_bytes(said, 1) < _SMALL_HEADER_BYTES,
        leave_out=True,
    ),
    CopiedLine(
        directive="large_client_header_buffers",
        scenario=_SCENARIO,
        claim="large_header_buffers_feed_attackers",
        state=State.HARMFUL,
        why="whoever never finishes a header may fill so much memory for each connection",
        when=lambda said, _block, _facts: _size_bytes(said, 1) >= _LARGE_HEADER_BYTES,
        leave_out=True,
    ),
    CopiedLine(
        directive="client_body_buffer_size",
        scenario=_SCENARIO,
        claim="body_buffer_128k_saves_files",
        state=State.IN_EFFECT,
        why="bodies up to this size are not written to a file",
        when=lambda said, _block, _facts: _size_bytes(said, 0) > _BODY_BYTES,
    ),
    CopiedLine(
        directive="send_timeout",
        scenario=_SCENARIO,
        claim="send_timeout_2_ends_steady_downloads",
        state=State.HARMFUL,
        why="downloads that go on, but slowly, are cut off: nginx hears of room only once a third of what it has "
        "written is gone",
        when=_short_send,
        leave_out=True,
    ),
    CopiedLine(
        directive="reset_timedout_connection",
        scenario=_SCENARIO,
        claim="reset_frees_sockets_of_silent_clients",
        state=State.IN_EFFECT,
        why="sockets of clients that stopped reading are freed at once",
        when=said_as("on"),
    ),
    CopiedLine(
        directive="limit_conn",
        scenario=_SCENARIO,
        claim="limit_conn_counts_http2_requests",
        state=State.HARMFUL,
        why="in HTTP/2 every request at once counts: pages of more objects are answered by 503",
        when=_with_http2,
    ),
    CopiedLine(
        directive="limit_conn",
        scenario=_SCENARIO,
        claim="limit_conn_stops_half_headers",
        state=State.WITHOUT_EFFECT,
        why="against connections that never finish their header: it counts those whose header has been read",
        when=lambda said, block, facts: _few_connections(said, block, facts) and not _with_http2(said, block, facts),
    ),
)
