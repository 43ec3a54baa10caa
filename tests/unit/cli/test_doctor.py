"""The doctor's rounds: with an engine that only answers questions, and with none."""

import os
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
import requests

from tuneproof.cli import doctor
from tuneproof.cli.main import main
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine import commands
from tuneproof.lab.engine.reach import NoLocalEngineError

INFO = {
    "Driver": "overlay2",
    "CgroupVersion": "2",
    "CPUSet": True,
    "MemoryLimit": True,
    "NCPU": 2,
    "MemTotal": 8 << 30,
    "DockerRootDir": "/",
}


def engine(**changes: object) -> Any:
    """Return a client whose engine has these facts, and a registry."""
    return SimpleNamespace(
        info=lambda: {**INFO, **changes},
        version=lambda: {"Version": "28.0", "ApiVersion": "1.48", "Os": "linux"},
        images=SimpleNamespace(list=lambda **_: [], get_registry_data=lambda _: None),
        close=lambda: None,
    )


@pytest.fixture
def host(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], None]:
    """Put a way to connect in the place of the real one, on a quiet host that is nobody's choice."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    monkeypatch.delenv("DOCKER_CONTEXT", raising=False)
    monkeypatch.setattr(doctor, "netem_support", lambda: ("native", ""))
    monkeypatch.setattr(doctor, "STEAL_SAMPLE_S", 0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=8 << 30))
    return lambda connect: monkeypatch.setattr(doctor, "connect", connect)


def test_a_host_that_can_prove_everything_gets_status_0(
    host: Callable[[Callable[[], Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Each check is one line that begins with its state."""
    host(engine)
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in lines} <= {"ok", "warn"}
    assert [line.split()[1] for line in lines] == [
        "engine",
        "storage",
        "cgroups",
        "CPUs",
        "memory",
        "disk",
        "base",
        "netem",
        "congestion",
        "tcp_rmem",
        "steal",
    ]


def test_one_missing_thing_gives_status_1_and_the_other_lines_all_the_same(
    host: Callable[[Callable[[], Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """The reader sees everything that is wrong at once."""
    host(lambda: engine(NCPU=1))
    assert main(["doctor"]) == 1
    out = capsys.readouterr().out
    assert "missing CPUs                1 - at least 2 are needed" in out
    assert "tcp_rmem" in out


@pytest.mark.parametrize(("parser", "status"), [("/sbin/apparmor_parser", 0), (None, 1)], ids=["there", "missing"])
def test_a_kernel_with_apparmor_needs_its_parser(
    host: Callable[[Callable[[], Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    parser: str | None,
    status: int,
) -> None:
    """The engine loads its profile with it, and starts no container otherwise; the package is named."""
    find = commands.find
    monkeypatch.setattr(commands, "find", lambda name: parser if name == "apparmor_parser" else find(name))
    host(lambda: engine(SecurityOptions=["name=apparmor", "name=seccomp,profile=default"]))
    assert main(["doctor"]) == status
    line = next(line for line in capsys.readouterr().out.splitlines() if "AppArmor" in line)
    assert ("apt-get install apparmor" in line) == (status == 1)


def test_a_remote_engines_kernel_is_not_mistaken_for_this_ones(
    host: Callable[[Callable[[], Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Neither its disk nor its settings can be read from here."""
    host(engine)
    monkeypatch.setenv("DOCKER_HOST", "tcp://far:2376")
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "warn    disk                unknown" in out
    assert "tcp_rmem" not in out


def test_without_an_engine_root_on_debian_can_still_prove(
    host: Callable[[Callable[[], Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """``./lab run`` would start one, and the doctor says so instead of doing it."""

    def connect() -> None:
        raise NoLocalEngineError("No Docker engine answers.", remedy="the steps")

    host(connect)
    monkeypatch.setattr(doctor, "may_start_engine", lambda _: True)
    assert main(["doctor"]) == 0
    assert capsys.readouterr().out.startswith("warn    engine              none answers - `./lab run` ")
    monkeypatch.setattr(doctor, "may_start_engine", lambda _: False)
    assert main(["doctor"]) == 1
    assert "- the steps\n" in capsys.readouterr().out


def test_an_engine_of_the_users_choice_that_is_down_is_missing_even_for_root(
    host: Callable[[Callable[[], Any]], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """No other engine is started in its place."""

    def connect() -> None:
        raise EngineUnavailableError("The Docker engine does not answer.", where="tcp://far:2376", remedy="start it")

    host(connect)
    monkeypatch.setattr(doctor, "may_start_engine", lambda _: True)
    assert main(["doctor"]) == 1
    assert capsys.readouterr().out.startswith("missing engine")


def test_an_engine_that_stops_during_the_questions_is_one_message(
    host: Callable[[Callable[[], Any]], None], capsys: pytest.CaptureFixture[str]
) -> None:
    """Status 3, as for every engine that is gone."""

    def vanish() -> None:
        raise requests.ConnectionError("Connection aborted.")

    client = engine()
    client.info = vanish
    host(lambda: client)
    assert main(["doctor"]) == 3
    assert "stopped answering" in capsys.readouterr().err


def test_no_registry_and_no_bootstrap_are_told_with_their_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user cannot install mmdebstrap, and a registry that is out of reach is named by its error."""

    def refuse(_: str) -> None:
        raise requests.ConnectTimeout

    client = engine()
    client.images.get_registry_data = refuse
    assert doctor.find_registry_error(client) == "the engine cannot ask for debian:bookworm-slim (ConnectTimeout)"
    monkeypatch.setattr("tuneproof.lab.engine.commands.find", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert doctor.find_bootstrap_error() == "mmdebstrap is not installed"
