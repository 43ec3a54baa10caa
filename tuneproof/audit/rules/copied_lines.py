"""Lines that travel from one nginx.conf to the next: which of them help, which do nothing, and which do harm.

Each is told by its directive and arguments; the figures are those of the catalogue's claims.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.facts import Facts
from tuneproof.audit.patches import Edit, Replace
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block
from tuneproof.audit.values import size_bytes

NAME: Final = "copied_lines"
RANK: Final = 8

_KIB: Final = 1024
# Of what clients send before nginx knows what they want; nginx's own buffers hold 32 KiB.
_LARGE_HEADER_BYTES: Final = 256 * _KIB
_SMALL_HEADER_BYTES: Final = 4 * _KIB
_SHORT_SEND_S: Final = 10.0
_SHORT_KEEPALIVE_S: Final = 30.0
_FEW_CONNECTIONS: Final = 20
_BODY_BYTES: Final = 16 * _KIB


@dataclass(frozen=True, kw_only=True)
class Line:
    """What there is to say of one directive.

    Attributes:
        scenario: The scenario whose claim it rests on.
        claim: The claim.
        state: How it stands.
        why: What makes it so.
        when: Tells from the directive, the block that it stands in and the rest whether it is meant.
        leave_out: Whether the patch takes the directive away.
        instead: What the patch puts in its place; empty for nothing.
    """

    scenario: str
    claim: str
    state: State
    why: str
    when: Callable[[Statement, Block, Facts], bool] = lambda _said, _block, _facts: True
    leave_out: bool = False
    instead: str = ""

    def edits(self, said: Statement) -> tuple[Edit, ...]:
        """Return what would change it."""
        return (Replace(old=said, text=self.instead),) if self.leave_out or self.instead else ()


def _is(*args: str) -> Callable[[Statement, Block, Facts], bool]:
    return lambda said, _block, _facts: said.args == args


def _size(said: Statement, place: int) -> int:
    """Return a size among the arguments in bytes; 0 where there is none that can be read."""
    return (size_bytes(said.args[place]) or 0) if len(said.args) > place else 0


def _since(version: tuple[int, ...]) -> Callable[[Statement, Block, Facts], bool]:
    return lambda _said, _block, facts: facts.version_numbers >= version


def _speaks_tls(block: Block) -> bool:
    server = block.around("server")
    return server is not None and any("ssl" in listen.args for listen in server.local("listen"))


def _listed_5xx(said: Statement, _block: Block, _facts: Facts) -> bool:
    return any(arg.startswith("http_5") for arg in said.args)


def _short_send(said: Statement, _block: Block, _facts: Facts) -> bool:
    text = said.value.removesuffix("s")
    return text.isdecimal() and float(text) < _SHORT_SEND_S


def _short_keepalive(said: Statement, _block: Block, _facts: Facts) -> bool:
    text = said.args[0].removesuffix("s") if said.args else ""
    return text.isdecimal() and 0 < float(text) <= _SHORT_KEEPALIVE_S


def _is_on(block: Block, name: str) -> bool:
    said = block.setting(name)
    return said is not None and said.value == "on"


def _few_connections(said: Statement, _block: Block, _facts: Facts) -> bool:
    return said.args[-1:] != () and said.args[-1].isdecimal() and int(said.args[-1]) <= _FEW_CONNECTIONS


def _with_http2(said: Statement, block: Block, facts: Facts) -> bool:
    if not _few_connections(said, block, facts):
        return False
    servers = [block.around("server")] if block.around("server") else list(block.all("server"))
    return any(_has_http2(server) for server in servers if server is not None)


def _has_http2(server: Block) -> bool:
    return _is_on(server, "http2") or any("http2" in listen.args for listen in server.local("listen"))


def _locked_without_stale(said: Statement, block: Block, _facts: Facts) -> bool:
    stale = block.setting("proxy_cache_use_stale")
    return said.value == "on" and (stale is None or "updating" not in stale.args)


def _files_limit(said: Statement, block: Block, facts: Facts) -> bool:
    del block
    return (
        said.value.isdecimal()
        and facts.worker_connections is not None
        and (int(said.value) < 2 * facts.worker_connections)
    )


_ACCEPTING: Final = "accepting"
_PEERS: Final = "upstream_peers"
_FILES: Final = "serving_files"
_LIMITS: Final = "request_limits"
_CACHE: Final = "proxy_cache"
_TLS: Final = "tls_settings"
_ROT: Final = "config_rot"

_SAYS_THE_DEFAULT: Final = "that is what nginx does anyway: it changes no system call"


def _default(*args: str) -> Line:
    return Line(
        scenario=_ROT,
        claim="copied_defaults_change_nothing",
        state=State.WITHOUT_EFFECT,
        why=_SAYS_THE_DEFAULT,
        when=_is(*args),
        leave_out=True,
    )


LINES: Final[Mapping[str, Sequence[Line]]] = {
    "multi_accept": (
        Line(
            scenario=_ACCEPTING,
            claim="multi_accept_takes_a_burst_in_one_turn",
            state=State.HARMFUL,
            why="the worker that wakes first takes every connection that waits, in one turn of its event loop",
            when=_is("on"),
            leave_out=True,
        ),
    ),
    "worker_processes": (
        Line(
            scenario=_ACCEPTING,
            claim="auto_ignores_the_cpuset",
            state=State.CANNOT_TELL,
            why="in a container that may use a part of the machine's CPUs only, it starts a worker for each of them "
            "all the same",
            when=_is("auto"),
        ),
    ),
    "keepalive_timeout": (
        Line(
            scenario=_ACCEPTING,
            claim="idle_clients_use_up_connections",
            state=State.WITHOUT_EFFECT,
            why="on room for others: nginx closes idle connections by itself when worker_connections run out, and "
            "clients that come again have to connect again",
            when=_short_keepalive,
        ),
    ),
    "worker_rlimit_nofile": (
        Line(
            scenario=_ACCEPTING,
            claim="files_need_descriptors_too",
            state=State.HARMFUL,
            why="files and upstream connections take descriptors, too: at least twice worker_connections are needed",
            when=_files_limit,
        ),
    ),
    "use": (_default("epoll"),),
    "tcp_nodelay": (_default("on"),),
    "postpone_output": (_default("1460"),),
    "gzip_disable": (
        Line(
            scenario=_ROT,
            claim="copied_defaults_change_nothing",
            state=State.WITHOUT_EFFECT,
            why="no browser of today is meant by it",
            when=lambda said, _block, _facts: "msie6" in said.args,
            leave_out=True,
        ),
    ),
    "output_buffers": (
        Line(
            scenario=_ROT,
            claim="one_output_buffer_reads_as_often",
            state=State.WITHOUT_EFFECT,
            why="a file is read in the same steps as with the default, which is two buffers since nginx 1.9.5",
            when=_is("1", "32k"),
            leave_out=True,
        ),
    ),
    "sendfile": (
        Line(
            scenario=_FILES,
            claim="sendfile_serves_https",
            state=State.WITHOUT_EFFECT,
            why="what goes out over TLS is read and encrypted by nginx, never sent by sendfile(2)",
            when=lambda said, block, _facts: said.value == "on" and _all_tls(block),
        ),
        Line(
            scenario=_FILES,
            claim="sendfile_serves_plain_files",
            state=State.IN_EFFECT,
            why="for plain files; not for TLS, for what is compressed, or for what comes from an upstream",
            when=lambda said, block, _facts: said.value == "on" and not _all_tls(block),
        ),
    ),
    "tcp_nopush": (
        Line(
            scenario=_FILES,
            claim="sendfile_splits_small_answers",
            state=State.IN_EFFECT,
            why="with sendfile on, the head and the body of a small file go out in one segment",
            when=lambda said, block, _facts: said.value == "on" and _is_on(block, "sendfile"),
        ),
        Line(
            scenario=_FILES,
            claim="small_answers_without_sendfile_are_split",
            state=State.WITHOUT_EFFECT,
            why="it is about sendfile, which is not on here",
            when=lambda said, block, _facts: said.value == "on" and not _is_on(block, "sendfile"),
            leave_out=True,
        ),
    ),
    "open_file_cache": (
        Line(
            scenario=_FILES,
            claim="open_file_cache_cuts_grown_files",
            state=State.HARMFUL,
            why="a file that grows in place is cut off at its old length until the cache looks again: replace files by "
            "renaming new ones over them",
            when=lambda said, _block, _facts: said.value != "off",
        ),
    ),
    "access_log": (
        Line(
            scenario=_FILES,
            claim="log_with_variable_opens_each_time",
            state=State.HARMFUL,
            why="a variable in its path makes nginx open and close the file for every request",
            when=lambda said, block, _facts: "$" in said.value and block.setting("open_log_file_cache") is None,
        ),
        Line(
            scenario=_FILES,
            claim="log_buffer_saves_writes",
            state=State.IN_EFFECT,
            why="lines are collected before they are written",
            when=lambda said, _block, _facts: any(arg.startswith("buffer=") for arg in said.args),
        ),
    ),
    "gzip_comp_level": (
        Line(
            scenario=_FILES,
            claim="gzip_9_is_much_smaller",
            state=State.HARMFUL,
            why="levels above 6 cost CPU time and make text hardly smaller",
            when=lambda said, _block, _facts: said.value in ("7", "8", "9"),
            instead="gzip_comp_level 5;",
        ),
    ),
    "client_header_buffer_size": (
        Line(
            scenario=_LIMITS,
            claim="large_header_buffers_feed_attackers",
            state=State.HARMFUL,
            why="whoever never finishes a header may fill so much memory for each connection",
            when=lambda said, _block, _facts: _size(said, 0) >= _LARGE_HEADER_BYTES,
            leave_out=True,
        ),
    ),
    "large_client_header_buffers": (
        Line(
            scenario=_LIMITS,
            claim="header_buffers_of_1k_reject_cookies",
            state=State.HARMFUL,
            why="a header line, such as a cookie, that is longer than one of them is answered by 400",
            when=lambda said, _block, _facts: 0 < _size(said, 1) < _SMALL_HEADER_BYTES,
            leave_out=True,
        ),
        Line(
            scenario=_LIMITS,
            claim="large_header_buffers_feed_attackers",
            state=State.HARMFUL,
            why="whoever never finishes a header may fill so much memory for each connection",
            when=lambda said, _block, _facts: _size(said, 1) >= _LARGE_HEADER_BYTES,
            leave_out=True,
        ),
    ),
    "client_body_buffer_size": (
        Line(
            scenario=_LIMITS,
            claim="body_buffer_128k_saves_files",
            state=State.IN_EFFECT,
            why="bodies up to this size are not written to a file",
            when=lambda said, _block, _facts: _size(said, 0) > _BODY_BYTES,
        ),
    ),
    "send_timeout": (
        Line(
            scenario=_LIMITS,
            claim="send_timeout_2_ends_steady_downloads",
            state=State.HARMFUL,
            why="downloads that go on, but slowly, are cut off: nginx hears of room only once a third of what it has "
            "written is gone",
            when=_short_send,
            leave_out=True,
        ),
    ),
    "reset_timedout_connection": (
        Line(
            scenario=_LIMITS,
            claim="reset_frees_sockets_of_silent_clients",
            state=State.IN_EFFECT,
            why="sockets of clients that stopped reading are freed at once",
            when=_is("on"),
        ),
    ),
    "limit_conn": (
        Line(
            scenario=_LIMITS,
            claim="limit_conn_counts_http2_requests",
            state=State.HARMFUL,
            why="in HTTP/2 every request at once counts: pages of more objects are answered by 503",
            when=_with_http2,
        ),
        Line(
            scenario=_LIMITS,
            claim="limit_conn_stops_half_headers",
            state=State.WITHOUT_EFFECT,
            why="against connections that never finish their header: it counts those whose header has been read",
            when=lambda said, block, facts: (
                _few_connections(said, block, facts) and not _with_http2(said, block, facts)
            ),
        ),
    ),
    "proxy_next_upstream": (
        Line(
            scenario=_PEERS,
            claim="listed_5xx_take_the_service_down",
            state=State.HARMFUL,
            why="an answer that is listed counts as a failure of its peer: requests for one broken page eject all of "
            "them, and every page is answered by 502",
            when=_listed_5xx,
            instead="proxy_next_upstream error timeout;",
        ),
    ),
    "proxy_cache_lock": (
        Line(
            scenario=_CACHE,
            claim="cache_lock_protects_expired_keys",
            state=State.WITHOUT_EFFECT,
            why="for pages that have expired: all requests go to the upstream without proxy_cache_use_stale updating",
            when=_locked_without_stale,
        ),
    ),
    "ssl": (
        Line(
            scenario=_ROT,
            claim="ssl_on_starts",
            state=State.EXPIRED,
            why="nginx does not start with it since 1.25.1: listen … ssl has taken its place",
            when=_since((1, 25, 1)),
            leave_out=True,
        ),
    ),
    "http2_push_preload": (
        Line(
            scenario=_ROT,
            claim="http2_push_is_there",
            state=State.EXPIRED,
            why="server push was removed in 1.25.1, and the directive is ignored",
            when=_since((1, 25, 1)),
            leave_out=True,
        ),
    ),
    "ssl_ecdh_curve": (
        Line(
            scenario=_TLS,
            claim="secp384r1_costs_a_round_trip",
            state=State.HARMFUL,
            why="today's clients offer another curve first: every handshake of TLS 1.3 takes a round trip more",
            when=_is("secp384r1"),
            leave_out=True,
        ),
    ),
    "ssl_session_tickets": (
        Line(
            scenario=_TLS,
            claim="tickets_are_lost_in_a_reload_with_a_shared_cache",
            state=State.EXPIRED,
            why="since 1.23.2 the keys of tickets are rotated, and survive a reload, where ssl_session_cache is shared",
            when=lambda said, _block, facts: said.value == "off" and facts.version_numbers >= (1, 23, 2),
        ),
    ),
    "ssl_stapling": (
        Line(
            scenario=_TLS,
            claim="stapling_needs_a_responder",
            state=State.CANNOT_TELL,
            why="it is ignored where the certificate names no OCSP responder, as Let's Encrypt's do not since 2025",
            when=_is("on"),
        ),
    ),
}


def _all_tls(block: Block) -> bool:
    """Tell whether all servers that a directive of this block reaches speak TLS only."""
    servers = [block] if block.around("server") else list(block.all("server"))
    listening = [server for server in servers if server.around("server")]
    return bool(listening) and all(_speaks_tls(server) for server in listening)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield every such line, in the order of the files."""
    for said, block in facts.configuration.main.everything():
        if block.path[:1] == ("stream",):
            continue
        for line in LINES.get(said.name, ()):
            if line.when(said, block, facts):
                yield Advised(
                    name=line.scenario,
                    claim=line.claim,
                    state=line.state,
                    at=said,
                    why=f"{said.name} {' '.join(said.args)}: {line.why}",
                    edits=line.edits(said),
                )
