"""Lines that travel from one nginx.conf to the next: which of them help, which do nothing, and which do harm.

Each is told by its directive and arguments; the figures are those of the catalogue's claims.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts
from tuneproof.audit.patches import Edit, Replace
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.upstreams import Target
from tuneproof.audit.values import size_bytes, time_ms, whole_number

NAME: Final = "copied_lines"
RANK: Final = 8

_SHORT_KEEPALIVE_MS: Final = 30_000
# Of what clients send before nginx knows what they want; nginx's own buffers hold 32 KiB.
_LARGE_HEADER_BYTES: Final = 256 << 10
_SMALL_HEADER_BYTES: Final = 4 << 10
_BODY_BYTES: Final = 16 << 10
_SHORT_SEND_MS: Final = 10_000
_FEW_CONNECTIONS: Final = 20
_ADDRESS: Final = re.compile(r"unix:|\[|(?:\d+\.){3}\d+(?::|$)")
# https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
_NEVER_EJECTED: Final = "max_fails=0"

Condition = Callable[[Statement, Block, Facts], bool]
"""Tells from a directive, the block that it stands in and the rest whether it is meant."""


@dataclass(frozen=True, kw_only=True)
class CopiedLine:
    """What there is to say of one directive."""

    directive: str
    scenario: str
    claim: str  # of that scenario, on which it rests
    state: State
    why: str
    when: Condition
    leave_out: bool = False  # whether the patch takes the directive away
    instead: str = ""  # what the patch puts in its place
    measured: str = ""  # the value with which the claim was measured, where others are meant as well
    place: int = 0  # of that value among the arguments

    def edits(self, said: Statement) -> tuple[Edit, ...]:
        """Return what would change it."""
        return (Replace(old=said, text=self.instead),) if self.leave_out or self.instead else ()

    def reach(self, said: Statement) -> str:
        """Return how far the measurement reaches, in words; the empty string where it was of this very value."""
        yours = said.args[self.place] if self.measured else ""
        if _as_number(yours) == _as_number(self.measured):
            return ""
        return f" (measured at {self.measured}; yours is {yours})"


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield every such line, in the order of the files."""
    for said, block in facts.configuration.main.everything():
        if block.path[:1] == ("stream",):
            continue
        for line in LINES:
            if line.directive == said.name and line.when(said, block, facts):
                yield Advised(
                    name=line.scenario,
                    claim=line.claim,
                    state=line.state,
                    at=said,
                    why=f"{said.name} {' '.join(said.args)}: {line.why}{line.reach(said)}",
                    edits=line.edits(said),
                )


def _as_number(text: str) -> int | str:
    for read in (time_ms, size_bytes):
        if (number := read(text)) is not None:
            return number
    return text


def _said_as(*args: str) -> Condition:
    """Return the condition that a directive has just these arguments."""
    return lambda said, _block, _facts: said.args == args


def _size_bytes(said: Statement, place: int) -> int:
    """Return a size among the arguments in bytes; 0 where there is none that can be read."""
    return (size_bytes(said.args[place]) or 0) if len(said.args) > place else 0


def _short_keepalive(said: Statement, _block: Block, _facts: Facts) -> bool:
    return 0 < (time_ms(said.value) or 0) <= _SHORT_KEEPALIVE_MS


def _files_limit(said: Statement, _block: Block, facts: Facts) -> bool:
    limit = whole_number(said.value)
    return limit is not None and facts.worker_connections is not None and limit < 2 * facts.worker_connections


def _short_send(said: Statement, _block: Block, _facts: Facts) -> bool:
    time = time_ms(said.value)
    return time is not None and time < _SHORT_SEND_MS


def _few_connections(said: Statement) -> bool:
    number = whole_number(said.args[-1]) if said.args else None
    return number is not None and number <= _FEW_CONNECTIONS


def _speaks_http2(block: Block) -> bool:
    return any(server.is_on("http2") or server.listens_with("http2") for server in block.servers())


def _removed(_said: Statement, _block: Block, facts: Facts) -> bool:
    return facts.version_numbers >= (1, 25, 1)


