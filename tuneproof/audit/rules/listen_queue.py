"""Raise the backlog: bursts of connects behind a short accept queue wait for a second."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.patches import Replace
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.values import whole_number

NAME: Final = "listen_queue"
RANK: Final = 6
CLAIM: Final = "queue_holds_backlog_plus_one"
# What nginx asks for on Linux: https://nginx.org/en/docs/http/ngx_http_core_module.html#listen
_DEFAULT: Final = 511
_WANTED: Final = 4096
# What belongs to a socket, so that only one of its listens may have it (ngx_http_core_listen).
_OPTION: Final = re.compile(
    r"(?:setfib|fastopen|backlog|rcvbuf|sndbuf|accept_filter|ipv6only|so_keepalive)=|(?:bind|deferred|reuseport|multipath)$"
)


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield one answer for each socket; its options are in one of its listens, and nginx refuses a second one."""
    sockets: dict[str, list[Statement]] = {}
    for server in facts.servers:
        for listen in server.block.local("listen"):
            if not {"quic", "udp"} & set(listen.args):
                sockets.setdefault(_address(listen), []).append(listen)
    for address, listens in sockets.items():
        given = [listen for listen in listens if any(_OPTION.match(arg) for arg in listen.args[1:])]
        at = (given or listens)[0]
        if not given and _is_covered(address, sockets):
            continue
        backlog = _backlog(at)
        room = f"min({_DEFAULT if backlog is None else backlog}, net.core.somaxconn) + 1 connections"
        if backlog is not None and backlog > _DEFAULT:
            why = f"{address} queues {room}: somaxconn must be as large, and is not in these files"
            yield Advised(name=NAME, claim=CLAIM, state=State.IN_EFFECT, at=at, why=why)
        else:
            why = f"{address} queues {room}; a burst beyond that waits for a second or longer"
            edit = Replace(old=at, text=f"listen {' '.join(_without_backlog(at))} backlog={_WANTED};")
            edits = () if address.startswith("unix:") else (edit,)
            yield Advised(name=NAME, claim=CLAIM, state=State.MISSING, at=at, why=why, edits=edits, routine=True)


def _is_covered(address: str, sockets: Mapping[str, Sequence[Statement]]) -> bool:
    """Tell an address that nginx accepts for on the socket of all addresses (ngx_http_init_listening)."""
    host, _, port = address.rpartition(":")
    return not address.startswith(("unix:", "[", "*")) and host != "" and f"*:{port}" in sockets


def _address(listen: Statement) -> str:
    """Return the socket that a listen means, so that "80" and "*:80" are one."""
    text = listen.value
    if text.startswith("unix:"):
        return text
    if text.isdecimal():
        return f"*:{text}"
    has_port = text.rpartition("]")[2].startswith(":") if text.startswith("[") else ":" in text
    return (text if has_port else f"{text}:80").replace("0.0.0.0:", "*:", 1)


def _backlog(listen: Statement) -> int | None:
    said = [arg.removeprefix("backlog=") for arg in listen.args if arg.startswith("backlog=")]
    return whole_number(said[-1]) if said else None


def _without_backlog(listen: Statement) -> list[str]:
    return [arg for arg in listen.args if not arg.startswith("backlog=")]
