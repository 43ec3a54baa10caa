"""The reason why bpftrace cannot run is reported, with a remedy if it is known; shell scripts replace bpftrace."""

import os
import platform
import resource
from pathlib import Path

import pytest

from tuneproof.errors import BadInputError, CannotRunHereError
from tuneproof.watch import tracer
from tuneproof.watch.tracer import Tracer, check_host, check_namespace


@pytest.fixture
def bpftrace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Install a program called bpftrace for a test to change; this process seems to be root on a suitable kernel."""
    program = tmp_path / "bin" / "bpftrace"
    program.parent.mkdir()
    (tmp_path / "tracing" / "events").mkdir(parents=True)
    monkeypatch.setattr(tracer, "_TRACING", tmp_path / "tracing")
    monkeypatch.setattr(tracer, "_LOCKDOWN", tmp_path / "lockdown")
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    becomes(program, "echo bpftrace v0.17.0")
    return program


def becomes(program: Path, commands: str) -> None:
    program.write_text(f"#!/bin/sh\n{commands}\n")
    program.chmod(0o755)


def why(commands: str, program: Path) -> CannotRunHereError:
    becomes(program, commands)
    running = Tracer("BEGIN {}")
    try:
        for _ in range(50):
            running.line(0.1)
    except CannotRunHereError as error:
        return error
    finally:
        running.close()
    raise AssertionError("the program did not end")


def test_a_host_that_lacks_nothing_is_suitable(bpftrace: Path) -> None:
    assert bpftrace.exists()
    check_host()


def test_each_unmet_requirement_of_the_host_is_named(
    bpftrace: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    becomes(bpftrace, "echo bpftrace v0.9.4")
    with pytest.raises(CannotRunHereError, match=r"too old: bpftrace v0\.9\.4; 0\.17 or later"):
        check_host()
    becomes(bpftrace, "echo libbcc.so.0 is missing >&2; exit 127")
    with pytest.raises(CannotRunHereError, match=r"no version(.|\n)*libbcc.so.0 is missing"):
        check_host()
    becomes(bpftrace, "exec sleep 9")
    with monkeypatch.context() as hurried:
        hurried.setattr(tracer, "_VERSION_WITHIN_S", 0.01)
        with pytest.raises(CannotRunHereError, match=r"does not start: .* timed out"):
            check_host()
    becomes(bpftrace, "echo bpftrace v0.20.2")
    (tmp_path / "lockdown").write_text("none integrity [confidentiality]\n")
    with pytest.raises(CannotRunHereError, match="locked down"):
        check_host()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotRunHereError, match=r"not installed(.|\n)*apt-get install bpftrace"):
        check_host()
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(CannotRunHereError, match=r"needs root(.|\n)*watch URL"):
        check_host()


@pytest.mark.parametrize(
    ("commands", "message"),
    [
        (
            "echo 'ERROR: tracepoint not found: syscalls:sys_enter_epoll_wait' >&2; exit 1",
            "does not offer system-call tracepoints",
        ),
        ("echo 'ERROR: bpf: Operation not permitted' >&2; exit 1", "refuses BPF programs"),
        ("echo 'ERROR: Error loading program: tracepoint:sched:sched_switch' >&2; exit 1", "refuses BPF programs"),
        ('echo "ERROR: couldn\'t set RLIMIT_MEMLOCK for bpftrace" >&2; echo odd >&2; exit 7', "ended with status 7"),
    ],
)
def test_the_reason_for_the_end_of_bpftrace_is_reported_with_its_last_lines(
    bpftrace: Path, commands: str, message: str
) -> None:
    error = why(commands, bpftrace)
    assert message in error.what
    assert error.tail.splitlines()[-1] in commands


WARNED = 'echo "ERROR: couldn\'t set RLIMIT_MEMLOCK for bpftrace" >&2; '
MORE = "".join(f"echo 'map {number}' >&2; " for number in range(8))
REFUSED = "echo \"ERROR: failed to create map: '@start': Operation not permitted\" >&2; exit 1"
NO_MEMORY = "echo \"ERROR: failed to create map: '@start': Cannot allocate memory\" >&2; exit 1"


@pytest.mark.parametrize(
    ("commands", "kernel", "message"),
    [
        (WARNED + MORE + REFUSED, "5.10.0-28-amd64", "limit of locked memory is too low for BPF maps: 64 KiB"),
        (REFUSED, "5.10.0-28-amd64", "refuses BPF programs"),
        (WARNED + REFUSED, "5.11.0", "refuses BPF programs"),
        (WARNED + NO_MEMORY, "6.1.0", "Too little memory for BPF maps"),
    ],
    ids=["limit", "limit-is-fine", "kernel-without-that-limit", "cgroup"],
)
def test_a_lack_of_memory_for_maps_is_distinguished_from_a_refusal(
    bpftrace: Path, monkeypatch: pytest.MonkeyPatch, commands: str, kernel: str, message: str
) -> None:
    """Only old kernels apply RLIMIT_MEMLOCK to maps; bpftrace warns on any kernel if it may not raise the limit."""
    monkeypatch.setattr(platform, "release", lambda: kernel)
    monkeypatch.setattr(resource, "getrlimit", lambda _: (65536, 65536))
    monkeypatch.setattr(tracer, "_is_administrator", lambda: True)
    error = why(commands, bpftrace)
    assert message in error.what
    if "locked" in message:
        assert "ulimit -l unlimited" in error.remedy


def test_lines_are_read_and_closing_ends_the_program(bpftrace: Path) -> None:
    becomes(bpftrace, "echo one; exec sleep 1000")
    running = Tracer("BEGIN {}")
    assert running.line(5) == "one\n"
    assert running.line(0.01) is None
    running.close()
    assert not Path(f"/proc/{running.pid}").exists()


def test_another_pid_namespace_is_reported(bpftrace: Path) -> None:
    """The kernel's own process id for bpftrace then differs from the one in this namespace."""
    becomes(bpftrace, "exec sleep 1000")
    running = Tracer("BEGIN {}")
    try:
        check_namespace(running, running.pid)
        with pytest.raises(BadInputError, match="PID namespace"):
            check_namespace(running, running.pid + 1)
    finally:
        running.close()