def _all_tls(block: Block) -> bool:
    """Tell whether all servers that a directive of this block is for speak TLS."""
    servers = block.servers()
    return bool(servers) and all(server.listens_with("ssl") for server in servers)


def _listed_5xx(said: Statement, _block: Block, facts: Facts) -> bool:
    """Tell whether a 5xx may eject all of several peers: one that is alone is always asked.

    One with a backup is not alone, and both are ejected (ngx_http_upstream_init_round_robin).
    """
    if not any(arg.startswith("http_5") for arg in said.args):
        return False
    targets = [proxied.target for proxied in facts.proxied]
    meant = [target for target in targets if target.block.setting("proxy_next_upstream") is said]
    return not meant or any(_may_have_peers(target, facts) for target in meant)


def _may_have_peers(target: Target, facts: Facts) -> bool:
    for name in target.names() or {""}:
        servers = facts.upstreams[name].block.local("server") if name in facts.upstreams else []
        servers = [server for server in servers if "down" not in server.args]
        if any(_NEVER_EJECTED in server.args for server in servers):
            continue
        addresses = [server.value for server in servers] or [name]
        # A name may have several addresses: "localhost" has two.
        if len(addresses) > 1 or not _ADDRESS.match(addresses[0]):
            return True
    return False


def _locked_without_stale(said: Statement, block: Block, _facts: Facts) -> bool:
    stale = block.setting("proxy_cache_use_stale")
    return said.value == "on" and (stale is None or "updating" not in stale.args)


def _default(directive: str, *args: str) -> CopiedLine:
    return CopiedLine(
        directive=directive,
        scenario="config_rot",
        claim="copied_defaults_change_nothing",
        state=State.WITHOUT_EFFECT,
        why="that is what nginx does anyway: it changes no system call",
        when=_said_as(*args),
        leave_out=True,
    )


_CLAIMS_MEMORY: Final = "a client that never finishes its header can claim this much memory, each connection anew"

