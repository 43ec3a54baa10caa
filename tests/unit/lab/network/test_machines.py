"""The paths between machines, measured between fake containers."""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.fake_netadmin import Program
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network import machines
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile
from tuneproof.lab.network.machines import MachinePath, NoPathError, measure_paths
from tuneproof.lab.network.shaped_links import PROBE_PORT
from tuneproof.lab.topology.placed import Engine, Engines
from tuneproof.lab.topology.roles import Role, RoleSpec

HERE, FAR, NEAR = Engine(name="here"), Engine(name="far"), Engine(name="near")


class Ends:
    """The ends of paths in a lab; the clock at the other end of each path is an hour ahead."""

    def __init__(self) -> None:
        self.specs: list[RoleSpec] = []
        self.program = Program()
        self.program.link = LinkProfile(egress=Impairment(rate_mbit=100), ingress=Impairment(rate_mbit=50))
        self.program.ahead_us = 3_600_000_000

    def start(self, specs: list[RoleSpec]) -> None:
        self.specs.extend(specs)

    def __getitem__(self, name: str) -> SimpleNamespace:
        return SimpleNamespace(spec=SimpleNamespace(name=name), address=lambda: "10.0.1.2", attach=lambda: self.program)


@pytest.fixture(autouse=True)
def ends(monkeypatch: pytest.MonkeyPatch) -> Ends:
    made = Ends()
    monkeypatch.setattr(machines, "Lab", lambda _session, *, engines: nullcontext(made))  # noqa: ARG005 - a signature
    return made


def paths(**by_role: Engine) -> Any:
    """Measure the paths in a lab with its nginx container on this machine."""
    engines = Engines(default=HERE, by_role={Role(role): engine for role, engine in by_role.items()}, manager=HERE)
    return measure_paths(Session(), engines, image="netadmin:1")


def test_every_other_machine_has_a_path_to_the_subjects_machine(ends: Ends) -> None:
    """A role on the subject's machine has no path. Roles on one machine share a path."""
    assert list(paths(client=FAR)) == [Role.CLIENT]
    assert [(spec.name, spec.goes_with) for spec in ends.specs] == [
        ("path-subject", Role.SUBJECT),
        ("path-client", Role.CLIENT),
    ]
    found = paths(client=FAR, backend=NEAR)
    assert {role: path.engine for role, path in found.items()} == {Role.CLIENT: "far", Role.BACKEND: "near"}
    ends.program.asked.clear()
    assert len(set(paths(client=FAR, backend=FAR).values())) == len(ends.program.of("probe_path")) == 1
    assert ends.program.of("answer_probes") == [{"port": PROBE_PORT}]


def test_a_path_contains_its_round_trip_its_rates_and_its_losses() -> None:
    path = paths(client=FAR)[Role.CLIENT]
    assert path.rtt_p10_ms <= path.rtt_p50_ms <= path.rtt_p90_ms < 1
    assert path.to_subject_mbit == pytest.approx(100, rel=0.05)
    assert path.from_subject_mbit == pytest.approx(50, rel=0.05)
    assert path.loss_pct == 0
    assert "delay" not in " ".join(path.to_json())


def test_a_path_is_described_in_words() -> None:
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
        "client on far: round trip 0.12 ms (p90 0.25 ms), 9,400 Mbit/s to nginx, 941 Mbit/s from nginx, 0.5 % lost"
    )


def test_a_path_without_any_answer_ends_the_run(ends: Ends) -> None:
    assert NoPathError.ends_run
    ends.program.hangs = 1
    with pytest.raises(NoPathError, match="no packets pass between the machines: none of 400 probes"):
        paths(client=FAR)
