"""What DiagSocket returns becomes the same table as the text of ss."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tuneproof.explain.parse.problems import MalformedEvidenceError
from tuneproof.explain.parse.sockets.sock_diag import parse
from tuneproof.explain.parse.sockets.table import SocketAddress

# As pyroute2 decodes it. Nine numbers of 32 bits: 0, 131072, 0, 16384, 0, 0, 0, 0, 3.
SKMEM = "00:00:00:00:00:00:02:00:00:00:00:00:00:40:00:00" + ":00" * 16 + ":03:00:00:00"


def a_socket(**changes: Any) -> dict[str, Any]:
    """Return an established connection, with ``changes``."""
    return {
        "idiag_family": 2,
        "idiag_state": 1,
        "idiag_timer": 0,
        "idiag_retrans": 0,
        "idiag_sport": 80,
        "idiag_dport": 50112,
        "idiag_src": "10.0.0.1",
        "idiag_dst": "10.0.0.2",
        "idiag_rqueue": 0,
        "idiag_wqueue": 2896,
        "attrs": [["INET_DIAG_SHUTDOWN", 0]],
    } | changes


def a_listener(**changes: Any) -> dict[str, Any]:
    """Return a listening socket of both families, with ``changes``."""
    listening = {
        "idiag_family": 10,
        "idiag_state": 10,
        "idiag_src": "::",
        "idiag_dst": "::",
        "idiag_dport": 0,
        "idiag_rqueue": 512,
        "idiag_wqueue": 511,
    }
    return a_socket(**listening) | changes


def test_sockets_are_those_that_ss_would_print() -> None:
    """States, addresses and queues arrive; a listener of both families is "*"."""
    table = parse(json.dumps([a_socket(), a_listener()]))
    [listener] = table.listeners
    assert table.states == {"ESTAB": 1, "LISTEN": 1}
    assert (table.entries[0].local, table.entries[0].send_queue) == (SocketAddress(host="10.0.0.1", port=80), 2896)
    assert (listener.local, listener.queued, listener.backlog) == (SocketAddress(host="*", port=80), 512, 511)
    assert listener.full_sockets == 1


def test_listener_of_ipv6_only_keeps_its_address() -> None:
    """The kernel tells it in an attribute."""
    [listener] = parse(json.dumps([a_listener(attrs=[["INET_DIAG_SKV6ONLY", 1]])])).listeners
    assert listener.local == SocketAddress(host="::", port=80)


def test_microseconds_of_tcp_info_become_milliseconds() -> None:
    """tcp_info counts in us, what is told here is in ms, and the kernel's "no measurement" is none."""
    info = {
        "tcpi_rtt": 35_500,
        "tcpi_rttvar": 1250,
        "tcpi_min_rtt": 0xFFFF_FFFF,
        "tcpi_rwnd_limited": 3_000_000,
        "tcpi_busy_time": 4_000_000,
        "tcpi_snd_cwnd": 40,
        "tcpi_retrans": 1,
        "tcpi_total_retrans": 7,
        "tcpi_lost": 2,
    }
    [entry] = parse(json.dumps([a_socket(attrs=[["INET_DIAG_INFO", info]])])).entries
    assert (entry.rtt_ms, entry.rtt_var_ms, entry.minrtt) == (35.5, 1.25, None)
    assert (entry.rwnd_limited_ms, entry.busy_ms, entry.sndbuf_limited_ms) == (3000, 4000, None)
    assert (entry.cwnd, entry.retransmits, entry.numbers["lost"]) == (40, (1, 7), 2)


def test_packed_memory_is_read_under_the_letters_of_ss() -> None:
    """pyroute2 leaves SKMEMINFO as bytes in hexadecimal."""
    [entry] = parse(json.dumps([a_socket(attrs=[["INET_DIAG_SKMEMINFO", SKMEM]])])).entries
    assert (entry.memory["rb"], entry.memory["tb"], entry.memory["d"]) == (131_072, 16_384, 3)


def test_element_that_is_no_socket_is_counted() -> None:
    """The others are read all the same."""
    table = parse(json.dumps([a_socket(), a_socket(idiag_state=99), 7, a_socket(idiag_sport=70_000)]))
    assert (len(table.entries), table.unread_lines, table.unread_samples[0].number) == (1, 3, 2)


def test_empty_array_is_a_machine_without_sockets() -> None:
    """No socket is an answer."""
    assert parse("[]").entries == ()


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ('[\n {"idiag_state": }]', 2, 18),
        ("{}", 1, 1),
        ("[1, 2]", 1, 1),
        ("[" * 100_000, 1, 1),
        ("[" + "9" * 5000 + "]", 1, 1),
    ],
    ids=["no JSON", "no array", "no sockets", "nested", "huge"],
)
def test_text_that_is_no_list_of_sockets_is_refused_with_its_place(text: str, line: int, column: int) -> None:
    """JSON's own errors, its depth and its numbers all end in the one error."""
    with pytest.raises(MalformedEvidenceError) as caught:
        parse(text)
    assert (caught.value.line, caught.value.column) == (line, column)


@given(
    name=st.sampled_from([*a_socket(), "attrs"]),
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["", "INET_DIAG_INFO", "::", SKMEM]),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["tcpi_rtt", "x"]), inner, max_size=2)
        ),
        max_leaves=6,
    ),
)
@settings(max_examples=200, derandomize=True, database=None)
def test_any_value_in_any_place_gives_a_table(name: str, value: Any) -> None:
    """A socket beside the damaged one is never lost."""
    table = parse(json.dumps([a_socket(), a_socket(**{name: value})]))
    assert len(table.entries) + table.unread_lines == 2
