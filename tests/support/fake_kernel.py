"""A process table and a list of sockets in the kernel's formats, and a client of the observer."""

import resource
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from images.netadmin.netadmin.observer import Observer
from images.netadmin.netadmin.processes import MASTER, WORKER
from tests.support.joined import joined
from tuneproof.lab.protocol import observer as protocol

# The kernel prints these lines, among others.
STATUS = """\
Name:\tnginx
State:\tS (sleeping)
VmHWM:\t   60000 kB
VmRSS:\t    1656 kB
RssAnon:\t     112 kB
RssFile:\t    1544 kB
voluntary_ctxt_switches:\t17
nonvoluntary_ctxt_switches:\t3
"""
ZOMBIE = "Name:\tnginx\nState:\tZ (zombie)\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t3\n"
SCHEDSTAT = "1500000000 250000 4711\n"
# In pages: program, resident, shared; text, zero, data and stack, zero.
STATM = "36000 414 386 300 0 200 0\n"
STATM_RSS_BYTES = 414 * resource.getpagesize()
STATM_ZOMBIE = "0 0 0 0 0 0 0\n"
IO = "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 8192\ncancelled_write_bytes: 4096\n"
# nginx writes its title over the command line, and fills the rest with zeros.
MASTER_LINE = f"{MASTER} nginx -c /etc/subject/nginx.conf\0\0\0"
PORT = 8000
ESTAB, SYN_RECV, TIME_WAIT, LISTEN = 1, 3, 6, 10


class Proc:
    """/proc as files: a process table, and tables of sockets."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # /proc contains other entries, too.
        (folder / "self").mkdir()
        self.add(200, "python3\0-m\0netadmin.observer\0")
        self.add(2, "")
        (folder / "net").mkdir()
        self.list_sockets("tcp", [])
        self.list_sockets("tcp6", [])
        self.count_ended(0)

    def add(self, pid: int, command_line: str, **files: str) -> None:
        """Add a process; files that are not given have the usual content."""
        (self.folder / f"{pid}").mkdir()
        for name, text in {
            "status": STATUS,
            "schedstat": SCHEDSTAT,
            "io": IO,
            "statm": STATM,
            "cmdline": command_line,
            **files,
        }.items():
            (self.folder / f"{pid}" / name).write_text(text, encoding="ascii")

    def list_sockets(self, name: str, sockets: Sequence[tuple[int, int]]) -> None:
        """Write net/tcp or net/tcp6; each socket is given as its state and its local port."""
        address = "0100007F" if name == "tcp" else "00000000000000000000000001000000"
        lines = [
            f"{row:4d}: {address}:{port:04X} {address}:9C40 {state:02X} 00000000:00000000 03:00001764 00000000     0"
            "        0 0 3 0000000000000000"
            for row, (state, port) in enumerate(sockets)
        ]
        head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode"
        (self.folder / "net" / name).write_text("\n".join([head, *lines, ""]), encoding="ascii")

    def count_ended(self, number: int) -> None:
        """Write net/sockstat with this many connections in TIME-WAIT."""
        text = f"sockets: used 290\nTCP: inuse 5 orphan 0 tw {number} alloc 9 mem 3\nUDP: inuse 1 mem 0\n"
        (self.folder / "net" / "sockstat").write_text(text, encoding="ascii")

    def add_nginx(self) -> None:
        self.add(1, MASTER_LINE)
        self.add(12, f"{WORKER}\0\0")
        self.add(9, f"{WORKER}\0\0")


class FakeDiag:
    """Answers like the kernel to a query for sockets.

    Attributes:
        asked: Every query, as (family, states).
        error: Raised instead of an answer, unless None.
    """

    def __init__(self, *entries: Mapping[str, int]) -> None:
        self._entries = entries
        self._bound = False
        self.asked: list[tuple[int, int]] = []
        self.error: Exception | None = None

    def bind(self) -> None:
        self._bound = True

    def get_sock_stats(self, *, family: int, states: int) -> list[Mapping[str, Any]]:
        assert self._bound
        self.asked.append((family, states))
        if self.error is not None:
            raise self.error
        wanted = [entry for entry in self._entries if states >> entry["idiag_state"] & 1]
        return [entry for entry in wanted if entry["idiag_family"] == family]

    @contextmanager
    def open(self) -> Iterator["FakeDiag"]:
        yield self
        self._bound = False


def entry(state: int, port: int, *, receive: int = 0, send: int = 0, family: int = 2) -> dict[str, int]:
    """Return the kernel's description of a socket."""
    return {
        "idiag_family": family,
        "idiag_state": state,
        "idiag_sport": port,
        "idiag_rqueue": receive,
        "idiag_wqueue": send,
    }


def remote(observer: Observer) -> protocol.Observer:
    """Return the lab's view of an observer."""
    return joined(protocol.Observer, observer)
