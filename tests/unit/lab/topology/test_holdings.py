"""After an engine's restart, the session takes its lease and its lock again."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tuneproof.errors import EngineUnavailableError, LabError
from tuneproof.lab.topology import holdings
from tuneproof.lab.topology.holdings import BACK_WITHIN_S, Holdings, Reached
from tuneproof.lab.topology.placed import Engine


class Engines:
    """A session's only engine; the clock advances while the session waits for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.down_until_s = 0.0
        self.did: list[str] = []
        self.reports: list[str] = []
        self.restarts = 0
        monkeypatch.setattr(holdings, "time", SimpleNamespace(monotonic=lambda: self.now_s, sleep=self._sleep))
        reached = Reached(engine=Engine(), client=cast("Any", None))
        self.holdings = Holdings([reached], lease=self._lease, lock=self._lock)

    def restart(self, *, down_s: float) -> None:
        self.restarts += 1
        self.down_until_s = self.now_s + down_s

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def _lease(self, _reached: Reached) -> Any:
        if self.now_s < self.down_until_s:
            raise EngineUnavailableError("refused") if self.now_s % 2 else LabError("shutting down")
        self.did.append("lease")
        made = self.restarts
        return SimpleNamespace(is_held=lambda: self.restarts == made)

    @contextmanager
    def _lock(self, _reached: Reached, report: Callable[[str], None]) -> Iterator[None]:
        report("waiting")
        self.did.append("lock")
        yield
        self.did.append("unlock")


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    return Engines(monkeypatch)


def test_nothing_is_taken_again_if_everything_is_held(engines: Engines) -> None:
    """A lost response does not mean that the engine was restarted."""
    with engines.holdings.locked(engines.reports.append):
        engines.holdings.take_again(engines.reports.append)
    assert (engines.did, engines.reports) == (["lease", "lock", "unlock"], ["waiting"])


@pytest.mark.parametrize("is_locked", [True, False], ids=["locked", "unlocked"])
def test_after_a_restart_the_lease_and_the_lock_are_taken_again(engines: Engines, *, is_locked: bool) -> None:
    if is_locked:
        with engines.holdings.locked(engines.reports.append):
            engines.restart(down_s=30)
            assert not engines.holdings.are_held()
            engines.holdings.take_again(engines.reports.append)
            assert engines.holdings.are_held()
        assert engines.did == ["lease", "lock", "lease", "lock", "unlock", "unlock"]
    else:
        engines.restart(down_s=30)
        engines.holdings.take_again(engines.reports.append)
        assert engines.did == ["lease", "lease"]
    assert any(f"waiting for it, {BACK_WITHIN_S:g} s at most" in line for line in engines.reports)
    assert engines.now_s == pytest.approx(30, abs=1)


def test_an_engine_that_stays_down_ends_the_run(engines: Engines) -> None:
    engines.restart(down_s=1000)
    with pytest.raises(EngineUnavailableError, match="did not come back within 120 s") as error:
        engines.holdings.take_again(engines.reports.append)
    assert error.value.ends_run
    assert engines.now_s == pytest.approx(BACK_WITHIN_S, abs=1)
