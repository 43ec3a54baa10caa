"""What a lease prints is waited for only so long, on an engine that exists only here."""

from types import SimpleNamespace
from typing import Any

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.engine import lease
from tuneproof.lab.engine.lease import Lease


class Engine:
    """One whose container prints a line after 100 s, while somebody who waits for it sleeps."""

    def __init__(self) -> None:
        self.api = self
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, _seconds: float) -> None:
        self.now_s += 1

    def logs(self, _container: str) -> bytes:
        return b"{}\n" if self.now_s >= 100 else b""

    def inspect_container(self, _container: str) -> dict[str, Any]:
        return {"State": {"Running": True}}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Engine()
    monkeypatch.setattr(lease, "time", SimpleNamespace(monotonic=made.monotonic, sleep=made.sleep))
    return made


def test_what_a_lease_prints_is_not_waited_for_without_end(engine: Any) -> None:
    with pytest.raises(LabError, match="printed nothing"):
        Lease(engine, "c0ffee", patience=1).printed()


def test_a_slow_engine_may_take_longer(engine: Any) -> None:
    assert Lease(engine, "c0ffee", patience=3).printed() == "{}\n"
