"""Work that takes too long ends with one sentence, and the alarm is off afterwards."""

import signal
from typing import NoReturn

import pytest

from tuneproof.cli.budget import bounded
from tuneproof.errors import BadInputError


def spin() -> NoReturn:
    while True:
        pass


def test_work_over_the_time_limit_ends_with_one_sentence() -> None:
    before = signal.getsignal(signal.SIGVTALRM)
    with pytest.raises(BadInputError, match=r"not finished after 0\.01 s of CPU time"), bounded(0.01):
        spin()
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
    assert signal.getsignal(signal.SIGVTALRM) is before


def test_work_within_the_time_limit_continues() -> None:
    with bounded(600):
        assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] > 0
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)
