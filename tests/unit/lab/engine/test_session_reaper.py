"""The reaper notices every end of its session, and searches for resources until no more appear."""

import itertools
import os
import signal
import sys
import types
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest
from docker.errors import DockerException

from tests.support.fake_stage import FakeClock
from tuneproof.lab.engine import session as module
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.session import reap, reaper
from tuneproof.lab.engine.sweep import Removed


@pytest.fixture
def received(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace the reaper with a program that writes its arguments and its input to a file; return the file."""
    path = tmp_path / "received"
    program = tmp_path / "stand-in"
    program.write_text(f'#!/bin/sh\necho "$@" > {path}.part\ncat >> {path}.part\nmv {path}.part {path}\n')
    program.chmod(0o755)
    monkeypatch.setattr(module, "sys", types.SimpleNamespace(executable=str(program)))
    return path


@pytest.mark.parametrize(("engine", "named"), [("", ""), ("big", " big")], ids=["default", "named"])
def test_a_session_that_ends_normally_notifies_the_reaper_and_waits(engine: str, named: str, received: Path) -> None:
    session = Session()
    with reaper(session, engine=engine):
        assert not received.exists(), "the pipe is open until the session ends"
    assert received.read_text(encoding="utf-8") == f"-m tuneproof.lab.engine.session {session.id}{named}\ndone"


@pytest.mark.parametrize("fails", [True, False], ids=["fails", "was-interrupted"])
def test_a_failing_or_interrupted_session_leaves_the_rest_to_the_reaper(received: Path, *, fails: bool) -> None:
    """The session sends nothing and does not wait: the engine may be down, or may still create a requested resource."""
    session = Session()
    with (
        pytest.raises(RuntimeError) if fails else nullcontext(),
        reaper(session, continues=lambda: not fails),
    ):
        if fails:
            raise RuntimeError("engine gone")
    _, status = os.wait()
    assert status == 0
    assert received.read_text(encoding="utf-8") == f"-m tuneproof.lab.engine.session {session.id}\n"


@pytest.mark.usefixtures("received")
def test_a_killed_reaper_does_not_spoil_the_end_of_the_session() -> None:
    """The session has removed its resources, so there is nothing left to do."""
    with reaper(Session()):
        (started,) = (int(pid) for pid in Path("/proc/thread-self/children").read_text(encoding="ascii").split())
        os.kill(started, signal.SIGKILL)
        os.waitid(os.P_PID, started, os.WEXITED | os.WNOWAIT)


class Engine(FakeClock):
    """An engine that returns these results in turn, then ``then``; searches and pauses advance its clock."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, *answers: int | Exception | Removed, then: int | Exception = 0
    ) -> None:
        self._answers = itertools.chain(answers, itertools.repeat(then))
        self.now_s = 0.0
        self.searches: list[str] = []
        self.closed = 0
        self.hosts: list[str | None] = []
        self.busy: list[bool] = []
        monkeypatch.setattr(module, "remove_session", self.remove_session)
        monkeypatch.setattr(module, "has_overlay_network", lambda *_: bool(self.busy and self.busy.pop()))
        monkeypatch.setattr(module, "docker", types.SimpleNamespace(from_env=self.connect))
        monkeypatch.setattr(module, "time", self)

    def connect(self, *, environment: Mapping[str, str]) -> "Engine":
        self.hosts.append(environment.get("DOCKER_HOST"))
        return self

    def remove_session(self, _client: object, session_id: str) -> Removed:
        self.searches.append(session_id)
        self.now_s += 0.1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer if isinstance(answer, Removed) else Removed(containers=answer)

    def close(self) -> None:
        self.closed += 1


@pytest.mark.parametrize(
    ("answers", "busy", "searches"),
    [
        ((), 0, 1),
        ((2, 1), 0, 3),
        ((DockerException("gone"), DockerException("gone"), 3), 0, 4),
        ((Removed(refused=("has active endpoints",)),), 0, 2),
        ((), 2, 3),
    ],
    ids=["nothing", "more", "down", "refused", "overlay"],
)
def test_after_a_normal_end_the_reaper_searches_until_it_finds_nothing(
    answers: tuple[int | Exception | Removed, ...], busy: int, searches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session is waiting, so the reaper then exits at once.

    It searches again after the engine was down or has refused a removal, for example of a network that an endpoint is
    leaving, and while another engine still uses the session's overlay network.
    """
    fake = Engine(monkeypatch, *answers)
    fake.busy = [True] * busy
    reap("abc", quiet_s=0.0)
    assert fake.searches == ["abc"] * searches
    assert fake.now_s == pytest.approx(0.1 * searches + 0.5 * (searches - 1))
    assert fake.closed == searches


def test_after_a_kill_the_reaper_searches_until_nothing_has_appeared_for_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A request in progress may create a container later, so each container found restarts the wait."""
    fake = Engine(monkeypatch, 1, 0, 0, 1)
    reap("abc", quiet_s=6.0)
    last_find_s = 4 * 0.1 + 3 * 0.5
    assert fake.now_s == pytest.approx(last_find_s + 6, abs=1.3)
    assert fake.now_s >= last_find_s + 6
    assert fake.closed == len(fake.searches)


def test_another_engine_is_reached_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///here.sock")
    fake = Engine(monkeypatch)
    reap("abc", quiet_s=0.0)
    reap("abc", quiet_s=0.0, engine="tcp://10.0.0.5:2375")
    assert fake.hosts == ["unix:///here.sock", "tcp://10.0.0.5:2375"]


@pytest.mark.parametrize(("quiet_s", "given_up_s"), [(0.0, 120), (6.0, 3600)], ids=["session-waits", "killed"])
def test_the_reaper_gives_up_on_an_engine_that_stays_down(
    quiet_s: float, given_up_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is two minutes while a session waits, and otherwise an hour with less frequent attempts."""
    fake = Engine(monkeypatch, then=DockerException("gone"))
    reap("abc", quiet_s=quiet_s)
    assert fake.now_s == pytest.approx(given_up_s, abs=6)
    assert len(fake.searches) < 1000


@pytest.mark.parametrize("named", [[], ["tcp://10.0.0.5:2375"]], ids=["default", "named"])
@pytest.mark.parametrize(("message", "quiet_s"), [(b"done", 0.0), (b"", 6.0)], ids=["done", "silence"])
def test_the_reapers_patience_depends_on_what_the_session_sent(
    message: bytes, quiet_s: float, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After "done", the session has removed its resources and waits for the reaper."""
    calls: list[tuple[str, float, str]] = []

    def remember(session_id: str, *, quiet_s: float, engine: str) -> None:
        calls.append((session_id, quiet_s, engine))

    monkeypatch.setattr(module, "reap", remember)
    reader, writer = os.pipe()
    os.write(writer, message)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "argv", ["reaper", "abc", *named])
        module.main()
    assert calls == [("abc", quiet_s, "".join(named))]
