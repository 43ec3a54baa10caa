"""A machine on which an engine can be started, and that exists only in a temporary folder."""

from collections.abc import Sequence
from pathlib import Path

from tuneproof.lab.engine.commands import Finished
from tuneproof.lab.engine.daemon import Host, ensure_engine
from tuneproof.lab.engine.leftovers import EnginePaths
from tuneproof.lab.engine.reach import NoLocalEngineError

DAEMON_PID = 4242


class Machine:
    """A machine without an engine; each attempt to connect is one tick of its clock.

    answers_after: the number of attempts that fail once dockerd runs; None: all fail.
    exits_after: the number of attempts after which dockerd ends; None: it stays.
    fails: by a word of its command, how a program ends that does nothing here.
    """

    def __init__(self, folder: Path, *, answers_after: int | None = 1, exits_after: int | None = None) -> None:
        self.answers_after = answers_after
        self.exits_after = exits_after
        self.attempts_since_start = 0
        self.installed = True
        self.log_on_start = "starting up\n"
        self.fails: dict[str, Finished] = {}
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
        """Put a process into the table, as proc(5) shows it."""
        folder = self.paths.proc / str(pid)
        folder.mkdir()
        (folder / "comm").write_text(f"{name}\n", encoding="utf-8")
        (folder / "stat").write_text(f"{pid} ({name}) {state} 1 {pid} {pid} 0\n", encoding="utf-8")

    def start_dockerd(self) -> None:
        """Bring a daemon up that has not answered yet."""
        self.add_process(DAEMON_PID, "dockerd")
        self.paths.pid_file.write_text(str(DAEMON_PID), encoding="utf-8")

    def run(self, command: Sequence[str], *, timeout_s: float) -> Finished:
        assert timeout_s > 0
        self.commands.append(" ".join(command))
        for word in self.fails.keys() & set(command):
            return self.fails[word]
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

    def close(self) -> None:
        """Close the connection."""

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
