"""Functions run in separate processes."""

import os
from dataclasses import dataclass
from multiprocessing.connection import Connection

import pytest

from tuneproof.lab.protocol.children import Child


@dataclass(frozen=True, kw_only=True)
class Counted:
    pid: int
    values: tuple[int, ...]


def test_a_child_in_another_process_receives_and_sends_messages_and_returns_its_result() -> None:
    def work(pipe: Connection) -> Counted:
        pipe.send(f"ready for {pipe.recv()}")
        return Counted(pid=os.getpid(), values=tuple(range(100_000)))

    child = Child(work)
    child.pipe.send("more")
    assert child.receive() == "ready for more"
    result = child.result()
    assert result.pid != os.getpid()
    assert result.values == tuple(range(100_000))


def test_a_child_that_fails_is_an_error_and_its_traceback_is_printed(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def fail(_pipe: Connection) -> Counted:
        raise OSError("no route")

    with pytest.raises(ChildProcessError, match="ended with status 1"):
        Child(fail).result()
    assert "OSError: no route" in capfd.readouterr().err


def test_a_child_that_is_killed_is_an_error() -> None:
    def die(_pipe: Connection) -> Counted:
        os.kill(os.getpid(), 9)
        return Counted(pid=0, values=())

    with pytest.raises(ChildProcessError, match="ended with status -9"):
        Child(die).result()
