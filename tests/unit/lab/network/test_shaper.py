"""Where links are shaped: tried on the host, then chosen."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self, cast

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.network import shaper
from tuneproof.lab.network.shaper import NoShaperError, choose_shaper, why_impossible
from tuneproof.lab.topology.roles import RoleSpec

if TYPE_CHECKING:
    from tuneproof.lab.engine.labels import Session


@pytest.mark.parametrize(
    ("asked", "impossible", "chosen"),
    [
        ("auto", {"native": "", "wire": ""}, "native"),
        ("auto", {"native": "", "wire": "no tun"}, "native"),
        ("auto", {"native": "no netem", "wire": ""}, "wire"),
        ("native", {"native": "", "wire": "no tun"}, "native"),
        ("wire", {"native": "no netem", "wire": ""}, "wire"),
        ("wire", {"native": "", "wire": ""}, "wire"),
    ],
)
def test_native_comes_first_unless_something_else_was_asked_for(
    asked: str, impossible: dict[str, str], chosen: str
) -> None:
    """A wire costs CPU and memory."""
    assert choose_shaper(asked, impossible) == chosen


@pytest.mark.parametrize(
    ("asked", "impossible", "reasons"),
    [
        ("auto", {"native": "no netem", "wire": "no tun"}, "native: no netem; wire: no tun"),
        ("native", {"native": "no netem", "wire": ""}, "native: no netem"),
        ("wire", {"native": "", "wire": "no tun"}, "wire: no tun"),
    ],
)
def test_what_was_asked_for_and_is_impossible_is_said_with_its_reason(
    asked: str, impossible: dict[str, str], reasons: str
) -> None:
    """Nothing else is taken in its place."""
    with pytest.raises(NoShaperError) as caught:
        choose_shaper(asked, impossible)
    assert caught.value.what == f"no link can be shaped on this host: {reasons}"
    assert caught.value.exit_status == 3
    assert "load sch_netem and ifb" in caught.value.remedy


class Engine:
    """Stands in for labs on one host, and for the program in their containers.

    Args:
        refuses: Says why a container cannot start; empty when it can.
    """

    def __init__(self, refuses: Callable[[RoleSpec], str]) -> None:
        self._refuses = refuses
        self.specs: list[RoleSpec] = []
        self.labs: list[str] = []

    def __call__(self, _session: object, *, engines: object) -> Self:
        """Return this object, where a new lab is wanted."""
        assert engines is None
        return self

    def __enter__(self) -> Self:
        self.labs.append("made")
        return self

    def __exit__(self, *_: object) -> None:
        self.labs.append("removed")

    def start(self, specs: list[RoleSpec]) -> None:
        """Start one container, or refuse it."""
        (spec,) = specs
        self.specs.append(spec)
        if reason := self._refuses(spec):
            raise LabError(reason)

    def __getitem__(self, name: str) -> str:
        return name


def tried(monkeypatch: pytest.MonkeyPatch, refuses: Callable[[RoleSpec], str]) -> tuple[Any, Engine]:
    """Ask what is impossible on a host; return the answer, or the error."""
    engine = Engine(refuses)

    class Agent:
        def __init__(self, name: str) -> None:
            assert name == "shaper-trial"

        def shapers(self) -> dict[str, str]:
            return {"native": "no netem", "wire": "" if engine.specs[-1].devices else "cannot be opened"}

    monkeypatch.setattr(shaper, "Lab", engine)
    monkeypatch.setattr(shaper, "LinkAgent", Agent)
    try:
        return why_impossible(cast("Session", None), "netadmin:1", tun="/dev/net/tun"), engine
    except LabError as error:
        return error, engine


def test_what_the_trial_container_found_is_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has what a wire would have, and is gone afterwards."""
    impossible, engine = tried(monkeypatch, lambda _: "")
    assert impossible == {"native": "no netem", "wire": ""}
    (spec,) = engine.specs
    assert (spec.devices, spec.memory_folders, spec.capabilities) == (
        ("/dev/net/tun",),
        ("/wire",),
        ("NET_ADMIN", "NET_RAW"),
    )
    assert spec.answers
    assert engine.labs == ["made", "removed"]


def test_a_host_without_the_device_is_tried_again_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine refuses such a container; what is native can still be there."""
    impossible, engine = tried(
        monkeypatch, lambda spec: "error gathering device information: /dev/net/tun" if spec.devices else ""
    )
    assert impossible == {"native": "no netem", "wire": "the engine's host has no /dev/net/tun"}
    assert [spec.devices for spec in engine.specs] == [("/dev/net/tun",), ()]
    assert engine.labs == ["made", "removed"] * 2


def test_an_engine_that_refuses_for_another_reason_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would say nothing about shapers."""
    error, engine = tried(monkeypatch, lambda _: "no space left on device")
    assert isinstance(error, LabError)
    assert error.what == "no space left on device"
    assert len(engine.specs) == 1
    assert engine.labs == ["made", "removed"]
