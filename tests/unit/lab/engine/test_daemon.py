"""An engine is installed and started on a fake machine in a temporary folder, without apt-get, dockerd or root."""

import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.commands import Finished
from tuneproof.lab.engine.daemon import Host, ensure_engine
from tuneproof.lab.engine.leftovers import EnginePaths
from tuneproof.lab.engine.reach import NoLocalEngineError

DAEMON_PID = 4242


class Machine:
    """A machine without a running engine.

    answers_after: the number of connection attempts that fail after dockerd has started (None: all). exits_after: the
    attempt at which dockerd exits (None: it keeps running). results: the results of programs, by a word of their
    command; these programs change nothing on the machine.
    """

    def __init__(self, folder: Path, *, answers_after: int | None = 1, exits_after: int | None = None) -> None:
        self.answers_after = answers_after
        self.exits_after = exits_after
        self.attempts_since_start = 0
        self.installed = True
        self.log_on_start = "starting up\n"
        self.results: dict[str, Finished] = {}
        self.commands: list[str] = []
        self.reports: list[str] = []
        self.paths = EnginePaths(
            os_release=folder / "os-release",
            pid_file=folder / "docker.pid",
            containerd_dir=folder / "containerd",
            containerd_socket=folder / "containerd.sock",
            proc=folder / "proc",
            systemd_dir=folder / "systemd",
            log=folder / "dockerd.log",
            lock=folder / "lock",
        )
        self.paths.proc.mkdir()
        self.paths.os_release.write_text('ID=debian\nPRETTY_NAME="Debian GNU/Linux 12"\n', encoding="utf-8")

    def add_process(self, pid: int, name: str, state: str = "S") -> None:
        """Add a process to the process table, in the format of proc(5)."""
        folder = self.paths.proc / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(f"{name}\n", encoding="utf-8")
        (folder / "stat").write_text(f"{pid} ({name}) {state} 1 {pid} {pid} 0\n", encoding="utf-8")

    def start_dockerd(self) -> None:
        self.add_process(DAEMON_PID, "dockerd")
        self.paths.pid_file.write_text(str(DAEMON_PID), encoding="utf-8")

    def run(self, command: Sequence[str], *, timeout_s: float) -> Finished:
        assert timeout_s > 0
        self.commands.append(" ".join(command))
        for word in self.results.keys() & set(command):
            return self.results[word]
        if "install" in command:
            self.installed = True
        if command[0] == "setsid":
            assert not self.paths.pid_file.exists(), "dockerd refuses to start while its pid file names a process"
            with self.paths.log.open("a", encoding="utf-8") as log:
                log.write(self.log_on_start)
            self.start_dockerd()
            return Finished(status=0, output=f"{DAEMON_PID}\n")
        if command[0] == "systemctl":
            self.start_dockerd()
        return Finished(status=0, output="")

    def connect(self) -> "Machine":
        if (self.paths.proc / str(DAEMON_PID)).exists():
            self.attempts_since_start += 1
            if self.attempts_since_start == self.exits_after:
                (self.paths.proc / str(DAEMON_PID) / "stat").write_text(
                    f"{DAEMON_PID} (dockerd) Z 1\n", encoding="utf-8"
                )
            if self.answers_after is not None and self.attempts_since_start > self.answers_after:
                return self
        raise NoLocalEngineError("No Docker engine answers.", remedy="the steps")

    def close(self) -> None: ...

    def ensure(self, *, is_root: bool = True, wait_s: float = 30) -> None:
        host = Host(
            paths=self.paths,
            run=self.run,
            find=lambda name: f"/usr/sbin/{name}" if self.installed else None,
            connect=self.connect,
            is_root=is_root,
            wait_s=wait_s,
        )
        ensure_engine(report=self.reports.append, host=host)


@pytest.fixture(autouse=True)
def _without_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuneproof.lab.engine.daemon.POLL_S", 0)


def test_an_engine_that_answers_is_left_alone(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=0)
    machine.start_dockerd()
    machine.ensure(is_root=False)
    assert (machine.commands, machine.reports) == ([], [])
    assert not machine.paths.lock.exists()


def test_an_installed_engine_is_started_in_its_own_process_session(tmp_path: Path) -> None:
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


