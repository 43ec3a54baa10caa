"""Captures written by scapy, with known wrong bits."""

import io
from collections.abc import Iterable

import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import RawPcapWriter

from tests.support.probe_capture import Arrivals, corruption_faults
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile

UNPADDED_BYTES = 14 + 20 + 8 + 24
PAYLOAD_BYTES = 1000
FRAME_BYTES = 42 + PAYLOAD_BYTES


def probe(number: int, *, wrong_byte: int | None = None) -> bytes:
    payload = number.to_bytes(8, "big") + b"\x07" * 16
    packet = (
        Ether(src="02:74:70:01:01:01", dst="02:74:70:02:02:02")
        / IP(src="172.17.0.2", dst="172.17.0.3")
        / UDP(sport=40001, dport=7450)
        / payload.ljust(PAYLOAD_BYTES, b"\0")
    )
    frame = bytearray(bytes(packet))
    if wrong_byte is not None:
        frame[wrong_byte] ^= 1 << number % 8
    return bytes(frame)


def arrivals(frames: Iterable[bytes], *, snap_bytes: int = 2048) -> Arrivals:
    """Count the probes in a capture of these frames."""
    file = io.BytesIO()
    writer = RawPcapWriter(file, linktype=1, snaplen=snap_bytes)
    writer.write_header(None)
    for frame in frames:
        writer.write_packet(frame[:snap_bytes], sec=1, usec=0, wirelen=len(frame))
    return Arrivals.of(file.getvalue(), payload_bytes=PAYLOAD_BYTES)


def test_a_wrong_bit_is_counted_anywhere_in_the_padding() -> None:
    """A frame of another length is not a probe, and does not count."""
    for byte in (*range(UNPADDED_BYTES - 10, UNPADDED_BYTES + 10), FRAME_BYTES - 1):
        seen = arrivals([probe(0), probe(1, wrong_byte=byte), probe(2), probe(3) + b"\1"])
        assert (seen.arrived, seen.corrupted) == (3, int(byte >= UNPADDED_BYTES)), byte
    assert arrivals([]).arrived == 0
    assert arrivals([]).padded_share == pytest.approx(976 / 1042)


def test_truncated_probes_are_rejected() -> None:
    """A wrong bit in the missing part would not be counted."""
    with pytest.raises(ValueError, match="probes are cut to less than 1042 bytes"):
        arrivals([probe(0)], snap_bytes=1041)


@pytest.mark.parametrize(("corrupted", "wrong"), [(9, True), (10, False), (32, False), (33, True)])
def test_a_share_beyond_its_limits_is_reported_by_direction(corrupted: int, *, wrong: bool) -> None:
    """If each of 1000 probes gets a wrong bit with 2 % probability, between 10 and 32 do in 99 % of all cases."""
    seen = Arrivals(arrived=1000, corrupted=corrupted, padded_share=1.0)
    profile = LinkProfile(egress=Impairment(corrupt_pct=2))
    text = f"egress: {corrupted} of 1000 probes captured with a wrong bit, wanted 10 to 32"
    assert corruption_faults(profile, {"egress": seen}, error_probability=0.01) == ([text] if wrong else [])
