"""The reaper hears of the session's end, however it comes, and looks until nothing appears any more."""

import os
import sys
import types
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from docker.errors import DockerException

from tuneproof.lab.engine import reaper
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reaper import Reaper, reap
from tuneproof.lab.engine.sweep import Removed


@pytest.fixture
def heard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program in the reaper's place, which writes its arguments and what it hears into this file, and ends."""
    path = tmp_path / "heard"
    program = tmp_path / "stand-in"
    program.write_text(f'#!/bin/sh\necho "$@" > {path}.part\ncat >> {path}.part\nmv {path}.part {path}\n')
    program.chmod(0o755)
    monkeypatch.setattr(reaper, "sys", types.SimpleNamespace(executable=str(program)))
    return path


@pytest.mark.parametrize(("engine", "named"), [("", ""), ("big", " big")], ids=["default", "named"])
def test_a_session_that_ends_well_says_so_and_waits(engine: str, named: str, heard: Path) -> None:
    session = Session()
    with Reaper(session, engine=engine):
        assert not heard.exists(), "the pipe is open as long as the session lives"
    assert heard.read_text(encoding="utf-8") == f"-m tuneproof.lab.engine.reaper {session.id}{named}\ndone"


def test_a_session_that_is_killed_is_heard_by_its_silence(heard: Path) -> None:
    """The kernel closes the pipe of a dead process; nobody wrote a word into it."""
    session = Session()
    started = Reaper(session).__enter__()
    assert started._writer is not None
    assert started._process is not None
    os.close(started._writer)
    assert started._process.wait(timeout=30) == 0
    assert heard.read_text(encoding="utf-8") == f"-m tuneproof.lab.engine.reaper {session.id}\n"


def test_a_session_that_fails_leaves_the_reaper_to_its_work(heard: Path) -> None:
    """It says nothing, and waits for nobody: the engine may be away for long."""
    session = Session()
    started = Reaper(session)
    with pytest.raises(RuntimeError, match="engine gone"), started:
        raise RuntimeError("engine gone")
    assert started._process is not None
    _, status = os.waitpid(started._process.pid, 0)
    assert status == 0
    assert heard.read_text(encoding="utf-8") == f"-m tuneproof.lab.engine.reaper {session.id}\n"


def test_a_reaper_that_was_killed_does_not_spoil_the_end_of_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The session has cleaned up after itself: there is nothing left to be done, and nobody to be told."""
    program = tmp_path / "stand-in"
    program.write_text("#!/bin/sh\nexit 0\n")
    program.chmod(0o755)
    monkeypatch.setattr(reaper, "sys", types.SimpleNamespace(executable=str(program)))
    with Reaper(Session()) as started:
        assert started._process is not None
        started._process.wait(timeout=30)


class Engine:
    """An engine whose answers are given beforehand; looking and pausing move its clock."""

    def __init__(self, answers: Iterator[int | Exception]) -> None:
        self._answers = answers
        self.now_s = 0.0
        self.looks: list[str] = []
        self.closed = 0
        self.hosts: list[str | None] = []
        self.busy: list[bool] = []

    def connect(self, *, environment: Mapping[str, str]) -> "Engine":
        """Return this object, where a client is wanted."""
        self.hosts.append(environment.get("DOCKER_HOST"))
        return self

    def remove_session(self, _client: object, session_id: str) -> Removed:
        """Remove as many containers as was said, or fail."""
        self.looks.append(session_id)
        self.now_s += 0.1
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return Removed(containers=answer)

    def close(self) -> None:
        self.closed += 1

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Engine]:
    """Put an engine with such answers in the place of Docker's; after them it removes nothing."""

    def install(*answers: int | Exception, then: int = 0) -> Engine:
        def all_answers() -> Iterator[int | Exception]:
            yield from answers
            while True:
                yield then

        fake = Engine(all_answers())
        monkeypatch.setattr(reaper, "remove_session", fake.remove_session)
        monkeypatch.setattr(reaper, "docker", types.SimpleNamespace(from_env=fake.connect))
        monkeypatch.setattr(
            reaper, "has_overlay_network", lambda _client, _session_id: bool(fake.busy and fake.busy.pop())
        )
        monkeypatch.setattr(reaper, "time", types.SimpleNamespace(monotonic=lambda: fake.now_s, sleep=fake.sleep))
        return fake

    return install


def test_after_a_good_end_one_look_is_enough(engine: Callable[..., Engine]) -> None:
    """A warm run does not wait for what cannot come."""
    fake = engine()
    reap("abc", quiet_s=0.0)
    assert fake.looks == ["abc"]
    assert fake.now_s < 0.5
    assert fake.closed == 1


def test_after_a_good_end_it_looks_again_while_there_was_something(engine: Callable[..., Engine]) -> None:
    """A network whose last endpoint was just going is gone at the second look."""
    fake = engine(2, 1)
    reap("abc", quiet_s=0.0)
    assert len(fake.looks) == 3


def test_after_a_kill_it_looks_until_nothing_has_appeared_for_a_while(engine: Callable[..., Engine]) -> None:
    """A request that was under way may create a container later: each find starts the wait anew."""
    fake = engine(1, 0, 0, 1)
    reap("abc", quiet_s=6.0)
    last_find_s = 4 * 0.1 + 3 * 0.5
    assert fake.now_s == pytest.approx(last_find_s + 6, abs=1.3)
    assert fake.now_s >= last_find_s + 6
    assert fake.closed == len(fake.looks)


def test_an_engine_that_is_away_is_waited_for(engine: Callable[..., Engine]) -> None:
    """What carries the label will still be there when it is back."""
    fake = engine(DockerException("gone"), DockerException("gone"), 3)
    reap("abc", quiet_s=0.0)
    assert len(fake.looks) == 4


def test_another_engine_is_reached_by_its_name(engine: Callable[..., Engine], monkeypatch: pytest.MonkeyPatch) -> None:
    """And the default one as the environment says."""
    monkeypatch.setenv("DOCKER_HOST", "unix:///here.sock")
    fake = engine()
    reap("abc", quiet_s=0.0)
    reap("abc", quiet_s=0.0, engine="tcp://10.0.0.5:2375")
    assert fake.hosts == ["unix:///here.sock", "tcp://10.0.0.5:2375"]


def test_a_network_over_several_engines_is_waited_for(engine: Callable[..., Engine]) -> None:
    """Its last container may be on another engine, whose own reaper removes it."""
    fake = engine()
    fake.busy = [True, True]
    reap("abc", quiet_s=0.0)
    assert len(fake.looks) == 3


def test_an_engine_that_stays_away_is_given_up_after_two_minutes(engine: Callable[..., Engine]) -> None:
    fake = engine(then=1)
    reap("abc", quiet_s=6.0)
    assert fake.now_s == pytest.approx(120, abs=1)


@pytest.mark.parametrize("named", [[], ["tcp://10.0.0.5:2375"]], ids=["default", "named"])
@pytest.mark.parametrize(("said", "quiet_s"), [(b"done", 0.0), (b"", 6.0)], ids=["done", "silence"])
def test_the_reapers_patience_follows_from_what_it_heard(
    said: bytes, quiet_s: float, named: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a session that cleaned up after itself needs no patience."""
    calls: list[tuple[str, float, str]] = []

    def remember(session_id: str, *, quiet_s: float, engine: str) -> None:
        calls.append((session_id, quiet_s, engine))

    monkeypatch.setattr(reaper, "reap", remember)
    reader, writer = os.pipe()
    os.write(writer, said)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "argv", ["reaper", "abc", *named])
        reaper.main()
    assert calls == [("abc", quiet_s, "".join(named))]
