"""The start and the end of a session, on fake engines."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import pytest

from tests.support.fake_api import ALIVE, DEAD, FakeApi
from tuneproof.errors import LabError
from tuneproof.lab.engine import session as module
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.session import session_on


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_session_first_removes_dead_sessions_and_finally_its_own_resources(
    monkeypatch: pytest.MonkeyPatch, *, is_interrupted: bool, fails: bool
) -> None:
    """Both happen on every engine of the session, however the session ends; a live session's resources stay."""
    ended = []

    @contextmanager
    def reaper(_session: Session, *, engine: str, continues: Callable[[], bool]) -> Iterator[None]:
        try:
            yield
        finally:
            ended.append((engine, continues()))

    monkeypatch.setattr(module, "reaper", reaper)
    engines = {"": FakeApi(), "far": FakeApi()}
    for api in engines.values():
        api.add("container", "left", DEAD.labels)
        api.add_lease(DEAD, "exited")
        api.add("network", "theirs", ALIVE.labels)
    clients: Any = {name: api.client for name, api in engines.items()}
    with (
        pytest.raises(LabError, match="no lab") if fails else nullcontext(),
        session_on(clients, continues=lambda: is_interrupted) as session,
    ):
        for api in engines.values():
            assert api.names() == {"theirs"}
            api.add("container", "own", session.labels)
        if fails:
            raise LabError("no lab")
    assert [api.names() for api in engines.values()] == [{"theirs"}] * 2
    assert ended == [("far", is_interrupted), ("", is_interrupted)]