LINES: Final = (
    CopiedLine(
        directive="multi_accept",
        scenario="accepting",
        claim="multi_accept_takes_a_burst_in_one_turn",
        state=State.HARMFUL,
        why="the worker that wakes first takes every connection that waits, in one iteration of its event loop",
        when=_said_as("on"),
        leave_out=True,
    ),
    CopiedLine(
        directive="worker_processes",
        scenario="accepting",
        claim="auto_ignores_the_cpuset",
        state=State.CANNOT_TELL,
        why="in a container that may use a part of the machine's CPUs only, it starts a worker for each of them "
        "all the same",
        when=_said_as("auto"),
    ),
    CopiedLine(
        directive="keepalive_timeout",
        scenario="accepting",
        claim="idle_clients_use_up_connections",
        state=State.WITHOUT_EFFECT,
        why="a short one makes no room for others: nginx closes idle connections by itself when worker_connections "
        "run out. It only makes clients connect again",
        when=_short_keepalive,
    ),
    CopiedLine(
        directive="worker_rlimit_nofile",
        scenario="accepting",
        claim="files_need_descriptors_too",
        state=State.HARMFUL,
        why="files and upstream connections take descriptors, too: at least twice worker_connections are needed",
        when=_files_limit,
    ),
    _default("use", "epoll"),
    _default("tcp_nodelay", "on"),
    _default("postpone_output", "1460"),
    CopiedLine(
        directive="gzip_disable",
        scenario="config_rot",
        claim="copied_defaults_change_nothing",
        state=State.WITHOUT_EFFECT,
        why="it affects only old Internet Explorer",
        when=lambda said, _block, _facts: "msie6" in said.args,
        leave_out=True,
    ),
    CopiedLine(
        directive="output_buffers",
        scenario="config_rot",
        claim="one_output_buffer_reads_as_often",
        state=State.WITHOUT_EFFECT,
        why="a file is read in the same steps as with the default, which is two buffers since nginx 1.9.5",
        when=_said_as("1", "32k"),
        leave_out=True,
    ),
    CopiedLine(
        directive="ssl",
        scenario="config_rot",
        claim="ssl_on_starts",
        state=State.EXPIRED,
        why="nginx does not start with it since 1.25.1: listen … ssl has taken its place",
        when=_removed,
        leave_out=True,
    ),
    CopiedLine(
        directive="http2_push_preload",
        scenario="config_rot",
        claim="http2_push_is_there",
        state=State.EXPIRED,
        why="server push was removed in 1.25.1, and the directive is ignored",
        when=_removed,
        leave_out=True,
    ),
    CopiedLine(
        directive="sendfile",
        scenario="serving_files",
        claim="sendfile_serves_https",
        state=State.WITHOUT_EFFECT,
        why="what goes out over TLS is read and encrypted by nginx, never sent by sendfile(2)",
        when=lambda said, block, _facts: said.value == "on" and _all_tls(block),
    ),
    CopiedLine(
        directive="sendfile",
        scenario="serving_files",
        claim="sendfile_serves_plain_files",
        state=State.IN_EFFECT,
        why="for plain files; not for TLS, for what is compressed, or for what comes from an upstream",
        when=lambda said, block, _facts: said.value == "on" and not _all_tls(block),
    ),
    CopiedLine(
        directive="tcp_nopush",
        scenario="serving_files",
        claim="sendfile_splits_small_answers",
        state=State.IN_EFFECT,
        why="with sendfile on, the head and the body of a small file go out in one segment",
        when=lambda said, block, _facts: said.value == "on" and block.is_on("sendfile"),
    ),
    CopiedLine(
        directive="tcp_nopush",
        scenario="serving_files",
        claim="small_answers_without_sendfile_are_split",
        state=State.WITHOUT_EFFECT,
        why="it is about sendfile, which is not on here",
        when=lambda said, block, _facts: said.value == "on" and not block.is_on("sendfile"),
        leave_out=True,
    ),
    CopiedLine(
        directive="open_file_cache",
        scenario="serving_files",
        claim="open_file_cache_cuts_grown_files",
        state=State.HARMFUL,
        why="a file that grows in place is cut off at its old length until the cache looks again: replace files by "
        "renaming new ones over them",
        when=lambda said, _block, _facts: said.value != "off",
    ),
    CopiedLine(
        directive="access_log",
        scenario="serving_files",
        claim="log_with_variable_opens_each_time",
        state=State.HARMFUL,
        why="a variable in its path makes nginx open and close the file for every request",
        when=lambda said, block, _facts: "$" in said.value and block.setting("open_log_file_cache") is None,
    ),
    CopiedLine(
        directive="access_log",
        scenario="serving_files",
        claim="log_buffer_saves_writes",
        state=State.IN_EFFECT,
        why="lines are collected before they are written",
        when=lambda said, _block, _facts: any(arg.startswith("buffer=") for arg in said.args),
    ),
    CopiedLine(
        directive="gzip_comp_level",
        scenario="serving_files",
        claim="gzip_9_is_much_smaller",
        state=State.HARMFUL,
        why="levels above 6 cost CPU time and make text hardly smaller",
        when=lambda said, _block, _facts: said.value in ("7", "8", "9"),
        instead="gzip_comp_level 5;",
        measured="9",
    ),
    CopiedLine(
        directive="client_header_buffer_size",
        scenario="request_limits",
        claim="large_header_buffers_feed_attackers",
        state=State.HARMFUL,
        why=_CLAIMS_MEMORY,
        when=lambda said, _block, _facts: _size_bytes(said, 0) >= _LARGE_HEADER_BYTES,
        leave_out=True,
        measured="3m",
    ),
    CopiedLine(
        directive="large_client_header_buffers",
        scenario="request_limits",
        claim="header_buffers_of_1k_reject_cookies",
        state=State.HARMFUL,
        why="a header line, such as a cookie, that is longer than one of them is answered by 400",
        when=lambda said, _block, _facts: 0 < _size_bytes(said, 1) < _SMALL_HEADER_BYTES,
        leave_out=True,
        measured="1k",
        place=1,
    ),
    CopiedLine(
        directive="large_client_header_buffers",
        scenario="request_limits",
        claim="large_header_buffers_feed_attackers",
        state=State.HARMFUL,
        why=_CLAIMS_MEMORY,
        when=lambda said, _block, _facts: _size_bytes(said, 1) >= _LARGE_HEADER_BYTES,
        leave_out=True,
        measured="3m",
        place=1,
    ),
    CopiedLine(
        directive="client_body_buffer_size",
        scenario="request_limits",
        claim="body_buffer_128k_saves_files",
        state=State.IN_EFFECT,
        why="bodies up to this size are not written to a file",
        when=lambda said, _block, _facts: _size_bytes(said, 0) > _BODY_BYTES,
        measured="128k",
    ),
    CopiedLine(
        directive="send_timeout",
        scenario="request_limits",
        claim="send_timeout_2_ends_steady_downloads",
        state=State.HARMFUL,
        why="downloads that go on, but slowly, are cut off: nginx hears of room only once a third of what it has "
        "written is gone",
        when=_short_send,
        leave_out=True,
        measured="2s",
    ),
    CopiedLine(
        directive="reset_timedout_connection",
        scenario="request_limits",
        claim="reset_frees_sockets_of_silent_clients",
        state=State.IN_EFFECT,
        why="sockets of clients that stopped reading are freed at once",
        when=_said_as("on"),
    ),
    CopiedLine(
        directive="limit_conn",
        scenario="request_limits",
        claim="limit_conn_counts_http2_requests",
        state=State.HARMFUL,
        why="in HTTP/2 every request at once counts: pages of more objects are answered by 503",
        when=lambda said, block, _facts: _few_connections(said) and _speaks_http2(block),
        measured="10",
        place=-1,
    ),
    CopiedLine(
        directive="limit_conn",
        scenario="request_limits",
        claim="limit_conn_stops_half_headers",
        state=State.WITHOUT_EFFECT,
        why="against connections that never finish their header: it counts those whose header has been read",
        when=lambda said, block, _facts: _few_connections(said) and not _speaks_http2(block),
        measured="10",
        place=-1,
    ),
    CopiedLine(
        directive="proxy_next_upstream",
        scenario="upstream_peers",
        claim="listed_5xx_take_the_service_down",
        state=State.HARMFUL,
        why="an answer that is listed counts as a failure of its peer: requests for one broken page eject all of "
        "them, and every page is answered by 502",
        when=_listed_5xx,
        instead="proxy_next_upstream error timeout;",
    ),
    CopiedLine(
        directive="proxy_cache_lock",
        scenario="proxy_cache",
        claim="cache_lock_protects_expired_keys",
        state=State.WITHOUT_EFFECT,
        why="for pages that have expired: all requests go to the upstream without proxy_cache_use_stale updating",
        when=_locked_without_stale,
    ),
    CopiedLine(
        directive="ssl_ecdh_curve",
        scenario="tls_settings",
        claim="secp384r1_costs_a_round_trip",
        state=State.HARMFUL,
        why="today's clients offer another curve first: every handshake of TLS 1.3 takes a round trip more",
        when=_said_as("secp384r1"),
        leave_out=True,
    ),
    CopiedLine(
        directive="ssl_session_tickets",
        scenario="tls_settings",
        claim="tickets_are_lost_in_a_reload_with_a_shared_cache",
        state=State.EXPIRED,
        why="since 1.23.2 the keys of tickets are rotated, and survive a reload, where ssl_session_cache is shared",
        when=lambda said, _block, facts: said.value == "off" and facts.version_numbers >= (1, 23, 2),
    ),
    CopiedLine(
        directive="ssl_stapling",
        scenario="tls_settings",
        claim="stapling_needs_a_responder",
        state=State.CANNOT_TELL,
        why="it is ignored where the certificate names no OCSP responder, as Let's Encrypt's do not since 2025",
        when=_said_as("on"),
    ),
)
