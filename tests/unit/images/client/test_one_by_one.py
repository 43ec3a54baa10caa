"""The article's test against a stand-in for nginx."""

import itertools
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from images.client.loadgen import one_by_one
from tests.support.closed_ports import closed_port
from tests.support.fake_nginx import HANG_S, MORE_THAN_BUFFERED, Behaviour, FakeNginx
from tuneproof.lab.load.waiting import wait_until
from tuneproof.lab.protocol.children import Child
from tuneproof.lab.protocol.loadgen import Round, RoundSeen

# The threads of FakeNginx hold no lock that a forked load needs.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def run_round(port: int, **changes: Any) -> RoundSeen:
    """By default, run five fast requests next to two bulk downloads."""
    quick: dict[str, Any] = {
        "fast_path": "/small.bin",
        "requests": 5,
        "timeout_s": HANG_S,
        "bulk_path": "/bulk.bin",
        "bulk_downloads": 2,
        "trial": "a-b1",
    }
    return one_by_one.run(Round(address="127.0.0.1", port=port, **{**quick, **changes}))


def wait_for_downloads(monkeypatch: pytest.MonkeyPatch, until: Callable[[Child[Any]], bool]) -> None:
    """Before the first fast request, wait for a condition on the downloads' process, which may get the CPU late."""

    def started(function: Callable[[Connection], object]) -> Child[Any]:
        child = Child(function)
        wait_until(lambda: until(child), "the downloads did not get that far")
        return child

    monkeypatch.setattr(one_by_one, "Child", started)


def have_ended(downloads: Child[Any]) -> bool:
    return downloads.pipe.poll()


def test_fast_requests_run_one_after_another_next_to_the_downloads(monkeypatch: pytest.MonkeyPatch) -> None:
    """The downloads end with the last fast request."""
    with FakeNginx(Behaviour(delays_s={11: 0.02, 12: 0.02})) as server:
        wait_for_downloads(monkeypatch, lambda _: server.endless_bytes > MORE_THAN_BUFFERED)
        answer = run_round(server.port)
        server.wait_for_open(0)
    records = answer.requests
    assert [record.complete for record in records] == [True] * 5
    assert records[0].at_ms >= 0
    for earlier, later in itertools.pairwise(records):
        assert later.at_ms >= earlier.at_ms + earlier.total_ms
    assert answer.bulk_bytes > 1 << 16
    assert answer.bulk_seconds * 1e3 >= records[-1].at_ms + records[-1].total_ms
    assert len(server.workers_asked_for("/bulk.bin")) == 2
    assert {request.trial for request in server.requests} == {"a-b1"}


def test_finished_downloads_are_not_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast requests get no response, and still run one after the other."""
    wait_for_downloads(monkeypatch, have_ended)
    with FakeNginx(Behaviour(bulk_bytes=100_000, silent_paths=("/small.bin",))) as server:
        answer = run_round(server.port, requests=2, timeout_s=0.5)
    assert server.workers_asked_for("/bulk.bin") == [11, 12]
    # The bytes include the responses' headers.
    assert 200_000 < answer.bulk_bytes < 200_400
    assert [(record.complete, record.total_ms >= 500) for record in answer.requests] == [(False, True)] * 2
    last = answer.requests[-1]
    assert 0 < answer.bulk_seconds * 1e3 < last.at_ms + last.total_ms


def test_a_download_with_a_status_other_than_200_is_an_error_with_the_response(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A missing file must not look like a download that has ended early."""
    wait_for_downloads(monkeypatch, have_ended)
    before = len(list(Path("/proc/self/fd").iterdir()))
    with (
        FakeNginx(Behaviour(statuses={"/bulk.bin": 404}, silent_paths=("/small.bin",))) as server,
        pytest.raises(ConnectionError, match=r"bulk download answered with b'HTTP/1\.1 404"),
    ):
        run_round(server.port, requests=1, timeout_s=0.5)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_without_a_listener_no_file_descriptor_stays_open() -> None:
    with closed_port() as port:
        before = len(list(Path("/proc/self/fd").iterdir()))
        with pytest.raises(ConnectionRefusedError):
            run_round(port)
        assert len(list(Path("/proc/self/fd").iterdir())) == before
