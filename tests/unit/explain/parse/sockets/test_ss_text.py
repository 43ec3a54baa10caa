"""Whatever ss was asked for, its text becomes the same table; what is no socket is counted, never dropped."""

import pytest

from tuneproof.explain.parse.sockets.ss_text import parse
from tuneproof.explain.parse.sockets.table import SocketAddress, UnreadLine, figures

# Recorded with ss of iproute2 6.1: `ss -tanmie`, a listener of backlog 2 with all the connections that it can hold.
FULL_QUEUE = """\
State    Recv-Q Send-Q      Local Address:Port        Peer Address:Port Process
ESTAB    0      0               127.0.0.1:38880          127.0.0.1:8098  ino:44626718 sk:97df9e cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb4194304,f0,w0,o0,bl0,d0) ts sack bbr wscale:10,10 rto:204 rtt:0.021/0.01 mss:32741 pmtu:65535 rcvmss:536 advmss:65483 cwnd:10 bytes_acked:1 segs_out:2 segs_in:1 bbr:(bw:0bps,mrtt:0.021,pacing_gain:1,cwnd_gain:1) send 124727619048bps lastsnd:828 lastrcv:828 lastack:828 pacing_rate 356452999728bps delivered:1 app_limited reordering:22 rcv_space:65495 rcv_ssthresh:65495 minrtt:0.021 snd_wnd:65483
LISTEN   3      2                       *:8098                   *:*     ino:44626717 sk:97dfa1 cgroup:/ v6only:0 <->
\t skmem:(r0,rb131072,t0,tb16384,f0,w0,o0,bl0,d1) bbr cwnd:10 unacked:3
ESTAB    0      0      [::ffff:127.0.0.1]:8098  [::ffff:127.0.0.1]:38888 ino:0 sk:97dfa2 cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb4194304,f0,w0,o0,bl0,d0) ts sack bbr wscale:10,10 rto:204 rtt:0.005/0.002 mss:32768 cwnd:10 segs_in:2 rcv_space:65483 minrtt:0.005
SYN-SENT 0      1                   [::1]:47438              [::1]:8098  timer:(on,168ms,0) ino:44626721 sk:97dfa4 cgroup:/ <->
\t skmem:(r0,rb131072,t0,tb16384,f3264,w832,o0,bl0,d0) bbr rto:1000 mss:1208 cwnd:10 segs_out:1 lastsnd:34074372 app_limited unacked:1
"""  # noqa: E501 - recorded lines are not folded
# One line per socket, as with -O: a slow reader of a proxy, and one that lost packets.
SLOW_READERS = """\
ESTAB 0 2560000 10.0.0.1:80 198.51.100.7:50112 users:(("nginx",pid=31,fd=12),("nginx",pid=32,fd=12)) timer:(persist,2.940ms,3) skmem:(r0,rb131072,t0,tb2626560,f1024,w2598912,o0,bl0,d0) cubic wscale:7,9 rto:236 rtt:35.5/1.25 cwnd:40 ssthresh:30 bytes_sent:9000000 send 12.8Mbps pacing_rate 15.4Mbps/1.2Gbps delivery_rate 9.6Mbps busy:4000ms rwnd_limited:3000ms(75.0%) retrans:0/7 rcv_space:14600 notsent:1900000 minrtt:34.8
CLOSE-WAIT 1 0 10.0.0.1:80 198.51.100.8:50113 users:(("nginx",pid=31,fd=13)) cubic rto:204 rtt:4.5/2.25 cwnd:10 busy:1000ms sndbuf_limited:500ms(50.0%)
"""  # noqa: E501 - recorded lines are not folded


def test_listener_with_more_connections_than_its_backlog_is_full() -> None:
    [listener] = parse(FULL_QUEUE).listeners
    assert listener.local == SocketAddress(host="*", port=8098)
    assert (listener.queued, listener.backlog, listener.full_sockets) == (3, 2, 1)


def test_words_on_a_line_of_their_own_belong_to_the_row_before() -> None:
    table = parse(FULL_QUEUE)
    first, listening, *_ = table.entries
    assert table.states == {"ESTAB": 2, "LISTEN": 1, "SYN-SENT": 1}
    assert (first.rtt_ms, first.cwnd, first.retransmits, listening.retransmits) == (0.021, 10, (0, 0), (0, 0))
    assert (first.memory["rb"], first.memory["tb"], listening.memory["d"]) == (131_072, 4_194_304, 1)
    assert table.unread_lines == 0


