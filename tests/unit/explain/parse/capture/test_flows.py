"""Flows are built from segments: handshakes, lost or repeated data, windows, and ends of connections."""

from dataclasses import fields
from itertools import count
from operator import attrgetter
from typing import Any

import pytest

from tests.support.segments import (
    CLIENT,
    SERVER,
    START_NS,
    WINDOW,
    Conversation,
    Send,
    client,
    end,
    get,
    ok,
    only,
    records,
    server,
)
from tuneproof.explain.parse.capture.decode import ACK, FIN, RST, SYN, Segment
from tuneproof.explain.parse.capture.flows import flows
from tuneproof.explain.parse.capture.records import Endpoint, Side

DATA = bytes(1000)


def opened(*, seqs: tuple[int, int] = (1_000, 500_000)) -> Conversation:
    """Return a conversation after its handshake, with a round trip of 12 ms."""
    talk = Conversation(seqs=seqs)
    talk.handshake()
    return talk


def anomalies(side: Side) -> dict[str, float]:
    """Return a side's counts that are not 0, except for those that every healthy side has."""
    usual = {"packets", "data_segments", "payload_bytes"}
    names = (field.name for field in fields(Side) if field.name not in usual)
    return {name: value for name in names if (value := getattr(side, name))}


def test_a_healthy_flow_has_times_and_nothing_repeated() -> None:
    talk = opened()
    talk.send(CLIENT, DATA)
    talk.send(SERVER, DATA)
    talk.send(CLIENT)
    talk.close()
    flow = talk.record()
    assert (flow.client, flow.server) == (
        Endpoint(address="10.0.0.1", port=40000),
        Endpoint(address="10.0.0.2", port=80),
    )
    assert (flow.handshake, flow.evicted, flow.tls) == ("complete", False, False)
    assert flow.handshake_s == pytest.approx(0.012)
    assert flow.syn_to_synack_s == pytest.approx(0.010)
    assert flow.synack_to_ack_s == pytest.approx(0.002)
    assert flow.duration_s == pytest.approx(0.018)
    assert flow.exchanges == 0
    for side, packets in ((flow.from_client, 5), (flow.from_server, 4)):
        assert (side.packets, side.data_segments, side.payload_bytes) == (packets, 1, 1000)
        assert anomalies(side) == {}


# The counts for one segment with bytes that appear a second time.
RESENT = {"retransmitted_segments": 1, "resent_arrived_segments": 1}
OPEN: Send = Conversation.handshake
LOST = (server(DATA, captured=False), server(DATA))


