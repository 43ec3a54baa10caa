"""Any file gives packets or one clear error; what scapy writes is what is read."""

import tempfile
from io import BytesIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgWriter, RawPcapWriter

from tests.support.capture_files import (
    SECONDS,
    TIME_RESOLUTION,
    block,
    enhanced,
    interface,
    old,
    packet,
    pcap,
    pcapng,
    section,
    simple,
)
from tuneproof.explain.parse.capture.framing import Packet, PacketReader
from tuneproof.explain.parse.problems import MalformedEvidenceError

QUICK = settings(max_examples=200, database=None, derandomize=True)
THREE = [packet(number) for number in range(3)]
SEEDS = [
    pcap(THREE),
    pcap(THREE, order=">", nanoseconds=True),
    pcapng(THREE),
    section(order=">") + interface(order=">") + enhanced(b"data", order=">") + section() + interface() + old(b"data"),
    section() + interface((TIME_RESOLUTION, b"\x80")) + simple(b"data", wire_bytes=4) + block(5, bytes(20)),
]
DATA = st.binary(max_size=100)


def outcome(content: bytes) -> tuple[list[Packet], str | None]:
    """Return the packets and why there are no more; the message where the file is refused."""
    try:
        reader = PacketReader(BytesIO(content))
    except MalformedEvidenceError as error:
        return [], str(error)
    found = list(reader)
    assert reader.packets == len(found)
    assert reader.snapped_packets == sum(len(data) < wire_bytes for _, _, data, wire_bytes in found)
    return found, reader.truncated


@QUICK
@given(
    st.sampled_from([b"", *(seed[:4] for seed in SEEDS), *(seed[:28] for seed in SEEDS)]),
    st.binary(max_size=300),
)
def test_arbitrary_bytes_give_packets_or_one_error(start: bytes, content: bytes) -> None:
    """Also behind a sound beginning."""
    found, _ = outcome(start + content)
    assert sum(len(data) for _, _, data, _ in found) <= len(start + content)


@QUICK
@given(
    st.sampled_from(SEEDS),
    st.lists(st.tuples(st.integers(0, 400), st.integers(0, 255)), min_size=1, max_size=3),
    st.integers(0, 400),
)
def test_spoilt_files_give_packets_or_one_error(seed: bytes, spoils: list[tuple[int, int]], cut_to: int) -> None:
    """A few wrong bytes and an early end: counts are those of the packets."""
    content = bytearray(seed)
    for at, value in spoils:
        content[at % len(content)] = value
    outcome(bytes(content[:cut_to]))


@QUICK
@given(
    st.lists(DATA, max_size=10),
    st.sampled_from("<>"),
    st.sampled_from([1, 1000]),
    st.integers(1, 65535),
)
def test_pcap_that_scapy_writes_is_read(content: list[bytes], order: str, unit_ns: int, linktype: int) -> None:
    """Bytes, times, lengths and link type are what was written."""
    file = BytesIO()
    writer = RawPcapWriter(file, linktype=linktype, endianness=order, nano=unit_ns == 1)
    writer.write_header(None)
    for number, data in enumerate(content):
        writer.write_packet(data, sec=SECONDS, usec=number, wirelen=len(data) + number)
    assert list(PacketReader(BytesIO(file.getvalue()))) == [
        (SECONDS * 10**9 + number * unit_ns, linktype, data, len(data) + number) for number, data in enumerate(content)
    ]


@QUICK
@given(st.lists(DATA, max_size=10))
def test_pcapng_that_scapy_writes_is_read(content: list[bytes]) -> None:
    """Bytes, times and lengths are what was written."""
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "capture.pcapng")
        writer = RawPcapNgWriter(str(path))
        writer.linktype = 1
        writer.write_header(None)
        for number, data in enumerate(content):
            # scapy writes whole seconds.
            writer.write_packet(data, sec=SECONDS + number, wirelen=len(data) + number)
        writer.close()
        written = path.read_bytes()
    assert list(PacketReader(BytesIO(written))) == [
        ((SECONDS + number) * 10**9, 1, data, len(data) + number) for number, data in enumerate(content)
    ]
