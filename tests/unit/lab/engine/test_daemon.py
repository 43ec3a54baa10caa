"""Starting an engine, on a machine that exists only in a temporary folder: no apt-get, no dockerd, no root."""

import os
from pathlib import Path

import pytest

from tests.support.daemon_machine import DAEMON_PID, Machine
from tuneproof.errors import CannotRunHereError, EngineUnavailableError
from tuneproof.lab.engine.commands import Finished
from tuneproof.lab.engine.reach import NoLocalEngineError


@pytest.fixture(autouse=True)
def _without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneproof.lab.engine.daemon.POLL_S", 0)


def test_an_engine_that_answers_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=0)
    machine.start_dockerd()
    machine.ensure(is_root=False)
    assert (machine.commands, machine.reports) == ([], [])
    assert not machine.paths.lock.exists()


def test_an_installed_engine_is_started_in_a_session_of_its_own(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.ensure()
    assert [command.split()[0] for command in machine.commands] == ["setsid"]
    assert machine.commands[0].endswith(f"sh {machine.paths.log}")
    assert machine.reports == ["starting the Docker engine"]


def test_a_machine_without_docker_gets_it_from_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    machine = Machine(tmp_path)
    machine.installed = False
    machine.ensure()
    installs = [command for command in machine.commands if " install " in command]
    assert len(installs) == 1
    assert installs[0].endswith("install -y --no-install-recommends docker.io iptables ca-certificates")
    assert machine.reports == ["installing the Docker engine (docker.io, once)", "starting the Docker engine"]


def test_with_systemd_its_service_is_started(tmp_path: Path) -> None:
    """A detached daemon beside the service would fight it for the same files."""
    machine = Machine(tmp_path)
    machine.paths.systemd_dir.mkdir()
    machine.ensure()
    assert machine.commands == ["systemctl start docker"]


def test_a_service_that_does_not_start_shows_its_journal(tmp_path: Path) -> None:
    """What systemctl says is only that it failed; the journal says why."""
    machine = Machine(tmp_path)
    machine.paths.systemd_dir.mkdir()
    machine.fails = {
        "systemctl": Finished(status=1, output="Job for docker.service failed."),
        "journalctl": Finished(status=0, output="no space left on device"),
    }
    with pytest.raises(EngineUnavailableError) as caught:
        machine.ensure()
    assert caught.value.tail == "Job for docker.service failed.\nno space left on device"


@pytest.mark.parametrize("left", ["3999999\n", "77", ""], ids=["nobody", "another-program", "cut-short"])
def test_a_stale_pid_file_does_not_keep_the_engine_from_starting(left: str, tmp_path: Path) -> None:
    """The file goes before dockerd starts: the machine's run() would notice it."""
    machine = Machine(tmp_path)
    machine.add_process(77, "python3")
    machine.paths.pid_file.write_text(left, encoding="utf-8")
    machine.ensure()
    assert machine.paths.pid_file.read_text(encoding="utf-8") == str(DAEMON_PID)


def test_a_daemon_that_is_coming_up_is_waited_for(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=5)
    machine.start_dockerd()
    machine.ensure()
    assert machine.commands == []
    assert machine.reports == ["waiting for the Docker engine, which is coming up"]
    assert machine.attempts_since_start == 6


def test_an_early_exit_shows_the_end_of_the_log(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=None, exits_after=2)
    machine.log_on_start = "".join(f"line {number}\n" for number in range(30))
    with pytest.raises(EngineUnavailableError, match="stopped before it answered") as caught:
        machine.ensure()
    assert caught.value.tail.splitlines() == [f"line {number}" for number in range(10, 30)]
    assert str(machine.paths.log) in caught.value.where


def test_a_start_that_loses_a_race_waits_for_the_winner(tmp_path: Path) -> None:
    """A package's own start script may have been faster; then ours exits, and the other one answers."""
    machine = Machine(tmp_path, answers_after=3, exits_after=1)
    machine.add_process(55, "dockerd")
    connect = machine.connect

    def connect_and_see_the_winner() -> Machine:
        if (machine.paths.proc / str(DAEMON_PID)).exists():
            machine.paths.pid_file.write_text("55", encoding="utf-8")
        return connect()

    machine.connect = connect_and_see_the_winner  # type: ignore[method-assign] # one more event on this machine
    machine.ensure()
    assert machine.attempts_since_start == 4


def test_an_engine_that_never_answers_is_given_up(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=None)
    machine.paths.log.write_text("from an earlier start\n", encoding="utf-8")
    with pytest.raises(EngineUnavailableError, match=r"did not answer within 0\.05 s") as caught:
        machine.ensure(wait_s=0.05)
    assert caught.value.tail == "starting up"


@pytest.mark.parametrize(
    ("is_root", "os_release"), [(False, "ID=debian\n"), (True, "ID=fedora\nID_LIKE='rhel centos'\n"), (True, None)]
)
def test_where_nothing_may_be_installed_the_steps_are_shown(
    is_root: bool,  # noqa: FBT001 - a parameter of the claim
    os_release: str | None,
    tmp_path: Path,
) -> None:
    """An ordinary user, or another distribution: nothing is run, and the first message stands."""
    machine = Machine(tmp_path)
    machine.paths.os_release.unlink()
    if os_release is not None:
        machine.paths.os_release.write_text(os_release, encoding="utf-8")
    with pytest.raises(NoLocalEngineError) as caught:
        machine.ensure(is_root=is_root)
    assert caught.value.remedy == "the steps"
    assert (machine.commands, machine.reports) == ([], [])


def test_an_engine_that_the_user_chose_is_never_replaced(tmp_path: Path) -> None:
    """An address that does not answer, or a socket that may not be used, is the user's to mend, even for root."""
    machine = Machine(tmp_path)

    def connect() -> Machine:
        raise EngineUnavailableError("The Docker engine does not answer.")

    machine.connect = connect  # type: ignore[method-assign] # this machine's address was chosen
    with pytest.raises(EngineUnavailableError, match="does not answer"):
        machine.ensure()
    assert machine.commands == []


def test_an_installation_that_fails_starts_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    machine = Machine(tmp_path)
    machine.installed = False
    machine.fails = {"install": Finished(status=100, output="E: no space")}
    with pytest.raises(CannotRunHereError, match="E: no space"):
        machine.ensure()
    assert not any("setsid" in command for command in machine.commands)
