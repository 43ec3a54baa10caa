"""A wire's kernel process starts, answers calls, dies and is stopped; a script replaces the kernel."""

import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from images.netadmin.netadmin import wire as wire_module
from images.netadmin.netadmin.wire import KERNEL, Wire, WireError, why_impossible

# Like guest.py, the script answers on the serial line. First it prints what a kernel prints before it has a console.
PEER = """
import json, sys
print("Core dump limits :\\n\\tsoft - 0", flush=True)
sys.stderr.write("Linux version\\n")
sys.stderr.flush()
def say(answer):
    print(json.dumps(answer), flush=True)
def hear():
    return json.loads(sys.stdin.readline())
say({"waiting": True})
assert hear() == {"join": True}
say({"joined": True})
while True:
    question = hear()
"""
OBEDIENT = "    say({'echo': question})\n"


class Kernels:
    """A program on PATH with the kernel's name, and the changes to the links."""

    def __init__(self, folder: Path) -> None:
        self._program = folder / KERNEL
        self.log = folder / "wire.log"
        self.plumbed: list[str] = []

    def install(self, script: str) -> None:
        """Let a Python script replace the kernel."""
        self._program.write_text(f"#!{sys.executable}\n{script}", encoding="utf-8")
        self._program.chmod(0o755)


@pytest.fixture
def kernels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Kernels:
    """Make a wire possible here, with a kernel that echoes its calls."""
    made = Kernels(tmp_path)
    made.install(PEER + OBEDIENT)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr(wire_module, "TUN", Path(os.devnull))
    monkeypatch.setattr(wire_module, "MEMORY_FOLDER", Path("/proc"))
    monkeypatch.setattr(wire_module, "REGISTERS_LIBRARY", "")
    monkeypatch.setattr(wire_module, "LOG", made.log)
    monkeypatch.setattr(wire_module, "_plumb", made.plumbed.append)
    return made


@pytest.fixture
def wire(kernels: Kernels) -> Iterator[Wire]:
    assert kernels.plumbed == []
    made = Wire()
    yield made
    made.stop()


def pid_of(wire: Wire) -> int:
    assert wire._kernel is not None
    return wire._kernel.pid


@pytest.mark.usefixtures("kernels")
def test_calls_are_answered_in_order(wire: Wire) -> None:
    wire.start()
    long = {"shape": ["x" * 1000] * 200}
    assert wire.ask({"memory": True}) == {"echo": {"memory": True}}
    assert wire.ask(long) == {"echo": long}


def test_an_error_inside_the_wire_is_reported(kernels: Kernels, wire: Wire) -> None:
    kernels.install(PEER + "    say({'error': 'NetlinkError: no such qdisc'})\n")
    wire.start()
    with pytest.raises(WireError, match=r"^inside the wire: NetlinkError: no such qdisc$"):
        wire.ask({"shape": {}})
    assert wire.alive


@pytest.mark.parametrize(
    "script",
    ["import sys\nsys.exit(3)\n", "print('{\"waiting\": true}', flush=True)\nimport sys\nsys.exit(3)\n"],
    ids=["at-once", "before-it-joined"],
)
def test_a_kernel_that_does_not_start_is_reported_with_its_status(kernels: Kernels, wire: Wire, script: str) -> None:
    kernels.install(script)
    with pytest.raises(WireError, match=r"^the wire's kernel ended with status 3$"):
        wire.start()
    assert not wire.alive


def test_a_killed_kernel_is_noticed_and_can_be_started_again(kernels: Kernels, wire: Wire) -> None:
    """Output before the kernel has joined the links is skipped; its messages go to the log.

    After its death, the links get back the names that the new kernel expects.
    """
    assert not wire.alive
    assert 0 < wire.start() < 20
    wire.lead_through(through=True)
    first = pid_of(wire)
    os.kill(first, 9)
    for _ in range(2):
        with pytest.raises(WireError, match=r"^the wire's kernel ended with status -9$"):
            wire.ask({"shape": {}})
    assert not wire.alive
    wire.start()
    assert pid_of(wire) != first
    assert wire.ask({"memory": True}) == {"echo": {"memory": True}}
    assert kernels.plumbed == ["lay", "through", "past", "lay"]
    assert kernels.log.read_text(encoding="utf-8") == "Linux version\n" * 2


def test_restarting_a_wire_ends_the_old_kernel_first(wire: Wire) -> None:
    """Two kernels cannot use the same links."""
    wire.start()
    first = pid_of(wire)
    wire.start()
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_a_silent_kernel_is_killed_at_the_time_limit(
    kernels: Kernels, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late response would be taken for the next call's."""
    kernels.install(PEER + "    pass\n")
    wire.start()
    monkeypatch.setattr(wire_module, "_ANSWER_WITHIN_S", 0.05)
    with pytest.raises(WireError, match=r"^the wire's kernel did not answer within 0\.05 s$"):
        wire.ask({"shape": {}})
    with pytest.raises(WireError, match="ended with status -9"):
        wire.ask({"memory": True})
    kernels.install("import time\nprint('noise', flush=True)\ntime.sleep(60)\n")
    monkeypatch.setattr(wire_module, "_READY_WITHIN_S", 0.3)
    with pytest.raises(WireError, match=r"did not answer within 0\.3 s"):
        wire.start()


def test_the_role_is_moved_to_or_from_the_wire_only_if_necessary(kernels: Kernels, wire: Wire) -> None:
    wire.start()
    for through in (False, True, True, False, False, True):
        wire.lead_through(through=through)
    assert kernels.plumbed == ["lay", "through", "past", "through"]


def test_links_that_cannot_be_changed_are_tried_again(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failure, the role does not count as connected to the wire."""
    tried: list[str] = []

    def fail(how: str) -> None:
        tried.append(how)
        raise WireError("links cannot be changed")

    wire.start()
    monkeypatch.setattr(wire_module, "_plumb", fail)
    for _ in range(2):
        with pytest.raises(WireError, match="cannot be changed"):
            wire.lead_through(through=True)
    assert tried == ["through", "through"]


def test_an_ended_wire_has_no_process_and_does_not_accept_calls(wire: Wire) -> None:
    wire.start()
    pid = pid_of(wire)
    for _ in range(2):
        wire.stop()
        assert (wire.alive, wire._kernel) == (False, None)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    with pytest.raises(WireError, match=r"^the wire has not been started$"):
        wire.ask({"memory": True})


def test_a_wire_needs_its_kernel_its_device_and_a_mount_for_its_memory(
    tmp_path: Path, kernels: Kernels, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container's own file system may forbid mapping code. Debian packages the kernel only for some architectures."""
    assert why_impossible() == ""
    monkeypatch.setattr(wire_module, "MEMORY_FOLDER", tmp_path)
    assert why_impossible() == f"no file system is mounted at {tmp_path}"
    monkeypatch.setattr(wire_module, "TUN", tmp_path / "tun")
    assert why_impossible() == f"{tmp_path}/tun cannot be opened ({os.strerror(errno.ENOENT)})"
    monkeypatch.setenv("PATH", str(tmp_path / "nowhere"))
    reason = "the image has no linux.uml: no such package for this architecture"
    assert why_impossible() == reason
    with pytest.raises(WireError, match=f"^{reason}$"):
        wire.start()
    assert kernels.plumbed == []
