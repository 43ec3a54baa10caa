"""A lab that fails is removed and replaced with another one once the engine can be used again."""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from tuneproof.errors import CannotRunHereError, EngineUnavailableError, LabError, TuneproofError
from tuneproof.proof.scenario.containers import OwnNginxError
from tuneproof.proof.scenario.standing_lab import StandingLab

if TYPE_CHECKING:
    from tuneproof.lab.topology.lab import LabRemover


class Labs:
    """Makes labs, some of which do not start, and records all calls."""

    def __init__(self, *errors: TuneproofError | None) -> None:
        self.errors = [*errors]
        self.did: list[str] = []

    @contextmanager
    def lab(self) -> Iterator[int]:
        number = self.did.count("lab") + 1
        self.did.append("lab")
        try:
            yield number
        except TuneproofError as error:
            self.did.append(f"{number} removed after: {error.what}")
            raise
        self.did.append(f"{number} removed")

    def begin(self, number: int) -> Any:
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error
        return SimpleNamespace(number=number, prepare=lambda: self.did.append("prepared"))

    def standing(self) -> StandingLab:
        return StandingLab(
            cast("LabRemover", self),
            begin=cast("Any", self.begin),
            recover=lambda error: self.did.append(f"recovered from: {error.what}"),
            settle=lambda: self.did.append("settled"),
        )


REFUSED = LabError("refused")


@pytest.mark.parametrize("error", [REFUSED, EngineUnavailableError("refused")], ids=["lab", "engine"])
def test_a_failed_start_is_tried_once_more(error: TuneproofError) -> None:
    labs = Labs(error)
    with labs.standing() as standing:
        assert cast("Any", standing.start()).number == 2
    tried = ["lab", "1 removed after: refused", "recovered from: refused", "lab"]
    assert labs.did == [*tried, "settled", "prepared", "2 removed"]


@pytest.mark.parametrize(
    ("errors", "starts"),
    [((REFUSED, REFUSED), 2), ((OwnNginxError("emerg"),), 1), ((CannotRunHereError("one CPU"),), 1)],
    ids=["twice", "own nginx", "host"],
)
def test_errors_that_a_new_lab_cannot_fix_are_raised(errors: tuple[TuneproofError, ...], starts: int) -> None:
    labs = Labs(*errors)
    with pytest.raises(type(errors[-1]), match=errors[-1].what), labs.standing() as standing:
        standing.start()
    assert labs.did.count("lab") == starts
    assert f"{starts} removed after: {errors[-1].what}" in labs.did


def test_a_lab_that_fails_later_is_replaced_each_time() -> None:
    labs = Labs()
    with labs.standing() as standing:
        standing.start()
        for number in (2, 3):
            assert cast("Any", standing.renew(LabError("died"))).number == number
    assert labs.did.count("recovered from: died") == 2
    assert labs.did[-1] == "3 removed"
