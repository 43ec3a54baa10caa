"""Workers, their connections, and how they take new ones."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines.line import CopiedLine, said_as
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block

_SCENARIO: Final = "accepting"
_SHORT_KEEPALIVE_S: Final = 30.0


def _short_keepalive(said: Statement, _block: Block, _facts: Facts) -> bool:
    text = said.args[0].removesuffix("s") if said.args else ""
    return text.isdecimal() and 0 < float(text) <= _SHORT_KEEPALIVE_S


def _files_limit(said: Statement, block: Block, facts: Facts) -> bool:
    del block
    return (
        said.value.isdecimal()
        and facts.worker_connections is not None
        and (int(said.value) < 2 * facts.worker_connections)
    )


LINES: Final = (
    CopiedLine(
        directive="multi_accept",
        scenario=_SCENARIO,
        claim="multi_accept_takes_a_burst_in_one_turn",
        state=State.HARMFUL,
        why="the worker that wakes first takes every connection that waits, in one turn of its event loop",
        when=said_as("on"),
        leave_out=True,
    ),
    CopiedLine(
        directive="worker_processes",
        scenario=_SCENARIO,
        claim="auto_ignores_the_cpuset",
        state=State.CANNOT_TELL,
        why="in a container that may use a part of the machine's CPUs only, it starts a worker for each of them "
        "all the same",
        when=said_as("auto"),
    ),
    CopiedLine(
        directive="keepalive_timeout",
        scenario=_SCENARIO,
        claim="idle_clients_use_up_connections",
        state=State.WITHOUT_EFFECT,
        why="a short one makes no room for others: nginx closes idle connections by itself when worker_connections "
        "run out. It only makes clients connect again",
        when=_short_keepalive,
    ),
    CopiedLine(
        directive="worker_rlimit_nofile",
        scenario=_SCENARIO,
        claim="files_need_descriptors_too",
        state=State.HARMFUL,
        why="files and upstream connections take descriptors, too: at least twice worker_connections are needed",
        when=_files_limit,
    ),
)
