"""Captures are recognised by their content; missing parts are reported."""

import gzip
import struct
from collections.abc import Callable, Iterator
from io import BufferedReader
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.captures import NO_TCP
from tests.support.capture_files import pcap, pcapng, statistics
from tests.support.explained import explained
from tests.support.segments import Conversation, end, framed
from tuneproof.explain.detect import Kind
from tuneproof.explain.parse.capture.decode import ACK, RST, SYN
from tuneproof.explain.parse.capture.framing import Packet, PacketReader

CONNECTIONS = 40


def refused_connections() -> Iterator[Packet]:
    """Yield SYNs, each answered with a RST, and an ARP frame."""
    for number in range(CONNECTIONS):
        talk = Conversation(client=end("10.0.0.2", 40_000 + number), now_s=number / 100)
        talk.send(talk.client, flags=SYN)
        talk.send(talk.server, flags=RST | ACK)
        yield from map(framed, talk.segments)
    yield NO_TCP


HEALTHY = Path(__file__).parents[2] / "captures/healthy.pcap.gz"


def late(packets: list[Packet], random: Random) -> list[Packet]:
    return sorted(packets, key=lambda packet: packet[0] + random.randint(-300_000, 300_000))


def dropped(packets: list[Packet], random: Random) -> list[Packet]:
    return [packet for packet in packets if random.random() > 0.05]


@pytest.mark.parametrize(("change", "warned"), [(late, []), (dropped, ["the capture lacks data in "])])
def test_effects_of_the_capturing_host_are_not_a_cause(
    change: Callable[[list[Packet], Random], list[Packet]], warned: list[str], tmp_path: Path
) -> None:
    """The host may record packets out of order, or drop some that client and server received."""
    with gzip.open(HEALTHY) as file:
        packets = list(PacketReader(BufferedReader(file)))
    explanation = explained(tmp_path, {"a.pcap": pcap(change(packets, Random(1)))})  # noqa: S311 - reproducible
    assert explanation.diagnosis.healthy
    warnings = [warning for warning in explanation.found[0].warnings if "packets are truncated" not in warning]
    assert [warning[:26] for warning in warnings] == warned


def test_missing_parts_of_a_capture_are_reported(tmp_path: Path) -> None:
    """The user may kill tcpdump, tcpdump may truncate packets, and the kernel may drop some."""
    (found,) = explained(tmp_path, {"access.log": pcap(refused_connections())[:-30]}).found
    assert found.error is None
    assert [warning.startswith("not read to its end: byte ") for warning in found.warnings] == [True]
    cut = [(time_ns, linktype, data, size_bytes + 100) for time_ns, linktype, data, size_bytes in refused_connections()]
    (found,) = explained(tmp_path, {"access.log": pcap(cut)}).found
    assert any(warning.startswith("81 of 81 packets are truncated") for warning in found.warnings)
    dropped = statistics((5, struct.pack("<Q", 12)))
    (found,) = explained(tmp_path, {"access.log": pcapng(refused_connections()) + dropped}).found
    assert any(warning.startswith("the kernel dropped 12 packets") for warning in found.warnings)
    assert "packets left out, since only TCP and QUIC are read: ARP: 1" in found.warnings
    (found,) = explained(tmp_path, {"access.log": b"\xd4\xc3\xb2\xa1short"}).found
    assert (found.kind, found.error) == (Kind.CAPTURE, "byte 9: not a capture: pcap with a truncated header")
