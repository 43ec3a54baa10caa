"""QUIC connections and their outcomes are found by long headers."""

import pytest
from scapy.layers.inet import ICMP, IP, UDP
from scapy.layers.inet6 import ICMPv6DestUnreach, IPv6
from scapy.layers.l2 import Ether

from tests.support.datagrams import (
    CLIENT_ID,
    FIRST_ID,
    HANDSHAKE,
    INITIAL,
    NEGOTIATION,
    RETRY,
    SERVER_ID,
    UNKNOWN,
    V1,
    V2,
    ZERO_RTT,
    QuicTalk,
    long_header,
    short_header,
)
from tuneproof.explain.parse.capture.decode import SegmentReader
from tuneproof.explain.parse.capture.quic import QuicReader, QuicService

PTOS = (1.0, 2.0)


def counts(reader: QuicReader) -> dict[str, int]:
    """Return the counts of the only service, without zeros."""
    (service,) = reader.services()
    assert str(service.server) == "10.0.0.2:443"
    return {name: value for name, value in vars(service).items() if isinstance(value, int) and value}


def test_unanswered_initials_count_if_the_client_waited() -> None:
    """Two Initials at once are one flight: a ClientHello with a post-quantum key fills two datagrams."""
    talk = QuicTalk()
    talk.begins(0.0, *PTOS)
    assert counts(talk.reader) == {"connections": 1, "unanswered": 1}
    for pauses_s in ((), (0.0, 0.0), (1.0,), (0.06, 0.06), (0.0, 0.6, 0.0)):
        early = QuicTalk()
        early.begins(*pauses_s)
        assert counts(early.reader) == {"connections": 1}


@pytest.mark.parametrize(
    "later",
    [
        long_header(INITIAL, SERVER_ID, CLIENT_ID),
        long_header(HANDSHAKE, SERVER_ID, CLIENT_ID, size_bytes=100),
        short_header(),
    ],
    ids=["another connection id", "handshake", "short header"],
)
def test_a_capture_of_only_the_clients_direction_shows_which_clients_got_an_answer(later: bytes) -> None:
    """Without an answer, a client has neither the server's connection ID nor the keys for such packets."""
    talk = QuicTalk()
    talk.begins(*PTOS)
    talk.sends(later)
    assert counts(talk.reader).get("unanswered", 0) == 0
    assert counts(talk.reader)["answered"] == 1


def test_early_data_is_not_a_sign_of_an_answer() -> None:
    talk = QuicTalk()
    talk.begins()
    talk.sends(long_header(ZERO_RTT, FIRST_ID, CLIENT_ID))
    for pause_s in PTOS:
        talk.sends(long_header(INITIAL, FIRST_ID, CLIENT_ID), after_s=pause_s)
    assert counts(talk.reader) == {"connections": 1, "unanswered": 1}


def test_silence_after_a_retry_counts_only_if_the_client_waited() -> None:
    """A client with a forged address never continues; waiting caused by a late Retry does not count."""
    forged, waiting, late = QuicTalk(), QuicTalk(), QuicTalk()
    for talk, pauses_s in ((forged, ()), (waiting, ()), (late, PTOS)):
        talk.begins(*pauses_s)
        talk.receives(long_header(RETRY, CLIENT_ID, b"new one!", size_bytes=120))
    late.sends(long_header(INITIAL, b"new one!", CLIENT_ID), after_s=1.0)
    for pause_s in (0.001, *PTOS):
        waiting.sends(long_header(INITIAL, b"new one!", CLIENT_ID), after_s=pause_s)
    assert counts(forged.reader) == counts(late.reader) == {"connections": 1, "retried": 1}
    assert counts(waiting.reader) == {"connections": 1, "retried": 1, "unanswered_after_retry": 1}


def test_a_version_negotiation_is_counted() -> None:
    """Only an answer with the client's own connection IDs shows that the client's packet was QUIC."""
    talk = QuicTalk()
    assert not talk.sends(long_header(INITIAL, FIRST_ID, CLIENT_ID, version=UNKNOWN))
    assert not talk.receives(long_header(INITIAL, CLIENT_ID, b"not that", version=NEGOTIATION, size_bytes=40))
    assert talk.reader.services() == ()
    talk.sends(long_header(INITIAL, FIRST_ID, CLIENT_ID, version=UNKNOWN))
    assert talk.receives(long_header(INITIAL, CLIENT_ID, FIRST_ID, version=NEGOTIATION, size_bytes=40))
    talk.begins()
    talk.completes_handshake()
    assert counts(talk.reader) == {"connections": 1, "established": 1, "answered": 1, "negotiated": 1}


@pytest.mark.parametrize(("version", "kind"), [(V1, INITIAL), (V2, ZERO_RTT), (0xFF00001D, INITIAL)])
def test_each_version_has_its_own_packet_type_numbers(version: int, kind: int) -> None:
    """The type number of an Initial in version 2 is that of 0-RTT in version 1."""
    talk = QuicTalk()
    assert talk.sends(long_header(kind, FIRST_ID, CLIENT_ID, version=version))
    assert counts(talk.reader) == {"connections": 1}


