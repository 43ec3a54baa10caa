"""A dead engine's state is cleared; the processes and sockets in these tests are real."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tuneproof.lab.engine.leftovers import EnginePaths, clear_leftovers, find_dockerd, is_alive

STATE = ("containerd.pid", "containerd.sock", "containerd.sock.ttrpc", "containerd-debug.sock")


@pytest.fixture
def paths(tmp_path: Path) -> EnginePaths:
    """Return paths in a temporary folder, but the real process table."""
    folder = tmp_path / "containerd"
    folder.mkdir()
    for name in (*STATE, "containerd.toml"):
        (folder / name).touch()
    return EnginePaths(
        pid_file=tmp_path / "docker.pid", containerd_dir=folder, containerd_socket=tmp_path / "system.sock"
    )


SLEEP = "import time\nprint(flush=True)\ntime.sleep(60)\n"
RUN_ARGUMENTS = "import subprocess, sys\nsubprocess.run(sys.argv[1:])\n"


def write_program(folder: Path, name: str, source: str = SLEEP) -> Path:
    """Write a Python program with this ``name`` in the process table.

    The kernel uses a script's own name, cut to 15 characters, for the process: proc_pid_comm(5).
    """
    script = folder / "programs" / name
    script.parent.mkdir(exist_ok=True)
    script.write_text(f"#!{sys.executable}\n{source}", encoding="utf-8")
    script.chmod(0o755)
    return script


@contextmanager
def started(*command: object) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a program and its children until the block ends; the block begins after the first line of output."""
    with subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, start_new_session=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            os.killpg(process.pid, signal.SIGKILL)


def test_a_dead_dockerd_is_not_found_even_before_its_parent_has_waited_for_it(
    paths: EnginePaths, tmp_path: Path
) -> None:
    with started(write_program(tmp_path, "dockerd")) as process:
        paths.pid_file.write_text(str(process.pid), encoding="utf-8")
        process.kill()
        deadline = time.monotonic() + 30
        while is_alive(paths, process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert Path(f"/proc/{process.pid}").exists()
        assert find_dockerd(paths) is None


def test_pid_files_and_sockets_of_a_dead_containerd_are_removed_and_the_rest_stays(paths: EnginePaths) -> None:
    """The configuration may stay, since dockerd rewrites it."""
    paths.pid_file.write_text("3999999", encoding="utf-8")
    clear_leftovers(paths)
    assert not paths.pid_file.exists()
    assert [path.name for path in paths.containerd_dir.iterdir()] == ["containerd.toml"]


def test_an_orphaned_containerd_is_terminated(paths: EnginePaths, tmp_path: Path) -> None:
    """Its dockerd was killed, and the next dockerd could not use the same files."""
    with started(
        write_program(tmp_path, "containerd"), "--config", paths.containerd_dir / "containerd.toml"
    ) as process:
        clear_leftovers(paths)
        assert not is_alive(paths, process.pid)
    assert not (paths.containerd_dir / "containerd.pid").exists()


@pytest.mark.parametrize("name", ["containerd", "containerd-shim"])
def test_other_containerds_and_the_shims_of_containers_stay_alive(
    name: str, paths: EnginePaths, tmp_path: Path
) -> None:
    """A separate containerd service has another folder. A shim has dockerd's folder, but its container is running."""
    folder = "/run/containerd" if name == "containerd" else paths.containerd_dir
    with started(write_program(tmp_path, name), "--address", f"{folder}/containerd.sock") as process:
        clear_leftovers(paths)
        assert is_alive(paths, process.pid)


def test_the_containerd_of_a_running_dockerd_keeps_its_files(paths: EnginePaths, tmp_path: Path) -> None:
    """The dockerd may not have written its pid file yet."""
    dockerd = write_program(tmp_path, "dockerd", RUN_ARGUMENTS)
    containerd = write_program(tmp_path, "containerd")
    with started(dockerd, containerd, "--config", paths.containerd_dir / "containerd.toml"):
        clear_leftovers(paths)
    assert {path.name for path in paths.containerd_dir.iterdir()} >= set(STATE)


@pytest.mark.parametrize("listens", [False, True])
def test_only_a_socket_without_a_listener_is_removed(paths: EnginePaths, *, listens: bool) -> None:
    """If the socket file of a containerd service exists, dockerd waits for that service."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(paths.containerd_socket))
        if listens:
            server.listen()
        clear_leftovers(paths)
    assert paths.containerd_socket.exists() == listens