@pytest.mark.parametrize(
    ("steps", "of_client", "of_server"),
    [
        pytest.param((server(DATA), server(DATA), server(DATA, seq=500_001, after_s=0.2)), {}, RESENT, id="lost later"),
        # Lost before the capture: the bytes appear once, but too late for reordering.
        pytest.param(
            (*LOST, server(DATA, seq=500_001, after_s=0.0125)), {}, {"retransmitted_segments": 1}, id="lost before"
        ),
        # A retransmission takes at least a round trip.
        pytest.param(
            (*LOST, server(DATA, seq=500_001, after_s=0.005)), {}, {"out_of_order_segments": 1}, id="out of order"
        ),
        # After two duplicate acknowledgements, even a fast repetition is a retransmission.
        pytest.param(
            (*LOST, *[client(ack=500_001)] * 2, server(DATA, seq=500_001)),
            {"duplicate_acks": 2},
            {"retransmitted_segments": 1},
            id="asked for",
        ),
        # The halves of a gap arrive in reverse order; the first half, sent once more, is a retransmission.
        pytest.param(
            (
                server(DATA * 2, captured=False),
                server(DATA),
                server(DATA, seq=501_001),
                *[server(DATA, seq=500_001)] * 2,
            ),
            {},
            {"out_of_order_segments": 2, **RESENT},
            id="two halves of a gap",
        ),
        # Of 1000 bytes, 400 had been seen before; the next segment does not repeat the 600 new ones.
        pytest.param(
            (server(DATA), server(DATA, seq=500_601, after_s=0.2), server(DATA, seq=501_601)),
            {},
            RESENT,
            id="partly new",
        ),
        # A slow reader's window is closed for 5 s and for 1 s: probes of one byte, and Linux's empty ones, are not
        # data.
        pytest.param(
            (
                server(DATA),
                client(window=0),
                server(b"x", seq=501_001, after_s=2.0),
                client(window=0),
                server(seq=501_000, after_s=2.0),
                client(window=0, after_s=0.5),
                client(after_s=0.499),
                server(DATA),
                client(window=0),
                client(after_s=1.0),
            ),
            {"zero_windows": 4, "zero_window_episodes": 2, "zero_window_s": pytest.approx(6.0)},
            {},
            id="closed twice",
        ),
        # The flow's last segment ends the wait.
        pytest.param(
            (client(window=0), server(seq=500_000, after_s=3.0)),
            {"zero_windows": 1, "zero_window_episodes": 1, "zero_window_s": pytest.approx(3.0)},
            {},
            id="stays closed",
        ),
        # Neither the probe, with or without a byte, nor its answer is a retransmission or a duplicate.
        pytest.param(
            (
                client(DATA),
                server(),
                *(client(seq=2000, after_s=10.0), server()),
                *(client(b"\0", seq=2000, after_s=10.0), server()),
            ),
            {},
            {},
            id="keep-alive",
        ),
        pytest.param((client(flags=FIN | ACK), client(flags=FIN | ACK, seq=1001, after_s=0.2)), {}, {}, id="FIN again"),
    ],
)
def test_retransmitted_out_of_order_and_probe_segments_are_distinguished(
    steps: tuple[Send, ...], of_client: dict[str, float], of_server: dict[str, float]
) -> None:
    """The handshake beforehand took 12 ms; probes and FINs are not data."""
    talk = opened()
    for step in steps:
        step(talk)
    flow = talk.record()
    assert (anomalies(flow.from_client), anomalies(flow.from_server)) == (of_client, of_server)


NONE: tuple[dict[str, float], ...] = ({}, {})
SYN_AGAIN = client(flags=SYN, seq=999, after_s=1.0)


