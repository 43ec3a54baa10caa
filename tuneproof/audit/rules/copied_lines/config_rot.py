"""What repeats a default, and what nginx has left behind."""

from typing import Final

from tuneproof.audit.advice import State
from tuneproof.audit.facts import Facts
from tuneproof.audit.rules.copied_lines.line import CopiedLine, said_as
from tuneproof.audit.statements import Statement
from tuneproof.audit.tree import Block

_SCENARIO: Final = "config_rot"


def _removed(_said: Statement, _block: Block, facts: Facts) -> bool:
    return facts.version_numbers >= (1, 25, 1)


def _default(directive: str, *args: str) -> CopiedLine:
    return CopiedLine(
        directive=directive,
        scenario=_SCENARIO,
        claim="copied_defaults_change_nothing",
        state=State.WITHOUT_EFFECT,
        why="that is what nginx does anyway: it changes no system call",
        when=said_as(*args),
        leave_out=True,
    )


LINES: Final = (
    _default("use", "epoll"),
    _default("tcp_nodelay", "on"),
    _default("postpone_output", "1460"),
    CopiedLine(
        directive="gzip_disable",
        scenario=_SCENARIO,
        claim="copied_defaults_change_nothing",
        state=State.WITHOUT_EFFECT,
        why="no browser of today is meant by it",
        when=lambda said, _block, _facts: "msie6" in said.args,
        leave_out=True,
    ),
    CopiedLine(
        directive="output_buffers",
        scenario=_SCENARIO,
        claim="one_output_buffer_reads_as_often",
        state=State.WITHOUT_EFFECT,
        why="a file is read in the same steps as with the default, which is two buffers since nginx 1.9.5",
        when=said_as("1", "32k"),
        leave_out=True,
    ),
    CopiedLine(
        directive="ssl",
        scenario=_SCENARIO,
        claim="ssl_on_starts",
        state=State.EXPIRED,
        why="nginx does not start with it since 1.25.1: listen … ssl has taken its place",
        when=_removed,
        leave_out=True,
    ),
    CopiedLine(
        directive="http2_push_preload",
        scenario=_SCENARIO,
        claim="http2_push_is_there",
        state=State.EXPIRED,
        why="server push was removed in 1.25.1, and the directive is ignored",
        when=_removed,
        leave_out=True,
    ),
)
