"""Reads the TCP sockets that ``netstat -ant`` prints on Linux, also with -e, -o or -p, as if ss had printed them.

A listener's backlog is not shown: Send-Q is 0 (get_tcp4_sock in net/ipv4/tcp_ipv4.c).
"""

import re
from typing import Final

from tuneproof.explain.parse.sockets import ss_text
from tuneproof.explain.parse.sockets.table import SocketTable

_ROW: Final = re.compile(r"tcp6?[ \t]+(\d+)[ \t]+(\d+)[ \t]+(\S+)[ \t]+(\S+)[ \t]+([A-Z_0-9]+)\b(.*)")
_PROGRAM: Final = re.compile(r"[ \t]\d+/([^\s:\"]+)")
_STATES: Final = {"ESTABLISHED": "ESTAB", "CLOSE": "UNCONN", "FIN_WAIT1": "FIN-WAIT-1", "FIN_WAIT2": "FIN-WAIT-2"}
_OTHERS: Final = re.compile(r"(?:Active |udp|raw)")
_UNIX: Final = "Active UNIX domain sockets"


def readings(text: str) -> tuple[SocketTable, ...]:
    """Read the output of a loop: one table for each call."""
    is_unix, lines = False, []
    for line in text.split("\n"):
        is_unix = line.startswith(_UNIX) or (is_unix and not line.startswith("Proto Recv-Q"))
        lines.append("" if is_unix or _OTHERS.match(line) else _as_ss(line.rstrip("\r")))
    return ss_text.readings("\n".join(lines))


def _as_ss(line: str) -> str:
    match = _ROW.match(line)
    if match is None:
        return line.removeprefix("Proto ")
    received, sent, local, peer, state, rest = match.groups()
    program = _PROGRAM.search(rest)
    users = f' users:(("{program[1]}"' + "))" if program is not None else ""
    return f"{_STATES.get(state, state.replace('_', '-'))} {received} {sent} {local} {peer}{users}"
