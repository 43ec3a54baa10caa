"""Finds short accept queues, with which connects in a burst wait a second or longer; a larger backlog is the remedy."""

from collections.abc import Iterator
from typing import Final

from tuneproof.audit.advice import Advised, State
from tuneproof.audit.patches import Replace
from tuneproof.conf.facts import Facts
from tuneproof.conf.statements import Statement
from tuneproof.conf.values import whole_number

NAME: Final = "listen_queue"
RANK: Final = 6
CLAIM: Final = "queue_holds_backlog_plus_one"
# nginx's default on Linux: https://nginx.org/en/docs/http/ngx_http_core_module.html#listen
_DEFAULT: Final = 511
_WANTED: Final = 4096


def advise(facts: Facts) -> Iterator[Advised]:
    """Yield at most one finding per TCP socket, since only one of its listens may have options."""
    for socket in facts.sockets.found:
        # If a Unix socket's queue is full, a connect blocks, or fails at once: there are no retransmissions.
        if socket.address.is_udp or socket.address.family == "unix" or not socket.is_bound or not socket.listens:
            continue
        at, name = socket.options or socket.listens[0], socket.address.name
        backlog = _backlog(at)
        room = f"min({_DEFAULT if backlog is None else backlog}, net.core.somaxconn) + 1 connections"
        if backlog is not None and backlog > _DEFAULT:
            why = f"{name} queues {room}; net.core.somaxconn, which is not in these files, must be at least as large"
            yield Advised(name=NAME, claim=CLAIM, state=State.IN_EFFECT, at=at, why=why)
        else:
            why = f"{name} queues {room}; further connects wait a second or longer"
            edit = Replace(old=at, text=f"listen {' '.join(_without_backlog(at))} backlog={_WANTED};")
            # A file that several servers include would give each of them the option.
            edits = (edit,) if sum(one is at for one in socket.listens) == 1 else ()
            yield Advised(name=NAME, claim=CLAIM, state=State.MISSING, at=at, why=why, edits=edits, routine=True)


def _backlog(listen: Statement) -> int | None:
    said = [arg.removeprefix("backlog=") for arg in listen.args if arg.startswith("backlog=")]
    return whole_number(said[-1]) if said else None


def _without_backlog(listen: Statement) -> list[str]:
    return [arg for arg in listen.args if not arg.startswith("backlog=")]
