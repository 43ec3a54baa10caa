"""Labs that have ended are removed while others start; all are removed, and errors are reported."""

import threading
import time
from typing import Any, Self

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.topology import lab
from tuneproof.lab.topology.lab import LabRemover


class SlowLab:
    """A lab with a removal that ends when the test allows it, and may fail."""

    removed: list["SlowLab"]
    may_end: threading.Event
    fault: LabError | None = None

    def __init__(self, session: Session, *, engines: object) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        assert self.may_end.wait(timeout=10)
        time.sleep(0.01)
        self.removed.append(self)
        if self.fault is not None:
            raise self.fault


@pytest.fixture
def slow_labs(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(SlowLab, "removed", [], raising=False)
    monkeypatch.setattr(SlowLab, "may_end", threading.Event(), raising=False)
    monkeypatch.setattr(lab, "Lab", SlowLab)
    return SlowLab


def test_the_next_lab_can_start_before_the_previous_one_is_gone(slow_labs: type[SlowLab]) -> None:
    remover = LabRemover(Session())
    with remover.lab():
        pass
    with remover.lab():
        assert not slow_labs.removed
        slow_labs.may_end.set()
        remover.wait()
        assert len(slow_labs.removed) == 1
    remover.wait()
    assert len(slow_labs.removed) == 2


def test_after_an_error_a_lab_is_removed_at_once(slow_labs: type[SlowLab]) -> None:
    slow_labs.may_end.set()
    with pytest.raises(LabError, match="died"), LabRemover(Session()).lab():
        raise LabError("the subject died")
    assert len(slow_labs.removed) == 1


def test_a_lab_that_cannot_be_removed_is_reported_once(
    slow_labs: type[SlowLab], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slow_labs, "fault", LabError("the network is still there"))
    remover = LabRemover(Session())
    for _ in range(8):
        with remover.lab():
            pass
    slow_labs.may_end.set()
    with pytest.raises(LabError, match="still there"):
        remover.wait()
    assert len(slow_labs.removed) == 8
    remover.wait()
