"""The shaper is chosen by the user, or after a trial on the host."""

import pytest

from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network import shaper
from tuneproof.lab.network.shaper import choose_shaper, why_impossible


@pytest.mark.parametrize(
    ("requested", "impossible", "chosen"),
    [
        ("auto", {"native": "", "wire": ""}, "native"),
        ("auto", {"native": "no netem", "wire": ""}, "wire"),
        ("native", {"native": "", "wire": "no tun"}, "native"),
        ("wire", {"native": "", "wire": ""}, "wire"),
    ],
)
def test_native_shaping_is_preferred_unless_another_shaper_is_requested(
    requested: str, impossible: dict[str, str], chosen: str
) -> None:
    """A wire takes CPU time and memory."""
    assert choose_shaper(requested, impossible) == chosen


@pytest.mark.parametrize(
    ("requested", "impossible", "reasons"),
    [
        ("auto", {"native": "no netem", "wire": "no tun"}, "native: no netem; wire: no tun"),
        ("native", {"native": "no netem", "wire": ""}, "native: no netem"),
        ("wire", {"native": "", "wire": "no tun"}, "wire: no tun"),
    ],
)
def test_an_impossible_request_is_reported_with_its_reason(
    requested: str, impossible: dict[str, str], reasons: str
) -> None:
    with pytest.raises(CannotRunHereError) as caught:
        choose_shaper(requested, impossible)
    assert caught.value.what == f"no link can be shaped on this host: {reasons}"
    assert caught.value.exit_status == 3
    assert "load sch_netem and ifb" in caught.value.remedy


def test_a_refusal_that_is_not_about_the_device_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[tuple[str, ...]] = []

    def refuse(*_: object, devices: tuple[str, ...], engines: object) -> dict[str, str]:
        del engines
        tried.append(devices)
        raise LabError("no space left on device")

    monkeypatch.setattr(shaper, "_try", refuse)
    with pytest.raises(LabError, match="no space left on device"):
        why_impossible(Session(), "netadmin:1")
    assert len(tried) == 1