@pytest.mark.parametrize(
    "payload",
    [
        long_header(INITIAL, FIRST_ID, CLIENT_ID, size_bytes=1199),
        long_header(INITIAL, FIRST_ID[:7], CLIENT_ID),
        long_header(HANDSHAKE, FIRST_ID, CLIENT_ID),
        long_header(INITIAL, FIRST_ID, CLIENT_ID, version=NEGOTIATION),
        bytes([0x80]) + long_header(INITIAL, FIRST_ID, CLIENT_ID)[1:],
        long_header(INITIAL, FIRST_ID, bytes(21)),
        short_header(1200),
        b"",
        *(long_header(INITIAL, FIRST_ID, CLIENT_ID)[:cut] for cut in (1, 6, 7, 14, 15, 22)),
    ],
)
def test_other_datagrams_are_not_connections(payload: bytes) -> None:
    """Other protocols have datagrams with a similar start; a datagram truncated inside its header shows nothing."""
    talk = QuicTalk()
    assert not talk.sends(payload)
    assert not talk.receives(payload)
    assert (talk.reader.services(), talk.reader.datagrams) == ((), 0)


@pytest.mark.parametrize("answers", [True, False], ids=["answer", "the client's next packet"])
def test_a_packet_truncated_inside_its_header_may_be_an_answer_or_follow_one(answers: bool) -> None:  # noqa: FBT001
    """A snap length of 18 bytes cuts headers with the server's ID of 20 bytes, but not the client's first header."""
    talk = QuicTalk()
    talk.begins(*PTOS, source_id=b"")
    if answers:
        talk.receives(long_header(INITIAL, b"", bytes(20))[:18])
    else:
        talk.sends(long_header(INITIAL, bytes(20), b"")[:18])
    assert counts(talk.reader) == {"connections": 1, "answered": 1}


def test_a_capture_that_begins_with_the_servers_answer_has_no_connection() -> None:
    talk = QuicTalk()
    assert not talk.receives(long_header(INITIAL, CLIENT_ID, SERVER_ID))
    assert not talk.sends(short_header())
    assert talk.reader.services() == ()


def test_several_connections_on_the_same_ports_are_distinguished() -> None:
    """The client's connection ID distinguishes them, or, if it is empty, a pause longer than any timer."""
    talk = QuicTalk()
    talk.begins(*PTOS)
    talk.begins(source_id=b"another")
    talk.receives(short_header())
    assert counts(talk.reader) == {"connections": 2, "answered": 1, "unanswered": 1}
    nameless = QuicTalk()
    nameless.begins(*PTOS, source_id=b"")
    nameless.begins(32.0, 61.0, source_id=b"")
    assert counts(nameless.reader) == {"connections": 2, "unanswered": 1}


def test_memory_is_limited_and_forgotten_connections_are_counted() -> None:
    reader = QuicReader(live_connections=10)
    for number in range(100):
        QuicTalk(reader=reader, port=40_000 + number, now_s=10.0 * number).begins(*PTOS)
        assert len(reader._live) <= 10
    for number in range(5_000):
        QuicTalk(reader=reader, server=number.to_bytes(4) + (443).to_bytes(2)).begins()
    assert len(reader._totals) <= 1024
    first, *others = reader.services()
    assert (str(first.server), first.connections, first.unanswered) == ("10.0.0.2:443", 100, 100)
    assert len(others) == 63


ANY_MAC = "02:00:00:00:00:01"
"""Without an address, scapy asks the network for one, and waits."""
INNER = {4: IP(src="10.0.0.1", dst="10.0.0.2"), 6: IPv6(src="fd00::1", dst="fd00::2")}
UNREACHABLE = {4: IP(src="10.0.0.2", dst="10.0.0.1") / ICMP(type=3, code=3), 6: IPv6() / ICMPv6DestUnreach(code=4)}
TOO_BIG = IP(src="10.0.0.2", dst="10.0.0.1") / ICMP(type=3, code=4)


def service_of(*packets: object) -> QuicService:
    """Read packets of QUIC or ICMP behind Ethernet, one per second."""
    frames = [bytes(Ether(dst=ANY_MAC) / packet) for packet in packets]
    reader = SegmentReader((number * 10**9, 1, data, len(data)) for number, data in enumerate(frames))
    assert list(reader) == []
    assert reader.quic.datagrams + sum(reader.others.values()) == len(packets)
    assert set(reader.others) <= {"ICMP", "ICMPv6"}
    (service,) = reader.quic.services()
    return service


@pytest.mark.parametrize("version", INNER)
def test_icmp_shows_which_connections_are_unreachable(version: int) -> None:
    """The quoted packet may end after the UDP header (RFC 792). An ICMP error may make the client give up at once."""
    sent = INNER[version] / UDP(sport=40_000, dport=443) / long_header(INITIAL, FIRST_ID, CLIENT_ID)
    about = bytes(sent)[: len(INNER[version]) + 8]
    refused = service_of(sent, UNREACHABLE[version] / about)
    assert (refused.connections, refused.unanswered, refused.unreachable) == (1, 1, 1)
    other_port = bytes(INNER[version] / UDP(sport=40_001, dport=443))
    assert service_of(sent, sent, UNREACHABLE[version] / other_port, sent).unreachable == 0
    assert service_of(sent, sent, UNREACHABLE[version] / about[:-7], sent).unreachable == 0


def test_a_packet_that_was_too_big_does_not_count_as_undeliverable() -> None:
    sent = INNER[4] / UDP(sport=40_000, dport=443) / long_header(INITIAL, FIRST_ID, CLIENT_ID)
    assert service_of(sent, sent, TOO_BIG / bytes(sent), sent).unreachable == 0


def test_a_packet_truncated_after_its_header_counts_with_its_length_on_the_wire() -> None:
    sent = bytes(
        Ether(dst=ANY_MAC) / INNER[4] / UDP(sport=40_000, dport=443) / long_header(INITIAL, FIRST_ID, CLIENT_ID)
    )
    reader = SegmentReader([(0, 1, sent[:96], len(sent))])
    assert list(reader) == []
    assert (reader.quic.datagrams, reader.others) == (1, {})