def test_one_line_per_socket_says_the_same() -> None:
    """With -O the words follow the addresses; times and shares have units."""
    slow, lossless = parse(SLOW_READERS).entries
    assert (slow.is_persisting, lossless.is_persisting) == (True, False)
    assert (slow.busy_ms, slow.rwnd_limited_ms, slow.sndbuf_limited_ms) == (4000, 3000, None)
    assert (slow.retransmits, lossless.retransmits) == ((0, 7), (0, 0))


def test_what_was_not_asked_for_is_unknown() -> None:
    """Without -i and -m there is no round trip of 0."""
    [entry] = parse("ESTAB 0 0 10.0.0.1:80 10.0.0.2:50112\n").entries
    assert (entry.rtt_ms, entry.retransmits, dict(entry.memory)) == (None, None, {})


@pytest.mark.parametrize(
    ("address", "host", "port"),
    [
        ("[::1]:80", "::1", 80),
        ("[::ffff:10.0.0.1]:80", "::ffff:10.0.0.1", 80),
        ("[fe80::1]%eth0:443", "fe80::1%eth0", 443),
        ("127.0.0.53%lo:53", "127.0.0.53%lo", 53),
        ("*:http", "*", "http"),
        (":::80", "::", 80),
    ],
)
def test_address_is_read_in_every_notation(address: str, host: str, port: int | str) -> None:
    """Brackets, scopes, names of services, and the bare IPv6 of old releases."""
    [entry] = parse(f"ESTAB 0 0 {address} 10.0.0.2:50112").entries
    assert entry.local == SocketAddress(host=host, port=port)


def test_column_of_the_state_may_be_missing() -> None:
    """`ss -t state established` leaves it out: such rows have no state, and only a listener has any peer."""
    table = parse("Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n0 7 10.0.0.1:80 10.0.0.2:50112\n")
    assert (table.entries[0].state, dict(table.states)) == (None, {"not shown": 1})
    [listener] = parse("0      128          0.0.0.0:2024      0.0.0.0:*\n").listeners
    assert (listener.queued, listener.backlog) == (0, 128)


def test_sockets_of_other_families_are_counted_and_their_words_left_out() -> None:
    """With "Netid" there are other families; their second lines go to no TCP socket."""
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
    """With reuseport each worker has a queue of its own; one of them may be full while others are empty."""
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


def test_name_of_a_process_may_hold_spaces_and_words_of_ss() -> None:
    [entry] = parse('ESTAB 0 0 10.0.0.1:80 10.0.0.2:5 users:(("a cwnd:99 b",pid=7,fd=3)) cubic cwnd:10').entries
    assert entry.cwnd == 10


def test_unknown_words_are_passed_over() -> None:
    """A newer ss has words that nobody knows here, and broken ones do no harm."""
    [entry] = parse("ESTAB 0 0 10.0.0.1:80 10.0.0.2:5 cubic novel:(a,b) rtt:x/y busy:ms skmem:(rb,zz7) cwnd:10").entries
    assert (entry.cwnd, entry.rtt_ms, entry.busy_ms, dict(entry.memory)) == (10, None, None, {})


def test_other_lines_are_counted_and_shown() -> None:
    """A prompt above the table costs no socket, and is told."""
    table = parse("$ ss -tn\nESTAB 0 0 10.0.0.1:80 10.0.0.2:50112\nESTAB 0 0 nowhere 10.0.0.2:50112\n")
    assert len(table.entries) == 1
    assert (table.unread_lines, table.unread_samples[0]) == (2, UnreadLine(number=1, text="$ ss -tn"))


def test_header_alone_is_a_machine_without_sockets() -> None:
    """`ss -tn` on a quiet machine prints its header only."""
    assert parse("State Recv-Q Send-Q Local Address:Port Peer Address:Port Process\n").entries == ()


def test_figures_tell_a_full_queue_and_what_holds_sending_up() -> None:
    """The accept queue comes first; shares of sending time are of all that there was to send."""
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
