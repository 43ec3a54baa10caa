"""The figures of a capture equal tshark's, or differ in an exactly defined way.

The definitions are Wireshark's (epan/dissectors/packet-tcp.c of 4.0, Debian 12's version), with these differences:

- Wireshark and this project call the same segments either retransmitted or out of order: those with payload below the
  highest sequence number seen. Wireshark calls such a segment out of order if the latest new data came shortly before.
  On a busy flow this is always true, even if the capture contains every byte of the segment already. Here, a segment
  is out of order only if it carries bytes that were never seen, within a round trip, and before two duplicate
  acknowledgements request it.
- Wireshark counts repeated SYNs, SYN/ACKs and FINs as retransmissions. Here, SYNs and SYN/ACKs have separate counts,
  and FINs are not counted, since no payload was lost.
- A segment that looks like a keep-alive probe while the window is closed is a window probe here, since Linux probes
  closed windows in this way.
- The handshake's time begins with the first SYN here, since the client waits from then on; in Wireshark, it begins with
  the last one.
"""

import gzip
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from io import BytesIO
from typing import Final

import pytest

from fixtures.engine import EnsureImages
from tests.lab.crafted_captures import captures
from tests.lab.out_of_order import out_of_order_frames
from tests.lab.tshark import NAME, Frame, by_stream, frames, quic_frames, tshark_spec
from tests.support.places import CAPTURES
from tuneproof.explain.opening import OpenedFile
from tuneproof.explain.parse.capture.capture_summary import read_capture
from tuneproof.explain.parse.capture.decode import SegmentReader
from tuneproof.explain.parse.capture.flows import flows
from tuneproof.explain.parse.capture.framing import PacketReader
from tuneproof.explain.parse.capture.records import Endpoint, FlowRecord, Side
from tuneproof.lab.engine.images import ImageSpec
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.subject.images import ROLES_SUITE
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.lab import Lab

# Slow because tshark takes long to start, once for each capture. Unit tests check these figures on smaller captures.
pytestmark = [pytest.mark.engine, pytest.mark.slow]

QUIC_FILES: Final = {path.name: path.read_bytes() for path in sorted((CAPTURES / "quic").glob("*.pcap.gz"))}
FILES: Final[Mapping[str, bytes]] = {
    **{path.name.removesuffix(".pcap.gz"): path.read_bytes() for path in sorted(CAPTURES.glob("*.pcap.gz"))},
    **captures(),
}


@dataclass(frozen=True, kw_only=True)
class Pair:
    ours: FlowRecord
    theirs: Sequence[Frame]

    @property
    def sides(self) -> Iterator[tuple[Side, Sequence[Frame]]]:
        for end, side in ((self.ours.client, self.ours.from_client), (self.ours.server, self.ours.from_server)):
            yield side, [frame for frame in self.theirs if frame.source == end]


@dataclass(frozen=True, kw_only=True)
class Compared:
    name: str
    pairs: Sequence[Pair]


@pytest.fixture(scope="module")
def tshark(lab_session: Session, ensure: EnsureImages) -> Iterator[LabContainer]:
    """Start a container with tshark and every capture; only these tests need its image."""
    image = ImageSpec(name="tshark", suite=ROLES_SUITE)
    ensure([image])
    with Lab(lab_session) as lab:
        lab.start([tshark_spec(image.tag, {**FILES, **QUIC_FILES})])
        yield lab[NAME]


@pytest.fixture(scope="module")
def read_by_tshark(tshark: LabContainer) -> Mapping[str, list[Frame]]:
    """Return tshark's frames of every capture, by name."""
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        return dict(zip(FILES, pool.map(partial(frames, tshark), FILES), strict=True))


@pytest.fixture(params=FILES, scope="module")
def compared(request: pytest.FixtureRequest, read_by_tshark: Mapping[str, list[Frame]]) -> Compared:
    """Return one capture, with its connections matched by their ends, in the order in which they began."""
    name: str = request.param
    ours: dict[frozenset[Endpoint], list[FlowRecord]] = {}
    for flow in sorted(_flows(name), key=lambda flow: flow.first_ns):
        ours.setdefault(frozenset((flow.client, flow.server)), []).append(flow)
    pairs = [
        Pair(ours=ours[frozenset((stream[0].source, stream[0].destination))].pop(0), theirs=stream)
        for stream in by_stream(read_by_tshark[name])
    ]
    assert not any(ours.values()), "tshark lacks some of the connections"
    return Compared(name=name, pairs=pairs)


