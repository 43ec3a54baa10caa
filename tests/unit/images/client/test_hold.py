"""Connections that are held, against a stand-in for nginx."""

import resource
import socket
import threading
import time
from pathlib import Path

import pytest

from images.client.loadgen import crowds
from images.client.loadgen.crowds import Holder
from tests.support.fake_nginx import Behaviour, FakeNginx
from tuneproof.lab.protocol.loadgen import Held


def held(holder: Holder, port: int, path: str, count: int) -> Held:
    return holder.hold("127.0.0.1", port, path, count)


def test_connections_are_held_between_calls_until_they_are_released() -> None:
    """The first call starts more than one burst of connections."""
    holder = Holder()
    with FakeNginx(Behaviour(small_bytes=100)) as server:
        first = held(holder, server.port, "/small.bin", 300)
        second = held(holder, server.port, "/small.bin", 5)
        server.wait_for_open(305)
        assert [request.trial for request in server.requests].count("hold") == 305
        holder.release()
        server.wait_for_open(0)
    assert (first.held, first.failed, second.held, second.failed) == (300, {}, 305, {})
    assert 1 << 20 < first.rss_bytes < 1 << 30
    holder.release()


def test_at_most_a_burst_of_connections_awaits_responses_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crowds, "_BURST", 2)
    holder = Holder()
    with FakeNginx(Behaviour(delays_s={11: 0.1, 12: 0.1})) as server:
        began_s = time.monotonic()
        answer = held(holder, server.port, "/small.bin", 6)
        assert time.monotonic() - began_s >= 0.3
        holder.release()
    assert answer.held == 6


def test_connections_with_a_status_other_than_200_are_failures_and_are_closed() -> None:
    holder = Holder()
    with FakeNginx(Behaviour(statuses={"/small.bin": 503})) as server:
        answer = held(holder, server.port, "/small.bin", 3)
        server.wait_for_open(0)
    assert (answer.held, answer.failed) == (0, {"HTTP 503": 3})


def test_a_few_failures_do_not_disturb_the_others() -> None:
    """Of an endless download, the headers and at most the start of the body are read."""
    holder = Holder()
    with FakeNginx(Behaviour(hanging_up=(12,))) as server:
        answer = held(holder, server.port, "/bulk.bin", 4)
        assert (answer.held, answer.failed) == (2, {"closed": 2})
        holder.release()
        server.wait_for_open(0)


@pytest.mark.parametrize("answer", [b"SSH-2.0-OpenSSH\r\n\r\n", b"x" * 20_000])
def test_a_response_that_is_not_http_is_a_failure(answer: bytes) -> None:
    """Such a response comes from a wrong port, or has endless headers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def talk() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(4096)
                connection.sendall(answer)
                listener.accept()[0].close()

        thread = threading.Thread(target=talk)
        thread.start()
        answered = held(Holder(), listener.getsockname()[1], "/", 1)
        socket.create_connection(listener.getsockname()).close()
        thread.join()
    assert (answered.held, answered.failed) == (0, {"not HTTP": 1})


def test_connections_that_the_server_closes_later_are_no_longer_held() -> None:
    holder = Holder()
    with FakeNginx(Behaviour(probes=1)) as server:
        first = held(holder, server.port, "/probe", 2)
        server.wait_for_open(0)
        second = held(holder, server.port, "/probe", 0)
    assert (first.failed, second.held, second.failed) == ({}, 0, {})
    holder.release()


def test_a_lack_of_descriptors_is_counted() -> None:
    """Some connections start and get no response; for the others, there is no descriptor."""
    holder = Holder(timeout_s=0.2)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with socket.create_server(("127.0.0.1", 0), backlog=64) as listener:
        highest = max(int(path.name) for path in Path("/proc/self/fd").iterdir())
        resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 4, hard))
        try:
            answer = held(holder, listener.getsockname()[1], "/", highest + 4)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert answer.held == 0
    assert set(answer.failed) == {"EMFILE", "ETIMEDOUT"}
    assert sum(answer.failed.values()) == highest + 4


def test_the_programs_memory_is_reported_in_bytes() -> None:
    """VmRSS in /proc/self/status has the same figure in kB of 1024 bytes (proc(5))."""
    rss_bytes = held(Holder(), 9, "/", 0).rss_bytes
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    (resident,) = (line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    assert rss_bytes == pytest.approx(int(resident) * 1024, rel=0.1)
