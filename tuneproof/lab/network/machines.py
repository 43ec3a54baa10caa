"""The paths between the machines of a placed lab, measured before the lab starts."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from tuneproof.errors import CannotRunHereError, LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.network.agent import agent_in, probe_path
from tuneproof.lab.network.path import LinkFigures, on_one_clock, other_ahead_us
from tuneproof.lab.network.shaped_links import PROBE_PORT
from tuneproof.lab.network.shaper import CAPABILITIES
from tuneproof.lab.protocol.links import LoadPlan, ProbePath
from tuneproof.lab.protocol.netadmin import Agent
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.placed import PLACEABLE, Engines
from tuneproof.lab.topology.roles import Role, RoleSpec

_PACKETS: Final = 400
_INTERVAL_S: Final = 0.002
_PAYLOAD_BYTES: Final = 64
_LINGER_S: Final = 0.2
_LOAD_S: Final = 1.0


class NoPathError(CannotRunHereError):
    """The machines of a placed lab cannot reach each other as needed."""

    ends_run = True


@dataclass(frozen=True, kw_only=True)
class MachinePath:
    """The path between a role's machine and the subject's."""

    engine: str  # The name of the role's engine
    rtt_p10_ms: float
    rtt_p50_ms: float
    rtt_p90_ms: float
    loss_pct: float  # Lost probes, in either direction
    to_subject_mbit: float  # Throughput of one TCP stream to the subject, in 10^6 bit/s
    from_subject_mbit: float  # Throughput in the other direction

    @classmethod
    def from_figures(cls, figures: LinkFigures, *, engine: str) -> Self:
        """Build from a measurement, without one-way delays, since those come from two different clocks."""
        lost = figures.egress.lost + figures.ingress.lost
        return cls(
            engine=engine,
            rtt_p10_ms=figures.rtt_p10_ms,
            rtt_p50_ms=figures.rtt_p50_ms,
            rtt_p90_ms=figures.rtt_p90_ms,
            loss_pct=100 * lost / figures.egress.packets,
            to_subject_mbit=figures.egress.rate_mbit or 0.0,
            from_subject_mbit=figures.ingress.rate_mbit or 0.0,
        )

    def to_json(self) -> dict[str, Any]:
        """Return the path in the form of results.json."""
        return asdict(self)

    def line(self, role: str) -> str:
        """Return the path in words."""
        return (
            f"{role} on {self.engine}: round trip {self.rtt_p50_ms:.2g} ms (p90 {self.rtt_p90_ms:.2g} ms), "
            f"{self.to_subject_mbit:,.0f} Mbit/s to nginx, {self.from_subject_mbit:,.0f} Mbit/s from nginx, "
            f"{self.loss_pct:.2g} % lost"
        )


def measure_paths(session: Session, engines: Engines, *, image: str) -> Mapping[Role, MachinePath]:
    """Measure the paths from the subject's machine to the others, by role (NoPathError: no packets pass)."""
    try:
        return _measure(session, engines, image)
    except LabError as error:
        raise NoPathError(error.what, where=error.where, remedy=error.remedy, tail=error.tail) from error


def _measure(session: Session, engines: Engines, image: str) -> Mapping[Role, MachinePath]:
    away = [role for role in PLACEABLE if engines.of(role) != engines.subject]
    first = {engines.of(role).name: role for role in reversed(away)}
    specs = {role: _end(role, image) for role in (Role.SUBJECT, *first.values())}
    with Lab(session, engines=engines) as lab:
        lab.start(list(specs.values()))
        agents = {role: agent_in(lab[spec.name]) for role, spec in specs.items()}
        address = lab[specs[Role.SUBJECT].name].address()
        measured = {
            name: MachinePath.from_figures(
                _figures(agents[role], agents[Role.SUBJECT], address), engine=engines.of(role).label
            )
            for name, role in first.items()
        }
    return {role: measured[engines.of(role).name] for role in away}


def _end(role: Role, image: str) -> RoleSpec:
    return RoleSpec(
        name=f"path-{role.value}",
        role=Role.NETADMIN,
        goes_with=role,
        image=image,
        capabilities=CAPABILITIES,
        answers=True,
    )


def _figures(agent: Agent, subject: Agent, address: str) -> LinkFigures:
    # A TCP stream determines its own rate.
    load = LoadPlan(seconds=_LOAD_S, rate_bytes_per_s=0.0, stream=True)
    probes = ProbePath(
        address=address,
        packets=_PACKETS,
        interval_s=_INTERVAL_S,
        payload_bytes=_PAYLOAD_BYTES,
        linger_s=_LINGER_S,
        loads={"egress": load, "ingress": load},
        port=PROBE_PORT,
    )
    seen = probe_path(probes, leading=agent, answering=subject)
    try:
        return LinkFigures.from_probes(on_one_clock(seen, other_ahead_us(seen)), payload_bytes=_PAYLOAD_BYTES)
    except ValueError as error:
        raise LabError(f"no packets pass between the machines: {error}") from error
