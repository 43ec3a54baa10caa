"""Selects out-of-order frames from tshark's reports by the project's definition, which is narrower than tshark's."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tests.lab.tshark import Frame

if TYPE_CHECKING:
    from tuneproof.explain.parse.capture.records import Endpoint

_ASKED_FOR: Final = 2
# The round trip of a connection if the capture lacks its handshake.
_ROUND_TRIP_NS: Final = 3_000_000
_HALF: Final = 2**31


class _Sent:
    """The data that one end has sent so far.

    spans: first and last + 1 of the bytes seen, relative to the end's first byte. firsts: each frame's first byte, also
    relative, and its capture time.
    """

    def __init__(self, first: int) -> None:
        self._first = first
        self.spans: list[tuple[int, int]] = []
        self.firsts: list[tuple[int, int]] = []

    def add(self, frame: Frame) -> None:
        start, end = self._span(frame)
        touching = [span for span in self.spans if span[0] <= end and start <= span[1]]
        self.spans = [span for span in self.spans if span not in touching]
        self.spans.append((min([start, *(low for low, _ in touching)]), max([end, *(high for _, high in touching)])))
        self.firsts.append((start, frame.time_ns))

    def has_all_of(self, frame: Frame) -> bool:
        start, end = self._span(frame)
        return any(low <= start and end <= high for low, high in self.spans)

    def out_of_order_since_ns(self, frame: Frame) -> int:
        """Return when the first frame with later bytes was captured; the time of this frame if there is none."""
        start, _ = self._span(frame)
        return next((time_ns for first, time_ns in self.firsts if first > start), frame.time_ns)

    def _span(self, frame: Frame) -> tuple[int, int]:
        distance = (frame.seq - self._first + _HALF) % 2**32 - _HALF
        return distance, distance + frame.payload_bytes


def out_of_order_frames(frames: Sequence[Frame]) -> set[int]:
    """Return the numbers of the frames of one connection that arrived out of order and were not sent again.

    tshark calls these frames retransmissions or out of order. They carry bytes that were never seen, within a round
    trip after the frame that overtook them, and before two duplicate acknowledgements request the bytes.
    """
    found = set()
    sent: dict[Endpoint, _Sent] = {}
    asked_for: dict[Endpoint, tuple[int, int]] = {}
    round_trip_ns = next(
        (round(frame.initial_rtt_s * 1e9) for frame in frames if frame.initial_rtt_s is not None), _ROUND_TRIP_NS
    )
    for frame in frames:
        asked, times = asked_for.get(frame.destination, (frame.ack, 0))
        ours, _ = asked_for.get(frame.source, (frame.ack, 0))
        if frame.duplicate or ours != frame.ack:
            asked_for[frame.source] = (frame.ack, frame.duplicate)
        if not frame.payload_bytes:
            continue
        before = sent.setdefault(frame.source, _Sent(frame.seq))
        if (
            frame.kinds & {"retransmission", "out_of_order"}
            and not before.has_all_of(frame)
            and frame.time_ns - before.out_of_order_since_ns(frame) < round_trip_ns
            and not (asked == frame.seq and times >= _ASKED_FOR)
        ):
            found.add(frame.number)
        before.add(frame)
    return found
