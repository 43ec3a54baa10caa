"""Who made a resource, and whether its maker has certainly ended."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tuneproof.lab.engine.labels import OWNER, PROJECT, SESSION, Owner, Session


@pytest.mark.parametrize(
    ("changes", "dead"),
    [
        ({"start_ticks": 1}, True),
        ({"pid": 2**22 + 1}, True),
        ({"boot": "00000000-0000-0000-0000-000000000000", "pid": 2**22 + 1}, False),
        ({"pid_namespace": "pid:[1]", "pid": 2**22 + 1}, False),
        ({"machine": "elsewhere", "pid": 2**22 + 1, "start_ticks": 1}, False),
    ],
    ids=["reused-pid", "gone", "other-machine-of-that-name", "other-pid-namespace", "other-machine"],
)
def test_a_process_is_named_by_machine_boot_namespace_pid_and_start(changes: dict[str, Any], dead: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """A reused process id is another process; processes elsewhere cannot be checked here."""
    assert dataclasses.replace(Owner.current(), **changes).is_dead() is dead


def test_a_process_that_has_ended_is_dead() -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE) as process:
        owner = dataclasses.replace(Owner.current(), pid=process.pid, start_ticks=_start_ticks(process.pid))
        assert not owner.is_dead()
    assert owner.is_dead()


def _start_ticks(pid: int) -> int:
    stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    return int(stat.rpartition(")")[2].split()[19])


@pytest.mark.parametrize("machine", ["host", "host.example.org", "odd/name"])
def test_an_owner_can_be_stored_in_a_label(machine: str) -> None:
    """Only the host's name may contain the separator."""
    owner = Owner(machine=machine, boot="b-o-o-t", pid_namespace="pid:[7]", pid=42, start_ticks=123456)
    assert Owner.from_label(owner.to_label()) == owner


@pytest.mark.parametrize("label", ["", "host/boot/1", "host/boot/1/2", "host/boot/pid:[7]/pid/ticks"])
def test_a_label_from_elsewhere_is_rejected(label: str) -> None:
    with pytest.raises(ValueError, match=r"unpack|invalid literal"):
        Owner.from_label(label)


def test_everything_in_a_session_has_project_session_and_owner() -> None:
    session = Session()
    assert session.labels == {
        PROJECT: "tuneproof",
        SESSION: session.id,
        OWNER: session.owner.to_label(),
    }
    assert session.owner.pid == os.getpid()
    assert Session().id != session.id
