"""Parsers reject malformed texts and other kinds of files, with the line and column of the fault."""

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from tests.support.outputs import AB_BANNER, H2LOAD_OLD, WRK
from tuneproof.explain.parse.counters import netstat_s, nstat, proc_net, softnet
from tuneproof.explain.parse.load_tools import ab, h2load, wrk
from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.processes import pidstat, schedstat, status
from tuneproof.explain.parse.sockets import ss_text

BEYOND: Final = 2**64
PIDSTAT: Final = "10:00 UID PID %CPU Command\n10:00 33 7 {} nginx\n"
Rows = tuple[tuple[str, int, int], ...]

# Each row: a text, and the line and column of the fault in it.
ROWS: Final[Mapping[str, tuple[Callable[[str], object], Rows]]] = {
    "proc_net": (
        proc_net.snapshots,
        (
            ("", 1, 1),
            ("no counters\n", 1, 1),
            ("Tcp: A B\nTcp: 1 2 3\n", 2, 10),
            ("Tcp: A BC D\nTcp: 1\n", 1, 8),
            ("Tcp: A\n", 1, 1),
            ("Tcp: A\nUdp: 1\n", 1, 1),
            ("Tcp: 1 2\n", 1, 6),
            ("Tcp: A A\nTcp: 1 2\n", 1, 8),
            (f"Tcp: A\nTcp: {BEYOND}\n", 2, 6),
            ("Tcp: A\nTcp: 99999999999999999999999\n", 2, 6),
            ("Tcp: A\nTcp: -1\n", 2, 6),
            ("Tcp: A\nTcp: \u0663\n", 2, 6),
            ("Tcp: A 7x\nTcp: 1 2\n", 1, 8),
            ("Tcp: " + "A " * 4097 + "\n", 1, 5 + 2 * 4096 + 1),
        ),
    ),
    "nstat": (
        nstat.snapshots,
        (
            ("", 1, 1),
            ("hello\n", 1, 1),
            ("#kernel\nTcpInSegs\n", 2, 1),
            ("#kernel\nTcpInSegs -3 0.0\n", 2, 11),
            ("#kernel\nTcpInSegs 1 fast\n", 2, 13),
            ("#kernel\nTcpInSegs 1 0.0 more\n", 2, 17),
            (f"#kernel\nTcpInSegs {BEYOND} 0.0\n", 2, 11),
            ("#kernel\nTcpInSegs 1 0.0\nTcpInSegs 1 0.0\n", 3, 1),
            ("x\n{", 2, 2),
            ('x\n{"kernel":{\n"TcpInSegs":}}\n', 3, 13),
            ('{"kernel":{"TcpInSegs":1.5}}\n', 1, 1),
            ('{"kernel":{"TcpInSegs":true}}\n', 1, 1),
            ('{"kernel":{"TcpInSegs":-1}}\n', 1, 1),
            ('{"kernel":{"TcpInSegs":1,"TcpInSegs":1}}\n', 1, 1),
            ('{"kernel":[1]}\n', 1, 1),
            ('{"time":7}\n', 1, 1),
            ('{"kernel":{}} more\n', 1, 14),
            # The parser does not raise JSON's own ValueError or RecursionError.
            ('{"kernel":{"TcpInSegs":' + "9" * 5000 + "}}\n", 1, 1),
            ('{"a":' * 100_000, 1, 1),
        ),
    ),
    "netstat_s": (
        netstat_s.snapshots,
        (
            ("", 1, 1),
            ("    3 segments received\n", 1, 1),
            ("Tcp:\n    -3 segments received\n", 2, 5),
            (f"Tcp:\n    {BEYOND} segments received\n", 2, 5),
            ("Tcp:\n    3 segments received\n    3 segments received\n", 3, 5),
            ("TcpExt:\n    TCPTimeouts: -1\n", 2, 18),
        ),
    ),
    "softnet": (
        softnet.snapshots,
        (
            ("", 1, 1),
            ("Thu Nov 20\n", 1, 1),
            ("00000001 00000002\n", 1, 10),
            ("date\n" + "00000001 2" + " 00000000" * 9 + "\n", 2, 10),
            ("00000001 000000002" + " 00000000" * 9 + "\n", 1, 10),
        ),
    ),
    "status": (
        status.snapshots,
        (
            ("", 1, 1),
            ("Date: now\n", 1, 1),
            ("Name:\tx\nVmRSS:\t 12 MB\n", 2, 9),
            ("Name:\tx\nVmRSS:\t -12 kB\n", 2, 9),
            ("Name:\tx\nThreads:\tmany\n", 2, 10),
            ("Name:\tx\nThreads:\t1\nThreads:\t1\n", 3, 10),
            ("Name:\tx\nThreads:\t99999999999999999999\n", 2, 10),
        ),
    ),
    "io": (status.write_bytes, (("", 1, 1), ("no such process\n", 1, 1), ("rchar: 3980\nwritten_bytes: 8192\n", 1, 1))),
    "schedstat": (
        schedstat.snapshots,
        (("", 1, 1), ("1 2\n", 1, 3), ("1 2 3 4\n", 1, 7), ("1 -2 3\n", 1, 3), (f"1 2 {BEYOND}\n", 1, 5)),
    ),
    "pidstat": (
        pidstat.report,
        (
            ("", 1, 1),
            ("top - 10:00\n", 1, 1),
            *((PIDSTAT.format(value), 2, 12) for value in ("fast", "-1.00", "1.00Q", "9" * 400)),
        ),
    ),
    "ss": (ss_text.parse, (("", 1, 1), ("\n  hello\n", 2, 3))),
    "ab": (
        ab.parse,
        (
            *(("", 1, 1), ("Requests/sec: 10\n", 1, 1), ("hello\n", 1, 1)),
            (AB_BANNER + "Complete requests:      1o000\n", 6, 25),
        ),
    ),
    "wrk": (
        wrk.parse,
        (
            *(("", 1, 1), ("hello\n", 1, 1), ("Complete requests:  10\n", 1, 1)),
            (WRK.replace("55866.09", "fast"), 14, 16),
        ),
    ),
    "wrk2": (wrk.parse_wrk2, (("", 1, 1), ("hello\n", 1, 1), ("Complete requests:  10\n", 1, 1))),
    "h2load": (h2load.parse, (("Requests/sec: 10\n", 1, 1), (H2LOAD_OLD.replace("771.26ms", "never"), 7, 13))),
}


@pytest.mark.parametrize(
    ("parse", "text", "line", "column"),
    [
        pytest.param(parse, *each, id=f"{name} {number}")
        for name, (parse, rows) in ROWS.items()
        for number, each in enumerate(rows)
    ],
)
def test_the_error_for_a_malformed_text_names_line_and_column(
    parse: Callable[[str], object], text: str, line: int, column: int
) -> None:
    with pytest.raises(MalformedEvidenceError, match="expected") as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)
    assert len(str(caught.value)) < 250
