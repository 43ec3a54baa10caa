"""Fast requests: the record of each, and their start times."""

import itertools
import time
from types import SimpleNamespace

import pytest

from images.client.loadgen import fast
from images.client.loadgen.fast import FastClient
from tests.support.closed_ports import closed_port
from tests.support.fake_nginx import HANG_S, SMALL, Behaviour, FakeNginx
from tuneproof.lab.protocol.stall import FastRequest


def one_request(address: str, port: int, *, timeout_s: float) -> FastRequest:
    now_s = time.monotonic()
    client = FastClient(address, port, request=SMALL, timeout_s=timeout_s, origin_s=now_s)
    client.run_open_loop(itertools.chain([now_s], itertools.repeat(now_s + 1)), end_s=now_s + 0.001)
    (record,) = client.records
    return record


def test_a_complete_request_records_its_stages_in_order() -> None:
    with FakeNginx(Behaviour(worker_pids=(31,), delays_s={31: 0.02}, small_bytes=3_000_000)) as server:
        record = one_request("127.0.0.1", server.port, timeout_s=HANG_S)
    assert (record.status, record.worker_pid, record.body_bytes, record.complete) == (200, 31, 3_000_000, True)
    assert record.connect_ms is not None
    assert record.first_byte_ms is not None
    assert record.connect_ms < record.first_byte_ms <= record.total_ms
    assert record.first_byte_ms >= 20


def test_an_unanswered_request_ends_at_its_time_limit() -> None:
    """As with ``curl --max-time 1`` in the article, the connection is established and nothing arrives."""
    with FakeNginx(Behaviour(silent_paths=("/small.bin",))) as server:
        record = one_request("127.0.0.1", server.port, timeout_s=0.1)
    assert record.connect_ms is not None
    assert (record.first_byte_ms, record.status, record.worker_pid, record.body_bytes) == (None, None, None, 0)
    assert not record.complete
    assert record.total_ms >= 100


def test_a_truncated_body_is_incomplete() -> None:
    """As in the article's broken transfers, the status is 200, and fewer bytes than announced arrive."""
    with FakeNginx(Behaviour(small_bytes=100_000, small_sent_bytes=70_000)) as server:
        record = one_request("127.0.0.1", server.port, timeout_s=HANG_S)
    assert (record.status, record.body_bytes, record.complete) == (200, 70_000, False)
    assert record.total_ms < HANG_S * 1e3, "the request should end with its connection"


# The kernel refuses the second address, a broadcast address, without sending a packet.
@pytest.mark.parametrize("address", ["127.0.0.1", "255.255.255.255"])
def test_a_refused_connection_has_no_response(address: str) -> None:
    with closed_port() as port:
        record = one_request(address, port, timeout_s=HANG_S)
    assert (record.connect_ms, record.first_byte_ms, record.complete) == (None, None, False)
    assert record.total_ms < HANG_S * 1e3, "the request should end with the refusal"


def test_an_open_loop_starts_requests_on_schedule_even_if_earlier_ones_have_not_ended() -> None:
    """Even without responses, a request starts at each tick. Otherwise, a stall would reduce the number of requests."""
    with FakeNginx(Behaviour(silent_paths=("/small.bin",))) as server:
        origin_s = time.monotonic() + 0.01
        client = FastClient("127.0.0.1", server.port, request=SMALL, timeout_s=0.15, origin_s=origin_s)
        client.run_open_loop((origin_s + tick / 100 for tick in itertools.count()), end_s=origin_s + 0.095)
    assert len(client.records) == 10
    for tick, record in enumerate(client.records):
        assert record.late_ms >= 0
        assert record.at_ms == pytest.approx(10 * tick + record.late_ms, abs=0.01)
        assert record.total_ms >= 150


def test_requests_that_run_one_after_another_never_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock shows how many requests have arrived, so that their number does not depend on the machine."""
    with FakeNginx(Behaviour()) as server:
        monkeypatch.setattr(fast, "time", SimpleNamespace(monotonic=lambda: float(len(server.requests))))
        client = FastClient("127.0.0.1", server.port, request=SMALL, timeout_s=HANG_S, origin_s=0.0)
        client.run_one_after_another(end_s=4.5)
    assert [record.at_ms for record in client.records] == [0, 1000, 2000, 3000, 4000]
    assert all(record.complete for record in client.records)
    for earlier, later in itertools.pairwise(client.records):
        assert later.at_ms >= earlier.at_ms + earlier.total_ms
