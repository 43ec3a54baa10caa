"""Work that uses too much CPU time ends with one sentence, and its timer is off afterwards."""

import gc
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.command_line import Lab
from tuneproof.cli import audit, budget, upgrade
from tuneproof.cli.budget import bounded
from tuneproof.errors import BadInputError


@pytest.fixture(autouse=True)
def _no_collection() -> Iterator[None]:
    """Disable garbage collection: Python drops exceptions in Hypothesis's gc callback, and pytest would report them."""
    gc.disable()
    yield
    gc.enable()


def spin() -> None:
    until_s = time.process_time() + 10
    while time.process_time() < until_s:
        pass


def test_work_over_the_time_limit_ends_with_one_sentence() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(BadInputError, match=r"not finished after 0\.01 s of CPU time"), bounded(0.01):
        spin()
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_the_limit_still_holds_if_its_first_exception_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """For example, Python drops exceptions in finalizers."""
    monkeypatch.setattr(budget, "_AGAIN_S", 0.01)

    def lose_one() -> None:
        with suppress(BadInputError):
            spin()
        spin()

    with pytest.raises(BadInputError), bounded(0.01):
        lose_one()


def test_the_timer_is_off_after_work_within_the_time_limit() -> None:
    with bounded(600):
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("module", "words"),
    [(audit, ("audit",)), (upgrade, ("upgrade", "--from", "1.22", "--to", "1.30"))],
    ids=["audit", "upgrade"],
)
def test_a_file_that_takes_too_long_ends_its_command(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: ModuleType, words: Sequence[str]
) -> None:
    conf = tmp_path / "nginx.conf"
    servers = "".join(f"server {{ listen {number}; server_name a{number}; }}\n" for number in range(1, 3000))
    conf.write_text(f"events {{ }}\nhttp {{ {servers} }}\n", encoding="utf-8")
    monkeypatch.setattr(module, "bounded", partial(bounded, 0.05))
    status, _, err = lab(*words, str(conf))
    assert (status, "not finished after 0.05 s of CPU time" in err) == (2, True)
