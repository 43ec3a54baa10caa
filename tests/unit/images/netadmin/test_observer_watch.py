"""The samples that the observer takes in the background at a steady rate."""

import threading
import time
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from images.netadmin.netadmin import observer as observer_module
from images.netadmin.netadmin.observer import Observer, Watch
from tests.support.fake_kernel import LISTEN, PORT, STATM_RSS_BYTES, FakeDiag, Proc, entry, remote
from tests.support.joined import refused
from tuneproof.lab.protocol.observer import WatchSample


@pytest.fixture
def one_sample(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sample so rarely that only the first sample is taken."""
    monkeypatch.setattr(observer_module, "_SAMPLE_EVERY_S", 60.0)


def test_a_watch_samples_from_its_start_to_its_end(proc: Proc) -> None:
    """Samples contain the time, memory and queues. Another watch may start afterwards, with another port."""
    proc.add_nginx()
    diag = FakeDiag(entry(LISTEN, PORT, receive=3))
    observer = Observer(diag.open, proc=proc.folder)
    before_s = time.monotonic()
    remote(observer).watch(PORT)
    # Each sample queries both address families.
    while len(diag.asked) < 2 * 3 and time.monotonic() < before_s + 30:
        time.sleep(0.001)
    samples = remote(observer).watched()
    times_s = [sample.at_s for sample in samples]
    assert len(samples) >= 3
    assert times_s == sorted(times_s)
    assert before_s <= times_s[0]
    assert times_s[-1] <= time.monotonic()
    assert all((sample.rss_bytes, sample.queued) == ((STATM_RSS_BYTES,) * 2, 3) for sample in samples)
    remote(observer).watch(9000)
    assert remote(observer).watched()[0].queued == 0


def watch_of(sample: Callable[[], WatchSample]) -> Watch:
    @contextmanager
    def sampling() -> Iterator[Callable[[], WatchSample]]:
        yield sample

    return Watch(sampling)


class FakeTime:
    """A clock that advances only during waits, and the event for which a watch waits."""

    def __init__(self, *, waits: int, early_s: float = 0.0) -> None:
        self.now_s = 100.0
        self._early_s = early_s
        self._waits_left = waits

    def monotonic(self) -> float:
        return self.now_s

    def wait(self, timeout_s: float) -> bool:
        assert timeout_s > 0
        self.now_s += timeout_s - self._early_s
        self._waits_left -= 1
        return self._waits_left == 0

    def set(self) -> None:
        """Do nothing: the watch ends with the last wait."""


@pytest.mark.parametrize(
    ("early_s", "durations_s", "times_s"),
    [
        (0.0, [0.01, 0.03, 0.0, 0.01], [0.0, 0.05, 0.1, 0.15]),
        (0.0, [0.0, 0.12, 0.0, 0.0], [0.0, 0.05, 0.2, 0.25]),
        (0.001, [0.0, 0.0, 0.0, 0.0], [0.0, 0.049, 0.099, 0.149]),
    ],
    ids=["steady", "slow-sample", "early-waits"],
)
def test_a_watch_keeps_its_schedule(
    early_s: float, durations_s: list[float], times_s: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The duration of a sample does not delay later ones. Missed samples are not taken later."""
    fake = FakeTime(waits=len(times_s), early_s=early_s)
    monkeypatch.setattr(observer_module, "time", fake)
    threads = types.SimpleNamespace(Event=lambda: fake, Thread=threading.Thread)
    monkeypatch.setattr(observer_module, "threading", threads)
    durations = iter(durations_s)

    def sample() -> WatchSample:
        at_s = fake.now_s - 100.0
        fake.now_s += next(durations)
        return WatchSample(at_s=at_s, rss_bytes=(), queued=0)

    samples = watch_of(sample).end()
    assert [sample.at_s for sample in samples] == pytest.approx(times_s)


@pytest.mark.usefixtures("one_sample")
def test_only_one_watch_runs_at_a_time(proc: Proc) -> None:
    observer = Observer(FakeDiag().open, proc=proc.folder)
    assert refused(remote(observer).watched) == "no watch was started"
    remote(observer).watch(PORT)
    assert refused(remote(observer).watch, PORT) == "a watch runs already"
    # The first sample is taken at once, and the end does not wait for the next one.
    assert len(remote(observer).watched()) == 1
    assert refused(remote(observer).watched) == "no watch was started"


@pytest.mark.usefixtures("one_sample")
def test_a_failed_watch_is_reported_at_its_end(proc: Proc) -> None:
    """Otherwise, incomplete samples would count as complete. The next watch is not affected."""
    diag = FakeDiag()
    diag.error = OSError("no buffer space")
    observer = Observer(diag.open, proc=proc.folder)
    remote(observer).watch(PORT)
    assert refused(remote(observer).watched) == "the watch ended early: OSError: no buffer space"
    diag.error = None
    remote(observer).watch(PORT)
    assert len(remote(observer).watched()) == 1