def test_with_systemd_the_docker_service_is_started(tmp_path: Path) -> None:
    """A detached daemon would compete with the service for the same files."""
    machine = Machine(tmp_path)
    machine.paths.systemd_dir.mkdir()
    machine.ensure()
    assert machine.commands == ["systemctl start docker"]


def test_the_journal_is_shown_for_a_service_that_does_not_start(tmp_path: Path) -> None:
    """Systemctl only reports the failure; the journal gives the reason."""
    machine = Machine(tmp_path)
    machine.paths.systemd_dir.mkdir()
    machine.results = {
        "systemctl": Finished(status=1, output="Job for docker.service failed."),
        "journalctl": Finished(status=0, output="no space left on device"),
    }
    with pytest.raises(EngineUnavailableError) as caught:
        machine.ensure()
    assert caught.value.tail == "Job for docker.service failed.\nno space left on device"


@pytest.mark.parametrize("content", ["3999999\n", "77", ""], ids=["no-process", "another-program", "empty"])
def test_a_stale_pid_file_does_not_prevent_the_engine_from_starting(content: str, tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.add_process(77, "python3")
    machine.paths.pid_file.write_text(content, encoding="utf-8")
    machine.ensure()
    assert machine.paths.pid_file.read_text(encoding="utf-8") == str(DAEMON_PID)


def test_a_starting_daemon_is_awaited(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=5)
    machine.start_dockerd()
    machine.ensure()
    assert machine.commands == []
    assert machine.reports == ["waiting for the Docker engine, which is starting"]
    assert machine.attempts_since_start == 6


def test_the_end_of_the_log_is_shown_after_an_early_exit(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=None, exits_after=2)
    machine.log_on_start = "".join(f"line {number}\n" for number in range(30))
    with pytest.raises(EngineUnavailableError, match="stopped before it answered") as caught:
        machine.ensure()
    assert caught.value.tail.splitlines() == [f"line {number}" for number in range(10, 30)]
    assert str(machine.paths.log) in caught.value.where


def test_a_start_that_loses_a_race_waits_for_the_winner(tmp_path: Path) -> None:
    """A package's start script may be faster: then the lab's dockerd exits, and the script's dockerd answers."""
    machine = Machine(tmp_path, answers_after=3, exits_after=1)
    machine.add_process(55, "dockerd")
    connect = machine.connect

    def connect_and_see_the_winner() -> Machine:
        if (machine.paths.proc / str(DAEMON_PID)).exists():
            machine.paths.pid_file.write_text("55", encoding="utf-8")
        return connect()

    machine.connect = connect_and_see_the_winner  # type: ignore[method-assign] # the other dockerd replaces the pid file
    machine.ensure()
    assert machine.attempts_since_start == 4


def test_the_lab_gives_up_on_an_engine_that_never_answers(tmp_path: Path) -> None:
    machine = Machine(tmp_path, answers_after=None)
    machine.paths.log.write_text("from an earlier start\n", encoding="utf-8")
    with pytest.raises(EngineUnavailableError, match=r"did not answer within 0\.05 s") as caught:
        machine.ensure(wait_s=0.05)
    assert caught.value.tail == "starting up"


@pytest.mark.parametrize(
    ("is_root", "os_release"), [(False, "ID=debian\n"), (True, "ID=fedora\nID_LIKE='rhel centos'\n"), (True, None)]
)
def test_if_no_engine_may_be_started_the_steps_are_shown(
    os_release: str | None, tmp_path: Path, *, is_root: bool
) -> None:
    """Without root, or outside Debian and its derivatives, the lab runs no program and reports the missing engine."""
    machine = Machine(tmp_path)
    machine.paths.os_release.unlink()
    if os_release is not None:
        machine.paths.os_release.write_text(os_release, encoding="utf-8")
    with pytest.raises(NoLocalEngineError) as caught:
        machine.ensure(is_root=is_root)
    assert caught.value.remedy == "the steps"
    assert (machine.commands, machine.reports) == ([], [])


def test_an_engine_that_the_user_chose_is_never_replaced(tmp_path: Path) -> None:
    """Only the user can correct the address or the permissions, so even root starts no other engine."""
    machine = Machine(tmp_path)

    def connect() -> Machine:
        raise EngineUnavailableError("The Docker engine does not answer.")

    machine.connect = connect  # type: ignore[method-assign] # the error for a chosen address
    with pytest.raises(EngineUnavailableError, match="does not answer"):
        machine.ensure()
    assert machine.commands == []
