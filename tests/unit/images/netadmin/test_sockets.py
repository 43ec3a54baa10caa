"""The observer's counts of sockets, from the kernel's lists."""

import socket
from pathlib import Path

import pytest

from images.netadmin.netadmin import sockets
from images.netadmin.netadmin.observer import Observer
from tests.support.fake_kernel import ESTAB, LISTEN, PORT, SYN_RECV, TIME_WAIT, FakeDiag, Proc, entry, remote
from tuneproof.explain.parse.sockets.table import STATES
from tuneproof.lab.protocol.observer import ListenerFigures, SocketCounts


def test_sockets_are_counted_by_state_and_by_port(proc: Proc) -> None:
    """Only bytes of established connections count: send queues at the port, and unread bytes at other ports."""
    diag = FakeDiag(
        entry(LISTEN, PORT, receive=3, send=511),
        entry(LISTEN, PORT, receive=4, send=511, family=10),
        entry(LISTEN, 9000, receive=50, send=5),
        entry(ESTAB, PORT, receive=10, send=1000),
        entry(ESTAB, PORT, send=234, family=10),
        entry(SYN_RECV, PORT, send=77),
        entry(ESTAB, 40000, receive=77, send=99),
    )
    proc.list_sockets("tcp", [(LISTEN, PORT), (TIME_WAIT, PORT), (ESTAB, 40000)])
    proc.list_sockets("tcp6", [(TIME_WAIT, 40001), (LISTEN, PORT), (TIME_WAIT, 40002)])
    proc.count_ended(sockets.MANY_ENDED)
    assert remote(Observer(diag.open, proc=proc.folder)).sockets(PORT) == SocketCounts(
        listeners=(ListenerFigures(queued=3, backlog=511), ListenerFigures(queued=4, backlog=511)),
        local={"LISTEN": 2, "ESTAB": 2, "TIME-WAIT": 1, "SYN-RECV": 1},
        others={"LISTEN": 1, "ESTAB": 1, "TIME-WAIT": 2},
        send_queue_bytes=1234,
        unread_bytes=(77,),
    )


@pytest.mark.parametrize(
    ("ended", "states"),
    [(sockets.MANY_ENDED, 0b1111_1011_1110), (sockets.MANY_ENDED - 1, 0b1111_1111_1110)],
    ids=["many-from-proc", "few-from-netlink"],
)
def test_every_state_is_counted_once_and_has_a_name(proc: Proc, ended: int, states: int) -> None:
    """The kernel's numbers begin with 1. TIME-WAIT is in /proc/net/tcp and in netlink messages, but is counted once."""
    every = range(1, 12)
    diag = FakeDiag(*(entry(number, PORT) for number in every))
    proc.list_sockets("tcp", [(number, PORT) for number in every])
    proc.count_ended(ended)
    answer = remote(Observer(diag.open, proc=proc.folder)).sockets(PORT)
    assert answer.local == {STATES[number]: 1 for number in every}
    assert dict(enumerate(sockets.NAMES[1:], start=1)) == STATES
    assert diag.asked == [(2, states), (10, states)]


def test_a_missing_table_of_ipv6_sockets_is_no_error(proc: Proc) -> None:
    (proc.folder / "net" / "tcp6").unlink()
    proc.list_sockets("tcp", [(TIME_WAIT, 40001)])
    proc.count_ended(sockets.MANY_ENDED)
    answer = remote(Observer(FakeDiag().open, proc=proc.folder)).sockets(PORT)
    assert answer.others == {"TIME-WAIT": 1}


def test_this_kernel_lists_an_ended_connection_in_the_expected_table() -> None:
    """The end that closes first stays in TIME-WAIT."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            accepted, _ = server.accept()
            accepted.close()
            assert client.recv(1) == b""
    assert sockets.ended(Path("/proc/net/sockstat").read_text(encoding="ascii")) > 0
    tables = [Path("/proc/net/tcp").read_text(encoding="ascii")]
    assert sockets.time_waits(tables)[port] == 1


def test_only_the_queues_of_the_ports_listeners_are_read() -> None:
    """Only listening sockets are queried, so that a watch takes little CPU time even with thousands of connections."""
    diag = FakeDiag(
        entry(LISTEN, PORT, receive=3), entry(LISTEN, PORT, receive=4, family=10), entry(LISTEN, 9, receive=50)
    )
    diag.bind()
    assert sockets.queued(diag, port=PORT) == 7
    assert diag.asked == [(2, 1 << LISTEN), (10, 1 << LISTEN)]
