"""Installing packages, with a package manager that only records its calls."""

import os
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest

from tuneproof.errors import CannotRunHereError
from tuneproof.lab.engine import commands
from tuneproof.lab.engine.commands import Finished
from tuneproof.lab.engine.packages import apt_install, install_early, is_debian_like


class Apt:
    """A package manager: each installation ends with the next of these statuses, and every other command succeeds."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.verbs: list[str] = []

    def __call__(self, command: Sequence[str], *, timeout_s: float) -> Finished:
        assert timeout_s > 0
        verb = next(word for word in command if word in {"install", "update", "--configure"})
        self.verbs.append(verb)
        if verb != "install":
            return Finished(status=0, output="Hit: a mirror\n")
        return Finished(status=self.statuses.pop(0), output="".join(f"E: line {number}\n" for number in range(30)))


@pytest.fixture(autouse=True)
def _as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.mark.parametrize(("statuses", "verbs"), [([0], ["install"]), ([100, 0], ["install", "update", "install"])])
def test_package_lists_are_fetched_only_after_a_failed_installation(statuses: list[int], verbs: list[str]) -> None:
    """A new machine has no package lists. An interrupted earlier installation is completed first."""
    apt = Apt(*statuses)
    apt_install("docker.io", why="no engine", run=apt)
    assert apt.verbs == ["--configure", *verbs]


def test_a_failure_shows_the_end_of_apt_gets_output() -> None:
    with pytest.raises(CannotRunHereError, match=r"no engine, and apt-get could not install docker\.io\.") as caught:
        apt_install("docker.io", why="no engine", run=Apt(100, 100))
    assert caught.value.tail.splitlines() == [f"E: line {number}" for number in range(10, 30)]


def test_an_ordinary_user_is_shown_the_command_for_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    apt = Apt()
    with pytest.raises(CannotRunHereError, match="as root: apt-get install mmdebstrap"):
        apt_install("mmdebstrap", why="no registry answers", run=apt)
    assert apt.verbs == []


def test_the_engine_is_installed_early_only_if_there_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An installed or chosen engine may be broken; the error is reported later, when the lab connects to it."""
    monkeypatch.delenv("DOCKER_HOST", raising=False)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/os-release").write_text("ID=debian\n", encoding="utf-8")
    apt = Apt(100, 100)
    install_early(run=apt, find=lambda _name: None, root=tmp_path)
    assert apt.verbs == ["--configure", "install", "update", "install"]
    apt.verbs.clear()
    install_early(run=apt, find=lambda name: "/usr/bin/docker" if name == "docker" else None, root=tmp_path)
    monkeypatch.setenv("DOCKER_HOST", "ssh://elsewhere")
    install_early(run=apt, find=lambda _name: None, root=tmp_path)
    assert apt.verbs == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\n', True),
        ("# made by hand\nID=ubuntu\nID_LIKE=debian\n", True),
        ('ID=linuxmint\nID_LIKE="ubuntu debian"\n', True),
        ('ID="rhel"\nID_LIKE="fedora"\nHOME_URL="https://www.debian.org/"\n', False),
        ("", False),
    ],
)
def test_debian_and_its_derivatives_are_recognised(text: str, tmp_path: Path, *, expected: bool) -> None:
    path = tmp_path / "os-release"
    path.write_text(text, encoding="utf-8")
    assert is_debian_like(path) is expected


@pytest.mark.parametrize(
    ("command", "timeout_s", "status", "output"),
    [
        (["sh", "-c", "echo out; echo err >&2; exit 4"], 30, 4, "out\nerr\n"),
        (["no-such-program-anywhere"], 30, 127, "no-such-program-anywhere: not found"),
        (["sleep", "60"], 0.2, 124, "sleep 60: not done after 0.2 s"),
    ],
)
def test_the_failure_of_a_program_is_returned(command: list[str], timeout_s: float, status: int, output: str) -> None:
    assert commands.run(command, timeout_s=timeout_s) == Finished(status=status, output=output)


def test_a_detached_child_is_not_waited_for() -> None:
    """Dockerd is started like this: the shell prints the process id of its child, and exits at once."""
    script = "{ sleep 60 </dev/null >/dev/null 2>&1 & echo $!; }"
    finished = commands.run(["setsid", "sh", "-c", script], timeout_s=30)
    pid = int(finished.output)
    assert os.getsid(pid) != os.getsid(0)
    os.kill(pid, signal.SIGKILL)
