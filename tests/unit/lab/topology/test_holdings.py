"""A restarted engine has lost the session's lease and perhaps its lock: both are taken again."""

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
    """A session's engines, here a single one; the clock advances while a session waits for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 0.0
        self.away_until_s = 0.0
        self.did: list[str] = []
        self.told: list[str] = []
        self.restarts = 0
        monkeypatch.setattr(holdings, "time", SimpleNamespace(monotonic=lambda: self.now_s, sleep=self._sleep))
        reached = Reached(engine=Engine(), client=cast("Any", None))
        self.holdings = Holdings([reached], lease=self._lease, lock=self._lock)

    def restart(self, *, away_s: float) -> None:
        self.restarts += 1
        self.away_until_s = self.now_s + away_s

    def _sleep(self, seconds: float) -> None:
        self.now_s += seconds

    def _lease(self, _reached: Reached) -> Any:
        if self.now_s < self.away_until_s:
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
    """One lost response does not mean a restart."""
    with engines.holdings.locked(engines.told.append):
        engines.holdings.take_again(engines.told.append)
    assert (engines.did, engines.told) == (["lease", "lock", "unlock"], ["waiting"])


@pytest.mark.parametrize("is_locked", [True, False], ids=["measuring", "between"])
def test_an_engine_that_comes_back_is_leased_and_locked_again(engines: Engines, *, is_locked: bool) -> None:
    """The user sees how long the run waits for the engine."""
    if is_locked:
        with engines.holdings.locked(engines.told.append):
            engines.restart(away_s=30)
            assert not engines.holdings.are_held()
            engines.holdings.take_again(engines.told.append)
            assert engines.holdings.are_held()
        assert engines.did == ["lease", "lock", "lease", "lock", "unlock", "unlock"]
    else:
        engines.restart(away_s=30)
        engines.holdings.take_again(engines.told.append)
        assert engines.did == ["lease", "lease"]
    assert any(f"waiting for it, {BACK_WITHIN_S:g} s at most" in line for line in engines.told)
    assert engines.now_s == pytest.approx(30, abs=1)


def test_an_engine_that_stays_away_ends_the_run(engines: Engines) -> None:
    engines.restart(away_s=1000)
    with pytest.raises(EngineUnavailableError, match="did not come back within 120 s") as error:
        engines.holdings.take_again(engines.told.append)
    assert error.value.ends_run
    assert engines.now_s == pytest.approx(BACK_WITHIN_S, abs=1)
