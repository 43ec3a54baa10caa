"""The paths between machines, measured between containers that are not there."""

from dataclasses import replace
from typing import Any, Self, cast

import numpy as np
import pytest

from tests.support.simulated_links import measured
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network import machines
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.machines import MachinePath, NoPathError, measure_paths
from tuneproof.lab.protocol.links import PathSeen, ProbePath
from tuneproof.lab.topology.placed import Engine, Engines
from tuneproof.lab.topology.roles import Role, RoleSpec

HERE, FAR, NEAR = Engine(name="here"), Engine(name="far"), Engine(name="near")
LOADED = LinkProfile(egress=Impairment(rate_mbit=100), ingress=Impairment(rate_mbit=50))
AHEAD_US = 3_600_000_000


class FakeLab:
    """Holds ends of paths; each of them probes a path whose other clock is an hour ahead."""

    specs: list[RoleSpec]
    asked: list[ProbePath]
    passes = True
    printed = False

    def __init__(self, _session: Session, *, engines: Engines) -> None:
        self.engines = engines

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def start(self, specs: list[RoleSpec]) -> None:
        self.specs.extend(specs)

    def __getitem__(self, name: str) -> "FakeLab":
        return self

    def wait_for_log(self, text: str) -> str:
        """Have printed a line, after which it can be talked to."""
        assert text == "\n"
        self.printed = True
        return text

    def address(self) -> str:
        return "10.0.1.2"

    def answer_probes(self, port: int) -> None:
        assert self.printed
        assert port == 7450

    def probe_path(self, plan: ProbePath, *, answering: "FakeLab") -> PathSeen:
        answering.answer_probes(plan.port)
        self.asked.append(plan)
        seen = measured(LOADED, np.random.default_rng(7450), packets=plan.packets)
        if not self.passes:
            return replace(seen, there=(), back=())
        return replace(
            seen,
            there=tuple((number, us + AHEAD_US) for number, us in seen.there),
            back=tuple((number, us - AHEAD_US, both) for number, us, both in seen.back),
        )


@pytest.fixture(autouse=True)
def lab(monkeypatch: pytest.MonkeyPatch) -> type[FakeLab]:
    """Nothing here reaches an engine."""
    monkeypatch.setattr(FakeLab, "specs", [], raising=False)
    monkeypatch.setattr(FakeLab, "asked", [], raising=False)
    monkeypatch.setattr(machines, "Lab", FakeLab)
    monkeypatch.setattr(machines, "LinkAgent", lambda container: container)
    return FakeLab


def paths(**by_role: Engine) -> Any:
    """Measure the paths of a lab whose subject is here."""
    engines = Engines(default=HERE, by_role={Role(role): engine for role, engine in by_role.items()}, manager=HERE)
    return measure_paths(cast("Session", None), engines, image="netadmin:1")


def test_each_machine_has_a_path_to_the_subjects(lab: type[FakeLab]) -> None:
    """By the role that is there; a role beside the subject has none, and two roles on one machine share its path."""
    assert list(paths(client=FAR)) == [Role.CLIENT]
    assert [(spec.name, spec.goes_with) for spec in lab.specs] == [
        ("path-subject", Role.SUBJECT),
        ("path-client", Role.CLIENT),
    ]
    found = paths(client=FAR, backend=NEAR)
    assert {role: path.engine for role, path in found.items()} == {Role.CLIENT: "far", Role.BACKEND: "near"}
    lab.asked.clear()
    assert len(set(paths(client=FAR, backend=FAR).values())) == len(lab.asked) == 1


def test_a_path_is_its_round_trip_its_rates_and_its_losses() -> None:
    path = paths(client=FAR)[Role.CLIENT]
    assert path.rtt_p10_ms <= path.rtt_p50_ms <= path.rtt_p90_ms < 1
    assert path.to_subject_mbit == pytest.approx(100, rel=0.05)
    assert path.from_subject_mbit == pytest.approx(50, rel=0.05)
    assert path.loss_pct == 0
    assert "delay" not in " ".join(path.to_json())


def test_a_path_in_words() -> None:
    """As a run tells it, with its unit beside each figure."""
    path = MachinePath(
        engine="far",
        rtt_p10_ms=0.1,
        rtt_p50_ms=0.123,
        rtt_p90_ms=0.25,
        loss_pct=0.5,
        to_subject_mbit=9400.4,
        from_subject_mbit=941.2,
    )
    assert path.line("client") == (
        "client on far: round trip 0.12 ms (p90 0.25 ms), 9,400 Mbit/s to the subject, 941 Mbit/s from it, 0.5 % lost"
    )


def test_a_path_that_passes_nothing_is_an_error(monkeypatch: pytest.MonkeyPatch, lab: type[FakeLab]) -> None:
    """Before anything relies on it: nothing else is tried then."""
    assert NoPathError.ends_run
    monkeypatch.setattr(lab, "passes", False)
    with pytest.raises(NoPathError, match="the path between the machines passes nothing: none of 400 probes"):
        paths(client=FAR)
