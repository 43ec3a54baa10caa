"""The images of a run on several engines: the engine that builds them, and those that get copies."""

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from tuneproof.cli import engine_images
from tuneproof.cli.engine_images import images_for, provide_images
from tuneproof.errors import BadInputError, LabError
from tuneproof.lab.engine.images import ImageSpec
from tuneproof.lab.subject.versions import MAINLINE, SUITES

SPECS = images_for(())
ALL = {spec.tag for spec in SPECS}
ONE = SPECS[0].tag


@dataclass
class Engines:
    """Engines with their images, and the calls to them in order."""

    held: dict[str, set[str]]
    cannot_build: set[str] = field(default_factory=set)  # engines that cannot reach the packages
    refuse: set[str] = field(default_factory=set)  # engines that reject copies
    did: list[str] = field(default_factory=list)

    @property
    def environments(self) -> dict[str, dict[str, str]]:
        return {name: {"ENGINE": name} for name in self.held}

    def connect(self, *, timeout_s: int, environment: Mapping[str, str]) -> SimpleNamespace:
        assert timeout_s > 60
        return SimpleNamespace(name=environment["ENGINE"], close=lambda: self.did.append("close"))

    def missing(self, client: Any, specs: Sequence[ImageSpec]) -> list[ImageSpec]:
        return [spec for spec in specs if spec.tag not in self.held[client.name]]

    def ensure(self, client: Any, specs: Sequence[ImageSpec], *, report: Any, environment: Mapping[str, str]) -> None:
        assert environment["ENGINE"] == client.name
        if self.missing(client, specs):
            self.did.append(f"{client.name} builds")
            if client.name in self.cannot_build:
                raise LabError(f"building {specs[0].tag} failed.", remedy="see the end of the build's log")
            report("building image")
        self.held[client.name].update(spec.tag for spec in specs)

    def copy(self, source: Any, target: Any, specs: Sequence[ImageSpec], *, name: str, report: Any) -> None:
        assert name == target.name
        if name in self.refuse:
            raise LabError("copying failed: no space left on device")
        assert self.held[source.name] >= {spec.tag for spec in specs}
        report("copying image")
        self.did.append(f"{source.name} to {name}: {len(specs)}")
        self.held[name].update(spec.tag for spec in specs)


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Engines:
    """Replace Docker with three engines, of which only b has an image."""
    made = Engines({"a": set(), "b": {ONE}, "c": set()})
    monkeypatch.setattr(engine_images, "connect", made.connect)
    monkeypatch.setattr(engine_images, "missing_images", made.missing)
    monkeypatch.setattr(engine_images, "ensure_images", made.ensure)
    monkeypatch.setattr(engine_images, "copy_images", made.copy)
    return made


def provide(engines: Engines) -> list[str]:
    """Return the calls, with copies sorted by name."""
    provide_images(engines.environments, SPECS)
    *done, _, _, _ = engines.did
    assert engines.did == [*done, *["close"] * 3]
    # Copies are made in parallel, so their order varies.
    return [*(line for line in done if "builds" in line), *sorted(line for line in done if " to " in line)]


@pytest.mark.parametrize(
    ("changes", "did", "message"),
    [
        # The engine that lacks the fewest images builds them; the others get copies of the same bytes.
        ({}, ["b builds", "b to a: 4", "b to c: 4"], "engine b: building image"),
        ({"held": {"a": ALL, "b": {ONE}, "c": ALL - {ONE}}}, ["a to b: 3", "a to c: 1"], ""),
        ({"held": {"a": ALL, "b": ALL, "c": ALL}}, [], ""),
        # If an engine cannot reach the packages, the next one builds, and the first one gets copies.
        (
            {"cannot_build": {"b"}},
            ["b builds", "a builds", "a to b: 3", "a to c: 4"],
            f"lab: engine b cannot build the images: building {ONE} failed; trying the next engine\n",
        ),
        # An engine that cannot take a copy does not prevent copies to the others.
        (
            {"refuse": {"a"}},
            ["b builds", "b to c: 4"],
            "engine a gets no images: copying failed: no space left on device",
        ),
    ],
    ids=["one has one", "one has all", "all have all", "no packages", "no room"],
)
def test_one_engine_builds_and_the_others_get_copies_of_what_they_lack(
    changes: dict[str, Any], did: list[str], message: str, engines: Engines, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in changes.items():
        setattr(engines, name, copy.deepcopy(value))
    assert provide(engines) == did
    assert message in capsys.readouterr().err


def test_images_that_no_engine_can_build_end_the_run(engines: Engines) -> None:
    engines.cannot_build = set(engines.held)
    with pytest.raises(LabError, match="failed"):
        provide_images(engines.environments, SPECS)
    assert engines.did == ["b builds", "a builds", "c builds", *["close"] * 3]


def test_the_images_are_those_of_the_runs_versions() -> None:
    """The versions are those in pytest's arguments; without any, the default one, or all but mainline at depth full."""

    def suites(*arguments: str) -> list[str]:
        return [spec.suite for spec in images_for(arguments) if spec.name == "subject"]

    assert [spec.name for spec in SPECS] == ["backend", "client", "netadmin", "subject"]
    assert suites("--nginx", "1.18", "-k", "stall", "--nginx=1.26") == [SUITES["1.18"], SUITES["1.26"]]
    assert (
        suites("--depth", "full")
        == suites("--nginx", "all")
        == [suite for version, suite in SUITES.items() if version != MAINLINE]
    )
    with pytest.raises(BadInputError, match=r"--nginx 1\.2: no such version"):
        images_for(["--nginx", "1.2"])
