"""The wait for a lease's output is limited, with a simulated engine."""

from types import SimpleNamespace
from typing import Any

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.engine import lease
from tuneproof.lab.engine.lease import Lease


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return an engine with a running container that prints a line after 100 s."""
    monkeypatch.setattr(lease, "printed", lambda *_, within_s: "{}\n" if within_s >= 100 else "")
    return SimpleNamespace(api=SimpleNamespace(inspect_container=lambda _container: {"State": {"Running": True}}))


def test_a_lease_without_output_is_reported_after_the_timeout(engine: Any) -> None:
    with pytest.raises(LabError, match="printed nothing"):
        Lease(engine, "c0ffee", patience=1).printed()


def test_a_slow_engine_gets_more_time(engine: Any) -> None:
    assert Lease(engine, "c0ffee", patience=3).printed() == "{}\n"
