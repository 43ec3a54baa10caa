"""The loop probe shows the lag of a slow worker, and only on that worker."""

import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from images.client.loadgen import probe as probe_module
from images.client.loadgen.probe import probe
from tests.support.fake_nginx import PROBE, Behaviour, FakeNginx, placed
from tuneproof.lab.protocol.stall import ProbeSamples

if TYPE_CHECKING:
    import socket

DELAY_S = 0.03
ANSWER = b"HTTP/1.1 200 OK\r\nX-Worker: 11\r\nContent-Length: 2\r\n\r\nok"
NEVER_S = float("inf")
PAUSE_S = 0.004


class Workers:
    """A machine with a simulated clock, which advances in select(); every worker answers after its delay."""

    def __init__(self) -> None:
        self.now_s = 100.0

    def monotonic(self) -> float:
        return self.now_s

    def select(
        self, readers: Sequence["Worker"], _writers: object, _failed: object, timeout_s: float
    ) -> tuple[list["Worker"], list[object], list[object]]:
        """Wait for the first response or the timeout; return the connections with a response."""
        assert timeout_s >= 0
        first_s = min((worker.answers_at_s for worker in readers), default=NEVER_S)
        self.now_s = max(self.now_s, min(first_s, self.now_s + timeout_s))
        return [worker for worker in readers if worker.answers_at_s <= self.now_s], [], []


class Worker:
    def __init__(self, machine: Workers, delay_s: float, *, pause_every: int = 0) -> None:
        self._machine = machine
        self._delay_s = delay_s
        self._pause_every = pause_every
        self.requests = 0
        self.answers_at_s = NEVER_S

    def sendall(self, request: bytes) -> None:
        """Send a request; sometimes the machine stops while sending, as if its CPU had been taken away."""
        assert request == PROBE
        assert self.answers_at_s == NEVER_S, "a probe was sent before the previous response arrived"
        self.requests += 1
        if self._pause_every and self.requests % self._pause_every == 0:
            self._machine.now_s += PAUSE_S
        self.answers_at_s = self._machine.now_s + self._delay_s

    def recv(self, _most_bytes: int) -> bytes:
        assert self.answers_at_s <= self._machine.now_s
        self.answers_at_s = NEVER_S
        return ANSWER


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Workers:
    machine = Workers()
    monkeypatch.setattr(probe_module, "time", machine)
    monkeypatch.setattr(probe_module, "select", machine)
    # The simulated kernel does not stamp arrivals.
    stamps = SimpleNamespace(arrived_s=lambda _connection, *, seen_s: seen_s)
    monkeypatch.setattr(probe_module, "ArrivalStamps", lambda _connections: stamps)
    return machine


def probed(machine: Workers, *delays_s: float, window_s: float) -> list[ProbeSamples]:
    """Probe workers with these delays every 10 ms over a window that begins in 10 ms."""
    start_s = machine.now_s + 0.01
    connections = {pid: Worker(machine, delay_s) for pid, delay_s in enumerate(delays_s, start=11)}
    samples = probe(
        cast("dict[int, socket.socket]", connections),
        start_s=start_s,
        end_s=start_s + window_s,
        interval_s=0.01,
        request=PROBE,
    )
    assert list(samples) == list(connections)
    return list(samples.values())


def test_a_delay_appears_only_on_its_worker(machine: Workers) -> None:
    """Every lag is the worker's own delay. The other worker's ticks are on time."""
    delayed, other = probed(machine, DELAY_S, 0.001, window_s=0.3)
    assert delayed.lag_ms == pytest.approx([30] * len(delayed.lag_ms))
    assert other.lag_ms == pytest.approx([1] * 30)
    assert other.late_ms == pytest.approx([0] * 30)
    assert other.at_ms == pytest.approx([5 + 10 * tick for tick in range(30)])


def test_each_tick_is_either_answered_or_missed(machine: Workers) -> None:
    """No probe is queued while a response is outstanding."""
    (samples,) = probed(machine, 0.025, window_s=0.3)
    assert samples.at_ms == pytest.approx([30 * number for number in range(10)])
    assert (len(samples.lag_ms), len(samples.late_ms), samples.missed_ticks) == (10, 10, 20)


def test_a_probe_outstanding_at_the_end_counts_with_its_whole_lag(machine: Workers) -> None:
    """Otherwise the longest stalls would be lost. The ticks until the response count as missed."""
    delayed, other = probed(machine, 0.153, 0.001, window_s=0.05)
    assert delayed.lag_ms == pytest.approx([153])
    assert delayed.missed_ticks == 15
    assert len(other.lag_ms) == 5


def test_a_probe_interrupted_while_sending_is_left_out(machine: Workers) -> None:
    """The time at which it was sent is unknown, and so is its lag. The other probes are not affected."""
    worker = Worker(machine, 0.001, pause_every=3)
    (samples,) = probe(
        cast("dict[int, socket.socket]", {11: worker}),
        start_s=machine.now_s,
        end_s=machine.now_s + 0.3,
        interval_s=0.01,
        request=PROBE,
    ).values()
    assert (worker.requests, len(samples.lag_ms)) == (30, 20)
    assert samples.lag_ms == pytest.approx([1] * 20)
    assert len(samples.wake_ms) == len(samples.at_ms) == 20


def test_the_probe_waits_for_an_unresponsive_worker_until_two_seconds_after_the_end(machine: Workers) -> None:
    began_s = machine.now_s
    with pytest.raises(ConnectionError, match="unanswered for two seconds after the trial's window"):
        probed(machine, 0.001, NEVER_S, window_s=0.3)
    assert 2.31 < machine.now_s - began_s < 2.37


def test_a_worker_that_closes_the_probes_connection_is_an_error() -> None:
    """A worker that has ended must not look like a fast one."""
    with FakeNginx(Behaviour(probes=2)) as server, placed(server, 0, 0) as found:
        connections = {pid: each[0] for pid, each in found.items()}
        start_s = time.monotonic()
        with pytest.raises(ConnectionError):
            probe(connections, start_s=start_s, end_s=start_s + 1, interval_s=0.01, request=PROBE)
