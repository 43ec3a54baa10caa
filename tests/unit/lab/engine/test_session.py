"""The start and the end of a session, on fake engines."""

from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

import pytest

from tests.support.fake_api import ALIVE, DEAD, FakeApi
from tuneproof.errors import LabError
from tuneproof.lab.engine import session as module
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.session import session_on


class FakeReaper(AbstractContextManager["FakeReaper"]):
    """Records its settings at its end."""

    ended: list[tuple[str, bool]]

    def __init__(self, _session: Session, *, engine: str) -> None:
        self._engine = engine
        self.looks_on = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.ended.append((self._engine, self.looks_on))


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_session_removes_dead_ones_first_and_its_own_resources_last(
    monkeypatch: pytest.MonkeyPatch, *, is_interrupted: bool, fails: bool
) -> None:
    """On all of its engines, however it ends; resources of a live session stay."""
    monkeypatch.setattr(FakeReaper, "ended", [], raising=False)
    monkeypatch.setattr(module, "Reaper", FakeReaper)
    engines = {"": FakeApi(), "far": FakeApi()}
    for api in engines.values():
        api.add("container", "left", DEAD.labels)
        api.add("network", "theirs", ALIVE.labels)
    clients: Any = {name: api.client for name, api in engines.items()}
    with (
        pytest.raises(LabError, match="no lab") if fails else nullcontext(),
        session_on(clients, looks_on=lambda: is_interrupted) as session,
    ):
        for api in engines.values():
            assert api.names() == {"theirs"}
            api.add("container", "own", session.labels)
        if fails:
            raise LabError("no lab")
    assert [api.names() for api in engines.values()] == [{"theirs"}] * 2
    assert FakeReaper.ended == [("far", is_interrupted), ("", is_interrupted)]
