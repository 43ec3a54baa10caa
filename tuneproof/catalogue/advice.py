"""The form in which a module of the catalogue declares a piece of advice."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

from tuneproof.lab.network.links import NetworkProfile
from tuneproof.lab.network.profiles import BARE
from tuneproof.lab.protocol.cpus import Cpus
from tuneproof.lab.protocol.observer import Snapshot
from tuneproof.proof.depths import QUICK
from tuneproof.proof.scenario.scenarios import Scenario

# An ordinary host, as far as scenarios depend on it: Linux's defaults.
_ORDINARY: Final = Snapshot(
    sysctls=MappingProxyType({"net.ipv4.tcp_rmem": "4096 131072 6291456", "net.ipv4.tcp_migrate_req": "0"}),
    listener_backlogs=MappingProxyType({}),
    cpu_model="",
    cpus=Cpus(allowed="0-1"),
)
MANY_CPUS: Final = 8
"""The least number of CPUs for which advice for large machines makes sense."""


@dataclass(frozen=True, kw_only=True)
class RunConditions:
    """The conditions on which a scenario may depend."""

    depth: str = QUICK  # or "full"
    network: NetworkProfile = BARE  # the links' properties, unless the scenario sets them
    host: Callable[[], Snapshot] = lambda: _ORDINARY  # state of a new network namespace on the engine's host
    subject_cpus: Callable[[], Sequence[int]] = lambda: range(MANY_CPUS)  # of subjects with ``CpuShare.MANY``


@dataclass(frozen=True, kw_only=True)
class Advice:
    """One piece of advice, with everything that decides it.

    Raises ValueError: A headline, a claim for full depth, or an arm that reverses a claim does not exist.
    """

    scenario: Callable[[RunConditions], Scenario[Any]]  # names of scenario and claims never vary
    headlines: tuple[str, ...] = ()  # its best-known claims that any host can decide
    full_depth: tuple[str, ...] = ()  # claims that a quick run decides only if they are selected
    timed: bool = False  # whether it measures times, so that nothing else may run on the machine

    def __post_init__(self) -> None:
        if unknown := {*self.headlines, *self.full_depth} - set(self.claims):
            raise ValueError(f"{self.name} has no claim {', '.join(sorted(unknown))}")
        arms = [arm.name for arm in self.usual.arms]
        for claim in self.usual.claims:
            if unknown := (set(claim.turned_by) - set(claim.arms)) | (set(claim.turned_by.values()) - set(arms)):
                raise ValueError(
                    f"{self.name}/{claim.name}: turned_by names {', '.join(sorted(unknown))}; the claim compares "
                    f"{', '.join(claim.arms)}, and the scenario has {', '.join(arms)}"
                )

    @cached_property
    def usual(self) -> Scenario[Any]:
        """The advice's scenario on an ordinary host."""
        return self.scenario(RunConditions())

    @property
    def name(self) -> str:
        """Name of the scenario, as in cell ids."""
        return self.usual.name

    @property
    def claims(self) -> tuple[str, ...]:
        """Names of the claims, in order of declaration."""
        return tuple(claim.name for claim in self.usual.claims)

    def claims_at(self, depth: str) -> tuple[str, ...]:
        """Return the names of the claims that a run of this depth decides by default."""
        return tuple(name for name in self.claims if depth != QUICK or name not in self.full_depth)