@pytest.mark.parametrize(
    ("steps", "expected"),
    [
        # The accept queue is full: SYNs follow after 1 s and 3 s, and the answer's time counts from the last.
        (
            (
                *(client(flags=SYN, seq=999), SYN_AGAIN, client(flags=SYN, seq=999, after_s=2.0)),
                *(server(flags=SYN | ACK), client(seq=1000)),
            ),
            {"syn_retransmissions": pytest.approx((1.0, 3.0)), "syn_to_synack_s": pytest.approx(0.001)}
            | {"handshake_s": pytest.approx(3.002), "anomalies": NONE},
        ),
        # No TCP stack repeats a SYN within 1 ms.
        ((client(flags=SYN, seq=999), client(flags=SYN, seq=999, after_s=0.0002)), {"syn_retransmissions": ()}),
        # A server with a full accept queue drops the acknowledgement, and sends its SYN/ACK again.
        (
            (OPEN, server(flags=SYN | ACK, seq=500_000, after_s=1.0)),
            {"handshake": "complete", "synack_retransmissions": pytest.approx((1.002,))},
        ),
        # No answer, a SYN/ACK that is not acknowledged, and a refusal are distinguished.
        ((client(flags=SYN),), {"handshake": "unanswered", "handshake_s": None}),
        ((client(flags=SYN), server(flags=SYN | ACK)), {"handshake": "half-open", "handshake_s": None}),
        ((client(flags=SYN), server(flags=RST | ACK)), {"handshake": "refused", "handshake_s": None}),
        # Two SYNs that cross are one flow, and a connection (RFC 9293, 3.5).
        (
            (
                *(client(flags=SYN), server(flags=SYN)),
                *(client(flags=SYN | ACK, seq=1000), server(flags=SYN | ACK, seq=500_000)),
            ),
            {"handshake": "complete", "client.port": 40000, "syn_retransmissions": ()},
        ),
        # A challenge ACK (RFC 5961, 4): the old connection answers, and the client resets it and repeats its SYN.
        (
            (
                *(client(flags=SYN, seq=999), server(seq=77), client(flags=RST)),
                *(SYN_AGAIN, server(flags=SYN | ACK), client()),
            ),
            {"handshake": "complete", "syn_retransmissions": pytest.approx((1.002,))},
        ),
        # With TCP Fast Open, the request in the SYN counts, and its times start with the SYN.
        (
            (client(get(), flags=SYN), server(flags=SYN | ACK), server(ok()), client()),
            {
                "handshake": "complete",
                "exchanges": 1,
                "response_times.total_s": pytest.approx(0.002),
                "anomalies": NONE,
            },
        ),
        # This capture begins after the handshake.
        ((server(DATA), client(), server(DATA)), {"handshake": "not seen", "client.port": 40000, "anomalies": NONE}),
        # A probe for a closed window is not data.
        ((OPEN, client(window=0), server(b"x", seq=500_001)), {"from_server.data_segments": 0}),
        # Like Wireshark, this counts a copy within 1 ms as a retransmission, but also as a suspected copy.
        (
            (OPEN, server(DATA), lambda talk: talk.segments.append(talk.segments[-1])),
            {"from_server.retransmitted_segments": 1, "from_server.suspected_copies": 1},
        ),
        # The client's FIN is acknowledged, the server continues to send, the client resets.
        (
            (OPEN, client(flags=FIN | ACK), server(DATA), client(flags=RST)),
            {"data_after_peer_fin_acked_bytes": 1000, "served_gone_client": True, "reset_after_own_fin": "client"},
        ),
        # A client that sends after the server's FIN, and then resets, was not served after it had gone.
        (
            (OPEN, server(flags=FIN | ACK), client(DATA), client(flags=FIN | ACK), client(flags=RST)),
            {"data_after_peer_fin_acked_bytes": 1000, "served_gone_client": False, "reset_after_own_fin": "client"},
        ),
        # Segments that do not acknowledge the FIN were sent before it arrived.
        ((OPEN, client(flags=FIN | ACK), server(DATA, ack=1001)), {"data_after_peer_fin_acked_bytes": 0}),
        # RFC 9293 allows text in a reset; late segments belong to the same flow.
        (
            (OPEN, server(b"no room", flags=RST | ACK), client(DATA)),
            {"from_server.resets": 1, "from_server.payload_bytes": 7},
        ),
    ],
)
def test_handshakes_probes_copies_and_ends_are_reported(steps: tuple[Send, ...], expected: dict[str, Any]) -> None:
    talk = Conversation()
    for step in steps:
        step(talk)
    flow = talk.record()
    both = (anomalies(flow.from_client), anomalies(flow.from_server))
    assert {name: both if name == "anomalies" else attrgetter(name)(flow) for name in expected} == expected


@pytest.mark.parametrize("kept", [CLIENT, SERVER])
def test_one_direction_alone_shows_no_false_retransmission(kept: bytes) -> None:
    talk = opened()
    for _ in range(20):
        talk.send(CLIENT, DATA)
        talk.send(SERVER, DATA)
    flow = only([segment for segment in talk.segments if segment[1] == kept])
    assert anomalies(flow.from_client) == anomalies(flow.from_server) == {}
    assert (flow.handshake, flow.syn_to_synack_s) == ("complete", None)


def test_without_the_servers_direction_clients_are_not_reported_to_leave_early() -> None:
    """The capture cannot show the response to a client that closes after its request."""
    talk = opened()
    for step in (client(get()), server(ok()), client(flags=ACK | FIN), server(flags=ACK | FIN)):
        step(talk)
    assert talk.record().exchanges == 1
    flow = only([segment for segment in talk.segments if segment[1] == CLIENT])
    assert (flow.exchanges, flow.client_left_before_response) == (0, False)


