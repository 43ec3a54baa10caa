"""Flows are summarised by service, in limited memory, and become figures."""

import random
from dataclasses import replace
from operator import attrgetter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.segments import CLIENT, SERVER, Conversation, end, get, ok, records
from tuneproof.explain.parse.capture.capture_summary import CaptureSummary, figures, summarise
from tuneproof.explain.parse.capture.decode import RST, SYN
from tuneproof.explain.parse.capture.durations import Durations
from tuneproof.explain.parse.capture.records import Endpoint, FlowRecord, Side
from tuneproof.explain.parse.figures import MOST_FIGURES, Figure, distribution


def flow(number: int = 0, *, port: int = 80, **fields: object) -> FlowRecord:
    client = Endpoint(address="10.0.0.1", port=number)
    server = Endpoint(address="10.0.0.2", port=port)
    return FlowRecord(client=client, server=server, **fields)  # type: ignore[arg-type]  # differ in each test


def test_percentiles_are_within_half_a_percent_of_the_exact_ones() -> None:
    chance = random.Random(1)  # noqa: S311  # a fixed sample
    values_s = [chance.lognormvariate(-6, 2) for _ in range(20_000)]
    exact = distribution(round(value_s * 1e9) / 1e9 for value_s in values_s)
    whole, half = Durations(values_s), Durations(values_s[:9_000])
    half.merge(Durations(values_s[9_000:]))
    found = whole.distribution()
    assert exact is not None
    assert found is not None
    assert half.distribution() == found
    assert (found.count, found.minimum, found.maximum) == (exact.count, exact.minimum, exact.maximum)
    assert found.mean == pytest.approx(exact.mean)
    for figure in map(attrgetter, ("median", "p90", "p99")):
        assert figure(found) == pytest.approx(figure(exact), rel=0.005)


def test_an_empty_distribution_is_none_and_negative_times_are_zero() -> None:
    """A clock that was set back does not cause a negative duration."""
    durations = Durations()
    assert durations.distribution() is None
    durations.add_ns(-5)
    found = durations.distribution()
    assert found is not None
    assert (found.minimum, found.median, found.maximum) == (0.0, 0.0, 0.0)


def test_flows_are_added_up_by_service() -> None:
    talk = Conversation()
    talk.handshake()
    talk.send(CLIENT, get())
    talk.send(SERVER, ok(), after_s=0.5)
    talk.send(CLIENT, seq=999)
    refused = Conversation(client=end("10.0.0.1", 40_001), segments=talk.segments, now_s=1.0)
    refused.send(refused.client, flags=SYN)
    refused.send(refused.client, flags=SYN, seq=1000, after_s=1.0)
    refused.send(SERVER, flags=RST)
    other = Conversation(server=end("10.0.0.2", 81), segments=talk.segments, now_s=3.0)
    other.handshake()
    summary = summarise(records(talk.segments))
    assert (summary.tcp_segments, summary.flows) == (12, 3)
    assert summary.duration_s == pytest.approx(3.012)
    first, second = summary.services
    assert (str(first.server), first.flows, first.handshakes) == ("10.0.0.2:80", 2, {"complete": 1, "refused": 1})
    assert (first.refused, first.syn_retransmitted_flows) == (1, 1)
    assert (first.requests, first.from_server.data_segments) == (1, 1)
    assert first.clients == {"10.0.0.1"}
    assert first.response_s is not None
    assert first.response_s.mean == pytest.approx(0.5)
    assert first.syn_retransmission_delay_s is not None
    assert (str(second.server), second.flows, second.response_s) == ("10.0.0.2:81", 1, None)


def test_the_share_of_retransmissions_refers_to_segments_with_data() -> None:
    lossy_flow = flow(
        from_client=Side(packets=900, data_segments=10, retransmitted_segments=1),
        from_server=Side(packets=90, data_segments=30, retransmitted_segments=1),
    )
    [lossy] = summarise([lossy_flow]).services
    [silent] = summarise([flow()]).services
    assert (lossy.retransmission_share, silent.retransmission_share) == (0.05, None)


def test_a_client_that_left_counts_once() -> None:
    before = flow(client_left_before_response=True)
    inside = flow(client_left_before_response=True, client_left_in_response=True)
    [service] = summarise([before, inside, flow()]).services
    assert (service.client_left_before_response, service.client_left_in_response) == (1, 1)


def test_only_windows_that_clients_closed_count() -> None:
    """A server closes its window when it does not read an upload."""
    closed = Side(packets=1, zero_windows=1)
    [service] = summarise([flow(from_client=closed), flow(from_server=closed), flow()]).services
    assert service.zero_window_flows == 1


def test_only_the_64_busiest_services_are_kept() -> None:
    scan = [flow(port=1000 + port, handshake="refused") for port in range(3000)]
    summary = summarise([*scan, *(flow(number) for number in range(10))])
    assert (len(summary.services), summary.services[0].flows, summary.services[0].server.port) == (64, 10, 80)
    assert summary.flows == 3010


def test_figures_are_few_and_in_order() -> None:
    assert figures(CaptureSummary()) == (
        Figure(key="tcp_segments", name="TCP segments", value=0),
        Figure(key="connections", name="connections", value=0),
        Figure(key="duration_s", name="duration", value=0.0, unit="s"),
    )
    talk = Conversation()
    talk.handshake()
    names = [figure.name for figure in figures(summarise(records(talk.segments)))]
    assert names[3:] == [
        "connections to 10.0.0.2:80",
        "  handshake, median",
        "  handshake, p99",
        "  retransmitted data segments",
    ]
    troubles = [
        flow(
            port=port,
            handshake_s=1.0,
            exchanges=1,
            response_times=Durations([1.0]),
            handshake="refused",
            syn_retransmissions=(1.0,),
        )
        for port in (80, 81)
    ] * 2
    troubles += [flow(port=port, handshake="half-open", client_left_before_response=True) for port in (80, 81)]
    shown = figures(replace(summarise(troubles), truncated="cut", malformed={"x": 1}))
    assert len(shown) <= MOST_FIGURES
    assert Figure(key="refused", name="  SYNs refused", value=2, of="10.0.0.2:80") in shown


@settings(derandomize=True)
@given(start=st.integers(0, 2**32 - 1), cuts=st.lists(st.integers(2, 3000), min_size=1, max_size=30), data=st.data())
def test_only_repeated_segments_are_retransmissions_for_any_initial_sequence_number(
    start: int, cuts: list[int], data: st.DataObject
) -> None:
    talk = Conversation(seqs=(start, 5))
    for size in cuts:
        talk.send(CLIENT, bytes(size))
    [record] = records(talk.segments)
    assert (record.from_client.retransmitted_segments, record.from_client.out_of_order_segments) == (0, 0)
    again = data.draw(st.sampled_from(talk.segments))
    [record] = records([*talk.segments, (talk.segments[-1][0] + 10**9, *again[1:])])
    assert record.from_client.retransmitted_segments == 1
