"""The script in the nginx image that starts a new nginx for every trial, and its caller."""

import json
import os
import signal
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import CHECKOUT
from tuneproof.errors import LabError
from tuneproof.lab.subject.supervisor import Said, Supervisor, Words
from tuneproof.lab.topology.program import Answered, Call

SCRIPT = CHECKOUT / "images/subject/supervise.sh"
# Like nginx, the stand-in writes a pid file and removes it when it exits; it rejects configurations with "broken".
NGINX = """\
#!/bin/sh
for file; do :; done
case "$*" in
*-c*) grep -q broken "$file" && { echo 'nginx: [emerg] unknown directive "x"'; exit 1; } ;;
esac
case "$*" in
*-v*) echo "nginx version: nginx/1.22.1" >&2 ;;
*-t*) echo "nginx: [warn] something" >&2 ;;
*)
    echo "${LD_PRELOAD-}" >"$STATE/preloaded"
    sh -c 'trap "echo $$ >\\"$STATE.ended\\"; rm \\"$STATE/nginx.pid\\"; exit" TERM
        echo $$ >"$STATE/nginx.pid"
        while :; do sleep 0.01; done' &
    while [ ! -s "$STATE/nginx.pid" ]; do sleep 0.01; done
    ;;
esac
"""


class Program:
    """Runs the supervisor's script with its own folders and a stand-in for nginx."""

    def __init__(self, folder: Path) -> None:
        self._asked = 0
        self.state, self.log = folder / "state", folder / "log"
        self.state.mkdir()
        binary = folder / "bin/nginx"
        binary.parent.mkdir()
        binary.write_text(NGINX, encoding="utf-8")
        binary.chmod(0o755)
        text = SCRIPT.read_text(encoding="utf-8")
        configurations = folder / "etc"
        configurations.mkdir()
        for name in ("fine", "broken"):
            (configurations / f"{name}.conf").write_text(f"{name};\n", encoding="ascii")
        (configurations / "newer.conf").write_text("fine;\nbroken; # where known\n", encoding="ascii")
        for place, own in (
            ("/etc/subject", configurations),
            ("/var/lib/subject", self.state),
            ("/var/log/subject", self.log),
            ("/dev/shm", folder / "shm"),  # noqa: S108 - the path in the script, which is replaced
        ):
            text = text.replace(place, str(own))
        (folder / "shm").mkdir()
        script = folder / "supervise.sh"
        script.write_text(text, encoding="utf-8")
        environment = {**os.environ, "PATH": f"{binary.parent}:{os.environ['PATH']}", "STATE": str(self.state)}
        process = subprocess.Popen(
            ["sh", str(script)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._stdin, self._stdout = process, process.stdin, process.stdout

    def ask(self, call: Call) -> Answered[Any]:
        self._asked += 1
        self._stdin.write(call.line(self._asked) + "\n")
        self._stdin.flush()
        plain = json.loads(self._stdout.readline())
        assert plain["number"] == self._asked
        answered = call.parse_answer(plain)
        assert not isinstance(answered, str), answered
        return answered

    def end(self) -> None:
        self._stdin.close()
        self._stdout.close()
        self._process.wait()


@pytest.fixture
def program(tmp_path: Path) -> Any:
    started = Program(tmp_path)
    yield started
    started.end()


@pytest.fixture
def supervisor(program: Program) -> Supervisor:
    return Supervisor(program, name="subject")


def test_a_configuration_is_tested_and_nginxs_output_returned(supervisor: Supervisor) -> None:
    assert supervisor.version() == "1.22.1"
    result = supervisor.test("fine")
    assert (result.status, result.text) == (0, "nginx: [warn] something\n")
    assert supervisor.test("broken").status == 1


def test_nginx_runs_from_start_to_stop(supervisor: Supervisor, program: Program) -> None:
    """Before the next nginx starts, the nginx that a failed trial left is ended, and its cache is deleted."""
    supervisor.start("fine")
    first = int((program.state / "nginx.pid").read_text(encoding="ascii"))
    assert Path(f"/proc/{first}").exists()
    (program.state / "cache/left").write_text("", encoding="ascii")
    supervisor.start("fine")
    assert int(program.state.with_suffix(".ended").read_text(encoding="ascii")) == first
    assert not (program.state / "cache/left").exists()
    supervisor.stop()
    assert not (program.state / "nginx.pid").exists()


def test_the_supervisor_does_not_wait_for_a_killed_master(supervisor: Supervisor, program: Program) -> None:
    """A killed master leaves its pid file behind, and the next nginx still starts."""
    supervisor.start("fine")
    first = int((program.state / "nginx.pid").read_text(encoding="ascii"))
    os.kill(first, signal.SIGKILL)
    supervisor.stop()
    assert not (program.state / "nginx.pid").exists()
    supervisor.start("fine")
    assert int((program.state / "nginx.pid").read_text(encoding="ascii")) != first
    supervisor.stop()


def test_nginx_is_started_with_a_preloaded_library(supervisor: Supervisor, program: Program) -> None:
    supervisor.start("fine", library="/missing/recorder.so")
    assert (program.state / "preloaded").read_text(encoding="ascii") == "/missing/recorder.so\n"
    supervisor.stop()


def test_a_failed_start_is_reported_with_nginxs_message(supervisor: Supervisor) -> None:
    with pytest.raises(LabError, match="nginx does not start with broken") as caught:
        supervisor.start("broken")
    assert "unknown directive" in str(caught.value)


def test_marked_lines_are_left_out_if_nginx_rejects_them(supervisor: Supervisor, program: Program) -> None:
    supervisor.start("newer")
    assert (program.state / "nginx.conf").read_text(encoding="ascii") == "fine;\n"
    supervisor.stop()


def test_the_configuration_can_be_edited_for_a_reload(supervisor: Supervisor, program: Program) -> None:
    """The change lasts until the next start. An error from sed is reported."""
    supervisor.start("fine")
    supervisor.edit("s/fine/better/")
    assert (program.state / "nginx.conf").read_text(encoding="ascii") == "better;\n"
    with pytest.raises(LabError, match="cannot edit with s/4") as caught:
        supervisor.edit("s/4")
    assert "unterminated" in str(caught.value)
    supervisor.start("fine")
    assert (program.state / "nginx.conf").read_text(encoding="ascii") == "fine;\n"
    supervisor.stop()


def test_a_stop_cleans_up_after_an_unfinished_binary_upgrade(supervisor: Supervisor, program: Program) -> None:
    supervisor.start("fine")
    (program.state / "nginx.pid").rename(program.state / "nginx.pid.oldbin")
    old = int((program.state / "nginx.pid.oldbin").read_text(encoding="ascii"))
    os.kill(old, signal.SIGKILL)
    (program.state / "nginx.pid").write_text("", encoding="ascii")
    supervisor.stop()
    assert not (program.state / "nginx.pid.oldbin").exists()


def test_a_file_is_written_with_its_size(supervisor: Supervisor, program: Program) -> None:
    """The file keeps its inode, since nginx may have it open. Before nginx starts, its folder does not exist."""
    with pytest.raises(LabError, match="page cannot be written"):
        supervisor.write("page", 10)
    (program.state / "changing").mkdir()
    supervisor.write("page", 10)
    inode = (program.state / "changing/page").stat().st_ino
    supervisor.write("page", 20)
    written = (program.state / "changing/page").stat()
    assert (written.st_size, written.st_ino) == (20, inode)


def test_a_log_with_any_bytes_is_returned_as_text(supervisor: Supervisor, program: Program) -> None:
    """Clients may send any bytes, which nginx logs."""
    with pytest.raises(LabError, match=r"error\.log cannot be read") as caught:
        supervisor.read("error.log")
    assert "No such file" in str(caught.value)
    program.log.mkdir()
    (program.log / "error.log").write_bytes(b'one "line"\n\xff\\x16\n')
    assert supervisor.read("error.log") == 'one "line"\n\ufffd\\x16\n'


def test_an_unknown_command_is_answered_with_an_error(program: Program) -> None:
    result = program.ask(Words(function="dance", arguments={"words": ()}, returns=Said)).answer
    assert (result.status, result.text) == (1, "no such command: dance\n")