@pytest.mark.parametrize("order", [(1, 0, 2), (0, 2, 1)])
def test_a_handshake_out_of_order_is_one_flow(order: tuple[int, ...]) -> None:
    """A capture from several queues may contain neighbouring packets in the wrong order."""
    talk = opened()
    flow = only([talk.segments[at] for at in order])
    assert (flow.handshake, flow.client.port, flow.from_server.packets) == ("complete", 40000, 1)


def test_a_new_syn_on_the_same_ports_is_a_new_flow() -> None:
    """The old connection need not have ended."""
    talk = opened()
    talk.close()
    again = Conversation(seqs=(7_000_000, 9_000_000), segments=talk.segments, now_s=1.0)
    again.handshake()
    third = Conversation(seqs=(8_000_000, 1_000_000), segments=talk.segments, now_s=2.0)
    third.handshake()
    assert [(flow.handshake, flow.first_ns - START_NS) for flow in records(talk.segments)] == [
        ("complete", 1_000_000),
        ("complete", 1_001_000_000),
        ("complete", 2_001_000_000),
    ]


def test_a_flow_is_returned_some_time_after_its_end() -> None:
    """It is kept for late segments, and returned before the capture's end to save memory."""
    talk = opened()
    talk.close()
    later = Conversation(client=end("10.0.0.9", 1), now_s=60.0)
    later.handshake()
    segments = iter([*talk.segments, *later.segments])
    assert next(flows(segments)).client.port == 40000
    assert list(segments) == later.segments[1:]


def test_a_flood_of_syns_keeps_few_flows_alive() -> None:
    """The flows that were idle longest are returned first, and marked; an active flow stays."""
    talk = opened()
    segments: list[Segment] = list(talk.segments)
    for number in range(1000):
        address = end(f"172.16.{number // 250}.{number % 250}", 50_000)
        Conversation(client=address, segments=segments, now_s=number / 1000).send(address, flags=SYN)
        talk.segments.clear()
        talk.send(CLIENT, DATA)
        segments += talk.segments
    expected = list(flows(segments, live_flows=100))
    assert len(expected) == 1001
    assert sum(flow.evicted for flow in expected) >= 900
    [active] = [flow for flow in expected if flow.client.port == 40000]
    assert (active.evicted, active.from_client.data_segments) == (False, 1000)


def test_flows_that_have_ended_make_room_first() -> None:
    """Ended flows are complete, so they are not marked as evicted."""
    segments: list[Segment] = []
    for number in range(50):
        talk = Conversation(client=end("10.0.0.3", 1000 + number), segments=segments, now_s=number / 10)
        talk.handshake()
        talk.close()
    expected = list(flows(segments, live_flows=10))
    assert (len(expected), sum(flow.evicted for flow in expected)) == (50, 0)


def test_times_may_be_missing_or_go_backwards() -> None:
    numbers = count(1)
    segments = [
        (0, CLIENT, SERVER, next(numbers) * 1000, 0, flags, WINDOW, 0, b"") for _ in range(3000) for flags in (SYN, RST)
    ]
    expected = list(flows(segments, live_flows=5))
    assert len(expected) == 3000
    talk = Conversation()
    talk.handshake(there_s=-5.0)
    assert (talk.record().syn_to_synack_s, talk.record().handshake_s) == (0.0, 0.0)


def test_only_the_latest_ended_connections_are_kept_for_late_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many short connections in quick succession are not all kept for ten seconds, and none is marked as evicted."""
    monkeypatch.setattr("tuneproof.explain.parse.capture.flows._OVER_FLOWS", 3)
    segments: list[Segment] = []
    for number in range(20):
        talk = Conversation(client=end("10.0.0.3", 1000 + number), segments=segments, now_s=number / 100)
        talk.handshake()
        talk.close()
    read = count()
    expected = flows(segment for segment in segments if next(read) >= 0)
    assert (next(expected).client.port, next(expected).client.port) == (1000, 1001)
    # The first is returned when the fifth begins, since three are kept.
    assert next(read) < 8 * len(segments) // 20
    assert not any(flow.evicted for flow in expected)
