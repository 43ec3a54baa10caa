"""The loop probe: a slow worker shows, and only that worker."""

import socket
import statistics
import time
import types
from collections.abc import Callable
from typing import Any

import pytest

from images.client.loadgen import probe as probe_module
from images.client.loadgen.probe import ProbeSamples, probe
from tests.unit.fake_nginx import PROBE, Behaviour, FakeNginx, placed

DELAY_S = 0.03


def measured(behaviour: Behaviour, *, window_s: float) -> tuple[ProbeSamples, ProbeSamples]:
    """Probe workers 11 and 12 every 10 ms over a window."""
    with FakeNginx(behaviour) as server, placed(server, 0, 0) as found:
        start_s = time.monotonic() + 0.01
        samples = probe(
            {pid: connections[0] for pid, connections in found.items()},
            start_s=start_s,
            end_s=start_s + window_s,
            interval_s=0.01,
            request=PROBE,
        )
    assert list(samples) == [11, 12]
    return samples[11], samples[12]


@pytest.mark.parametrize("slow", [11, 12])
def test_a_delay_shows_on_the_worker_that_has_it_and_not_on_the_other(slow: int) -> None:
    """Every lag of the slow worker contains the delay; the other's are a fraction of it."""
    samples = measured(Behaviour(delays_s={slow: DELAY_S}), window_s=0.3)
    delayed, other = samples if slow == 11 else reversed(samples)
    assert min(delayed.lag_ms) >= DELAY_S * 1e3
    assert statistics.median(delayed.lag_ms) > 5 * statistics.median(other.lag_ms)
    assert delayed.missed_ticks > other.missed_ticks


def test_every_tick_is_answered_or_missed() -> None:
    """Nothing is queued while an answer is outstanding, and nothing is forgotten."""
    for samples in measured(Behaviour(delays_s={11: DELAY_S}), window_s=0.2):
        ticks = len(samples.lag_ms) + samples.left_out + samples.missed_ticks
        assert len(samples.at_ms) == len(samples.late_ms) == len(samples.lag_ms)
        # An answer that comes after the window's end counts the ticks until then as missed.
        assert ticks >= 20
        assert all(late >= 0 for late in samples.late_ms)
        assert samples.at_ms == sorted(samples.at_ms)
        assert samples.at_ms[-1] < 200


def test_a_probe_that_is_outstanding_at_the_end_counts_with_its_whole_lag() -> None:
    """The longest stalls would be lost otherwise."""
    delayed, other = measured(Behaviour(delays_s={11: 0.15}), window_s=0.05)
    assert len(delayed.lag_ms) == 1
    assert delayed.lag_ms[0] >= 150
    assert len(other.lag_ms) > 1


class InterruptedSending(socket.socket):
    """A connection whose every third request is on its way for long, as if the CPU had been taken away meanwhile."""

    sent = 0

    def sendall(self, data: Any, flags: int = 0, /) -> None:
        """Send; then be kept from going on."""
        super().sendall(data, flags)
        self.sent += 1
        if self.sent % 3 == 0:
            time.sleep(0.005)


def test_a_probe_whose_sending_was_interrupted_is_left_out_and_counted() -> None:
    """Nobody can tell when it was sent, and so how long its answer took."""
    with FakeNginx(Behaviour()) as server, placed(server, 0, 0) as found:
        plain = found[11][0]
        interrupted = InterruptedSending(fileno=plain.detach())
        start_s = time.monotonic()
        with interrupted:
            samples = probe({11: interrupted}, start_s=start_s, end_s=start_s + 0.2, interval_s=0.01, request=PROBE)[11]
    assert samples.left_out >= interrupted.sent // 3
    assert len(samples.lag_ms) + samples.left_out == interrupted.sent
    assert len(samples.wake_ms) == len(samples.lag_ms) > 0
    assert min(samples.wake_ms) >= 0


def test_a_worker_that_closes_the_probes_connection_is_an_error() -> None:
    """A worker that died must not pass for one that answers quickly."""
    with pytest.raises(ConnectionError):
        measured(Behaviour(probes=2), window_s=1)


def accelerated(factor: float) -> Callable[[], float]:
    """Return a clock that starts with the real one and runs faster."""
    began_s = time.monotonic()
    return lambda: began_s + (time.monotonic() - began_s) * factor


def test_a_worker_that_never_answers_is_given_up_two_seconds_after_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The probe does not wait for ever; its clock runs ten times as fast here."""
    clock = accelerated(10)
    monkeypatch.setattr(probe_module, "time", types.SimpleNamespace(monotonic=clock))
    client, server = socket.socketpair()
    with client, server:
        start_s = clock()
        with pytest.raises(ConnectionError, match="unanswered for two seconds after the trial's window"):
            probe({11: client}, start_s=start_s, end_s=start_s + 0.3, interval_s=0.1, request=PROBE)
    assert clock() - start_s > 2.3
