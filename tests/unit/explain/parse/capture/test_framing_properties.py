"""Captures that scapy writes are read back unchanged."""

import tempfile
from io import BytesIO
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from scapy.utils import RawPcapNgWriter, RawPcapWriter

from tests.support.capture_files import SECONDS
from tuneproof.explain.parse.capture.framing import PacketReader

QUICK = settings(max_examples=200, database=None, derandomize=True)
DATA = st.binary(max_size=100)


@QUICK
@given(
    st.lists(DATA, max_size=10),
    st.sampled_from("<>"),
    st.sampled_from([1, 1000]),
    st.integers(1, 65535),
)
def test_a_pcap_written_by_scapy_is_read(content: list[bytes], order: str, unit_ns: int, linktype: int) -> None:
    file = BytesIO()
    writer = RawPcapWriter(file, linktype=linktype, endianness=order, nano=unit_ns == 1)
    writer.write_header(None)
    for number, data in enumerate(content):
        writer.write_packet(data, sec=SECONDS, usec=number, wirelen=len(data) + number)
    reader = PacketReader(BytesIO(file.getvalue()))
    assert list(reader) == [
        (SECONDS * 10**9 + number * unit_ns, linktype, data, len(data) + number) for number, data in enumerate(content)
    ]
    assert (reader.format, reader.packets, reader.truncated) == ("pcap", len(content), None)
    assert reader.snapped_packets == max(0, len(content) - 1)


@QUICK
@given(st.lists(DATA, max_size=10))
def test_a_pcapng_written_by_scapy_is_read(content: list[bytes]) -> None:
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