def test_segments_resets_and_closed_windows_equal_tsharks(compared: Compared) -> None:
    for pair in compared.pairs:
        for side, theirs in pair.sides:
            kinds = _kinds(theirs)
            assert side.packets == len(theirs)
            assert side.payload_bytes == sum(frame.payload_bytes for frame in theirs)
            assert side.resets == sum(frame.is_reset for frame in theirs)
            assert side.zero_windows == kinds["zero_window"]
            assert side.duplicate_acks == kinds["duplicate_ack"]


def test_syns_and_their_repetitions_equal_tsharks(compared: Compared) -> None:
    """A connection has one SYN and its repetitions, which tshark calls retransmissions."""
    for pair in compared.pairs:
        syns = [frame for frame in pair.theirs if frame.is_syn]
        answers = [frame for frame in pair.theirs if frame.is_syn_ack]
        assert len(pair.ours.syn_retransmissions) == max(len(syns) - 1, 0)
        assert len(pair.ours.synack_retransmissions) == max(len(answers) - 1, 0)
        repeated = _kinds([*syns, *answers])["retransmission"]
        assert repeated == len(pair.ours.syn_retransmissions) + len(pair.ours.synack_retransmissions)


def test_handshakes_take_as_long_as_in_tshark_except_for_repeated_syns(compared: Compared) -> None:
    """The project's handshake begins with the first SYN, so it is longer by the delay of the last repetition."""
    for pair in compared.pairs:
        theirs = next((frame.initial_rtt_s for frame in pair.theirs if frame.initial_rtt_s is not None), None)
        if theirs is None:
            assert pair.ours.handshake_s is None
            continue
        assert pair.ours.handshake_s is not None
        waited_s = pair.ours.syn_retransmissions[-1] if pair.ours.syn_retransmissions else 0.0
        assert pair.ours.handshake_s - waited_s == pytest.approx(theirs, abs=2e-9)


def test_retransmitted_and_out_of_order_segments_together_equal_tsharks(compared: Compared) -> None:
    """Segments without payload, such as FINs and probes, do not count."""
    for pair in compared.pairs:
        for side, theirs in pair.sides:
            again = [frame for frame in theirs if frame.kinds & {"retransmission", "out_of_order"}]
            with_payload = [frame for frame in again if frame.payload_bytes]
            assert side.retransmitted_segments + side.out_of_order_segments == len(with_payload)


def test_out_of_order_segments_equal_tsharks_except_those_seen_or_requested(compared: Compared) -> None:
    """See the module's docstring for the narrower definition of out-of-order segments."""
    for pair in compared.pairs:
        late = out_of_order_frames(pair.theirs)
        for side, theirs in pair.sides:
            assert side.out_of_order_segments == sum(frame.number in late for frame in theirs)


@pytest.mark.parametrize("name", QUIC_FILES)
def test_quic_connections_retries_and_version_negotiations_equal_tsharks(tshark: LabContainer, name: str) -> None:
    with gzip.open(BytesIO(QUIC_FILES[name])) as file:
        services = read_capture(file).quic
    ports = [service.server.port for service in services]
    theirs = quic_frames(tshark, name, ports=ports)
    assert {port for frame in theirs for port in frame.ports} >= set(ports)
    for service in services:
        of_service = [frame for frame in theirs if service.server.port in frame.ports]
        assert service.connections == len({frame.connection for frame in of_service})
        assert service.retried == len({frame.connection for frame in of_service if frame.retries})
        assert service.negotiated == len({frame.connection for frame in of_service if frame.negotiates})


def test_the_captures_contain_every_kind_of_frame(read_by_tshark: Mapping[str, list[Frame]]) -> None:
    """Otherwise, some comparisons above would pass without comparing any frame."""
    found = sum((_kinds(all_frames) for all_frames in read_by_tshark.values()), Counter[str]())
    assert all(found[kind] for kind in ("retransmission", "fast_retransmission", "out_of_order", "duplicate_ack"))
    assert all(found[kind] for kind in ("zero_window", "zero_window_probe", "keep_alive"))
    for kind in ("is_syn", "is_syn_ack", "is_reset"):
        assert any(getattr(frame, kind) for all_frames in read_by_tshark.values() for frame in all_frames), kind


def _flows(name: str) -> Iterator[FlowRecord]:
    return flows(SegmentReader(PacketReader(OpenedFile(BytesIO(FILES[name])).stream)))


def _kinds(some: Sequence[Frame]) -> Counter[str]:
    return Counter(kind for frame in some for kind in frame.kinds)
