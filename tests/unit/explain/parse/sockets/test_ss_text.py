"""Output of ss with any options becomes the same table; other lines are counted."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.support.outputs import FULL_QUEUE, SLOW_READERS
from tuneproof.explain.parse.sockets.ss_text import parse, readings
from tuneproof.explain.parse.sockets.table import SocketAddress, UnreadLine, figures

ESTAB = "ESTAB 0 0 10.0.0.1:80"


# Each row: a table, the position of a socket in it, and some of the socket's values.
SOCKETS: Final[Mapping[str, tuple[str, int, Mapping[str, Any]]]] = {
    "details on a separate line": (FULL_QUEUE, 0, {"rtt_ms": 0.021, "cwnd": 10, "rb": 131_072, "tb": 4_194_304}),
    "details of a listener": (
        FULL_QUEUE,
        1,
        {"state": "LISTEN", "local": SocketAddress(host="*", port=8098), "retransmits": (0, 0), "d": 1},
    ),
    "one line per socket": (
        SLOW_READERS,
        0,
        {
            "is_persisting": True,
            "busy_ms": 4000,
            "rwnd_limited_ms": 3000,
            "sndbuf_limited_ms": None,
            "retransmits": (0, 7),
        },
    ),
    "no retransmissions": (
        SLOW_READERS,
        1,
        {"is_persisting": False, "sndbuf_limited_ms": 500, "rwnd_limited_ms": None},
    ),
    # Without -i and -m, the round trip is unknown, not 0.
    "no details requested": (f"{ESTAB} 10.0.0.2:5", 0, {"rtt_ms": None, "retransmits": None, "memory": {}}),
    "segments with data": (f"{ESTAB} 10.0.0.2:5 segs_out:9 data_segs_out:7", 0, {"data_segments": 7}),
    "words of ss in a process's name": (
        f'{ESTAB} 10.0.0.2:5 users:(("a cwnd:9 b",pid=7,fd=3)) cwnd:10',
        0,
        {"cwnd": 10},
    ),
    # Newer releases of ss may print other fields; these and malformed fields are ignored.
    "unknown fields": (
        f"{ESTAB} 10.0.0.2:5 cubic novel:(a,b) rtt:x/y busy:ms skmem:(rb,zz7) cwnd:10",
        0,
        {"cwnd": 10, "rtt_ms": None, "busy_ms": None, "memory": {}},
    ),
    # Addresses may contain brackets, scopes or service names; old releases print IPv6 without brackets.
    **{
        address: (f"{ESTAB} {address}", 0, {"peer": SocketAddress(host=host, port=port)})
        for address, host, port in (
            ("[::1]:80", "::1", 80),
            ("[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", 80),
            ("[fe80::1]%eth0:443", "fe80::1%eth0", 443),
            ("127.0.0.53%lo:53", "127.0.0.53%lo", 53),
            ("10.0.0.2:http", "10.0.0.2", "http"),
            (":::80", "::", 80),
        )
    },
}


@pytest.mark.parametrize(("text", "place", "known"), SOCKETS.values(), ids=SOCKETS)
def test_a_socket_is_read(text: str, place: int, known: Mapping[str, Any]) -> None:
    entry = parse(text).entries[place]
    found = {**{name: getattr(entry, name) for name in known if hasattr(entry, name)}, **entry.memory}
    assert {name: found[name] for name in known} == known


def test_the_state_column_may_be_missing() -> None:
    """`ss -t state established` omits the column. Only a listener has a wildcard peer.

    On an idle machine, ss prints only the header.
    """
    header = "Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
    table = parse(f"{header}0 7 10.0.0.1:80 10.0.0.2:50112\n")
    assert (table.entries[0].state, dict(table.states)) == (None, {"not shown": 1})
    [listener] = parse("0      128          0.0.0.0:2024      0.0.0.0:*\n").listeners
    assert (listener.queued, listener.backlog) == (0, 128)
    assert parse(f"State {header}").entries == ()


def test_sockets_of_other_families_are_counted_and_their_details_left_out() -> None:
    """A column "Netid" announces other families; their second lines do not belong to a TCP socket."""
    table = parse(
        "Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n"
        "tcp   LISTEN 0      511          0.0.0.0:80         0.0.0.0:*\n"
        "nl    UNCONN 0      0               rtnl:kernel           *     sk=0 cb=0\n"
        "udp   UNCONN 0      0          127.0.0.1:323        0.0.0.0:*\n"
        "\t skmem:(r0,rb212992,t0,tb212992,f0,w0,o0,bl0,d9)\n"
    )
    assert table.other_families == {"nl": 1, "udp": 1}
    assert [(entry.send_queue, dict(entry.memory)) for entry in table.entries] == [(511, {})]


def test_several_sockets_on_one_address_are_one_listener() -> None:
    """With reuseport, each worker has its own queue; one may be full while others are empty."""
    table = parse(
        "LISTEN 0   511 0.0.0.0:80 0.0.0.0:*\nLISTEN 512 511 0.0.0.0:80 0.0.0.0:*\nLISTEN 4 128 0.0.0.0:81 0.0.0.0:*"
    )
    worst, other = table.listeners
    assert (worst.sockets, worst.queued, worst.backlog, worst.full_sockets, worst.longest_queue) == (
        2,
        512,
        1022,
        1,
        512,
    )
    assert (other.local.port, other.full_sockets) == (81, 0)
    assert [(figure.key, figure.value) for figure in figures(table) if figure.of == "0.0.0.0:80"] == [
        ("accept_queue", 512),
        ("accept_queue_backlog", 1022),
        ("accept_queue_sockets", 2),
        ("accept_queue_longest", 512),
        ("accept_queue_full_sockets", 1),
    ]


def test_a_full_queue_of_a_unix_domain_socket_is_read() -> None:
    """PHP-FPM listens on such a socket; it does not count as a TCP socket."""
    table = parse(
        "Netid State  Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
        "u_str LISTEN 129    128    /run/php/php-fpm.sock 12345 * 0\n"
        "u_str ESTAB  0      0      /run/php/php-fpm.sock 22345 * 22346\n"
    )
    (listener,) = table.listeners
    assert (str(listener.local), listener.queued, listener.full_sockets) == ("/run/php/php-fpm.sock", 129, 1)
    assert (table.entries, table.other_families) == ((), {"u_str": 2})


HEADER: Final = "State Recv-Q Send-Q Local Address:Port Peer Address:Port\n"
LISTENS: Final = "LISTEN {} 511 0.0.0.0:80 0.0.0.0:*\n"


@pytest.mark.parametrize(
    "text",
    [
        HEADER + LISTENS.format(0) + HEADER + LISTENS.format(7),
        f"10:00:01\n{LISTENS.format(0)}10:00:02\n{LISTENS.format(7)}",
        f"10:00:01\n{HEADER}{LISTENS.format(0)}\t cubic cwnd:10\n10:00:02\n{HEADER}{LISTENS.format(7)}",
    ],
    ids=["headers", "dates", "both"],
)
def test_ss_in_a_loop_gives_one_table_per_call(text: str) -> None:
    """In one table, a listener would have the sum of all its queues, and several sockets."""
    tables = readings(text)
    assert [(table.listeners[0].queued, table.listeners[0].sockets) for table in tables] == [(0, 1), (7, 1)]


def test_two_calls_for_different_sockets_are_one_table() -> None:
    """Listeners and connections at one moment belong together; unread lines keep their line numbers."""
    both = f"{HEADER}{LISTENS.format(0)}{HEADER}{ESTAB} 10.0.0.2:50112\n"
    (table,) = readings(both)
    assert (len(table.listeners), table.states) == (1, {"LISTEN": 1, "ESTAB": 1})
    first, second = readings(f"{both}now\n{ESTAB} 10.0.0.2:50112\nwhat\n")
    assert (first.unread_lines, [line.number for line in second.unread_samples]) == (0, [5, 7])
    # A repeated line that is not a socket does not begin a table.
    (table,) = readings(f"{ESTAB} 10.0.0.2:5\nnow\nESTAB 0 0 nowhere x\nnow\nESTAB 0 0 nowhere x\n")
    assert len(table.entries) == 1
    (reuseport,) = readings(HEADER + LISTENS.format(0) * 2)
    assert reuseport.listeners[0].sockets == 2


def test_other_lines_are_counted_and_shown() -> None:
    """A prompt above the table is reported, and does not hide a socket."""
    table = parse("$ ss -tn\nESTAB 0 0 10.0.0.1:80 10.0.0.2:50112\nESTAB 0 0 nowhere 10.0.0.2:50112\n")
    assert len(table.entries) == 1
    assert (table.unread_lines, table.unread_samples[0]) == (2, UnreadLine(number=1, text="$ ss -tn"))


def test_figures_show_a_full_queue_and_what_limits_sending() -> None:
    """The accept queue comes first; shares of sending time refer to all the time with data to send."""
    assert [(figure.key, figure.value) for figure in figures(parse(FULL_QUEUE))[:3]] == [
        ("accept_queue", 3),
        ("accept_queue_backlog", 2),
        ("accept_queue_full_sockets", 1),
    ]
    values = {figure.name: figure.value for figure in figures(parse(SLOW_READERS))}
    assert values["not yet acknowledged"] == 2_560_000
    assert values["sending time held up by the peers' windows"] == pytest.approx(60)
    assert values["sending time held up by send buffers"] == pytest.approx(10)
    assert (values["connections with retransmissions"], values["retransmitted segments"]) == (1, 7)


@pytest.mark.parametrize(
    ("users", "program"),
    [('users:(("nginx",pid=31,fd=13),("nginx",pid=7,fd=13))', "nginx"), ("", ""), ("users:((", "")],
)
def test_the_program_is_that_of_the_first_process(users: str, program: str) -> None:
    (entry,) = parse(f"CLOSE-WAIT 1 0 10.0.0.1:80 10.0.0.2:50112 {users}\n").entries
    assert entry.program == program
