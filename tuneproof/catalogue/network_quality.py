"""Network quality: how fast the links must be for the reuseport stall.

Source: "Nginx reuseport causes occasional stalls" (plantegg, 2023), according to which the stall needs a good
network, an unloaded backend and enough bulk downloads. The grid limits the rates of the upstream's and client's links.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from tuneproof.catalogue.aa_control import aa_control
from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.reuseport_stall import (
    ARTICLE,
    CONTROL_THRESHOLD,
    ONE_LOADED,
    RELIEF_THRESHOLD,
    STALL_WARM_UP,
    UPSTREAM,
)
from tuneproof.catalogue.reuseport_stall_effects import stall, turn_cpu_ms
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.stall_metrics import TURN_CPU
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.network.impairments import Impairment
from tuneproof.lab.network.links import LinkProfile, NetworkProfile
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.depths import QUICK
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.proof.scenario.scenarios import Scenario

SCENARIO: Final = "network_quality"

SLOWEST_UPSTREAM_MBIT: Final = 500.0
SLOWEST_CLIENT_MBIT: Final = 100.0
DISTANCE_MS: Final = 10.0

# Buffers grow more slowly over a shaped link.
PLAN: Final = replace(ONE_LOADED, settle_s=0.2)

WORSE_THRESHOLD: Final = 1.25
MAP_THRESHOLD: Final = 0.75


def grid_arm(upstream_mbit: float | None, client_mbit: float | None) -> str:
    """Return the name of the arm with these rates."""
    upstream, client = (f"{rate:g}" if rate else "unlimited" for rate in (upstream_mbit, client_mbit))
    return f"upstream-{upstream}-client-{client}"


UNLIMITED: Final = grid_arm(None, None)
SLOW_UPSTREAM: Final = grid_arm(SLOWEST_UPSTREAM_MBIT, None)
SLOW_CLIENT: Final = grid_arm(None, SLOWEST_CLIENT_MBIT)
DISTANT: Final = f"client-{DISTANCE_MS:g}-ms-away"
TWIN: Final = "twin"


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rates in Mbit/s, the slowest last; None: an unshaped link (a few Gbit/s on two cores)."""

    upstream_mbit: tuple[float | None, ...]
    client_mbit: tuple[float | None, ...]

    def arms(self) -> tuple[str, ...]:
        """Return the names of the arms of the grid."""
        return tuple(grid_arm(upstream, client) for upstream in self.upstream_mbit for client in self.client_mbit)


CORNERS: Final = Grid(upstream_mbit=(None, SLOWEST_UPSTREAM_MBIT), client_mbit=(None, SLOWEST_CLIENT_MBIT))
WHOLE: Final = Grid(
    upstream_mbit=(None, 2000.0, 1000.0, SLOWEST_UPSTREAM_MBIT), client_mbit=(None, 1000.0, SLOWEST_CLIENT_MBIT)
)


@dataclass(frozen=True, kw_only=True)
class NetworkQuality:
    """The scenario over one network: its arms and claims."""

    network: NetworkProfile  # other properties of the links; a rate lower than an arm's remains in force
    grid: Grid = WHOLE  # the rates; a quick run measures only the corners of the grid

    def arms(self) -> tuple[Arm[StallObservation], ...]:
        """Return the arms of the grid and the further arms that the claims compare.

        Raises PreconditionError: A link of the network reorders packets, so it cannot have a rate.
        """
        subject = Subject(name="subject", config=SubjectConfig(upstream=UPSTREAM, reuseport=True), records_turns=True)
        grid = [
            Arm(
                name=grid_arm(upstream, client),
                subject=subject,
                plan=PLAN,
                network=self._with_rates(upstream, client),
                doses=(
                    Dose(of="upstream's link", unit="Mbit/s", amount=upstream),
                    Dose(of="client's link", unit="Mbit/s", amount=client),
                ),
            )
            for upstream in self.grid.upstream_mbit
            for client in self.grid.client_mbit
        ]
        beside = {DISTANT: self._with_distance(), TWIN: self.network}
        return (
            *grid,
            *(Arm(name=name, subject=subject, plan=PLAN, network=network) for name, network in beside.items()),
        )

    def _with_rates(self, upstream_mbit: float | None, client_mbit: float | None) -> NetworkProfile:
        if upstream_mbit is None and client_mbit is None:
            return self.network
        return replace(
            self.network,
            name=f"{self.network.name}, {grid_arm(upstream_mbit, client_mbit)}",
            client=_limited(self.network.client, client_mbit),
            backend=_limited(self.network.backend, upstream_mbit),
        )

    def _with_distance(self) -> NetworkProfile:
        client = self.network.client
        further = {name: replace(way, delay_ms=way.delay_ms + DISTANCE_MS) for name, way in client.directions.items()}
        return replace(self.network, name=f"{self.network.name}, {DISTANT}", client=LinkProfile(**further))

    def scenario(self) -> Scenario[StallObservation]:
        """Return the scenario.

        Raises PreconditionError: A link of the network reorders packets, so it cannot have a rate.
        """
        return Scenario(name=SCENARIO, arms=self.arms(), claims=self.claims(), warm_up=STALL_WARM_UP)

    def claims(self) -> tuple[Claim[StallObservation], ...]:
        """Return the claims."""
        control = Claim[StallObservation](
            name="stall_is_there",
            sentence="the loaded worker stalls when no link is limited",
            source=ARTICLE,
            arms=(UNLIMITED,),
            effect=lambda block: stall(block[UNLIMITED]),
            effect_name="CPU time of a loop iteration, loaded ÷ idle worker",
            scale=Scale.RATIO,
            threshold=CONTROL_THRESHOLD,
            why="as for the reuseport stall: users notice an iteration five times as long as the idle worker's",
        )
        good_network = f"{ARTICLE}: if the network is good enough"
        return (
            _lag_claim(
                name="slow_upstream_ends_stall",
                sentence="An upstream link slower than nginx cuts a loop iteration's CPU time to less than a fifth",
                source=good_network,
                arms=(UNLIMITED, SLOW_UPSTREAM),
                effect_name="CPU time of a loop iteration, unlimited ÷ 500 Mbit/s upstream",
                figure=TURN_CPU,
                threshold=RELIEF_THRESHOLD,
                why="as for the cure of the stall: an iteration five times as long becomes normal again",
                control=control,
            ),
            _lag_claim(
                name="slow_client_worsens_stall",
                sentence="A slow client in front of a fast backend costs a loop iteration at least 25 % more CPU time",
                source=good_network,
                arms=(SLOW_CLIENT, UNLIMITED),
                effect_name="CPU time of a loop iteration, 100 Mbit/s client ÷ unlimited",
                figure=TURN_CPU,
                threshold=WORSE_THRESHOLD,
                why="25 % more CPU time is the least that anybody with a stall would call worse",
                # Only probes over the slow link would suggest otherwise: they wait in its queue, and so seem late.
                expected=Verdict.REFUTED,
                # Results of trials differ severalfold, and trials are cheap.
                further_looks=(6,),
                control=control,
            ),
            Claim(
                name="distant_client_still_stalls",
                sentence="With clients at 20 ms RTT, a loaded worker's loop iteration still takes more than five "
                "times the CPU time of an idle worker's",
                source=good_network,
                arms=(DISTANT,),
                effect=lambda block: stall(block[DISTANT]),
                effect_name="CPU time of a loop iteration, loaded ÷ idle worker",
                metric=TURN_CPU,
                scale=Scale.RATIO,
                threshold=CONTROL_THRESHOLD,
                why="the control's definition of a stall",
                control=control,
            ),
            Claim(
                name="slow_upstream_spares_every_client",
                sentence="An upstream link slower than nginx cuts a loop iteration's CPU time to at most a fifth "
                "at every client rate",
                source=good_network,
                arms=self.grid.arms(),
                effect=lambda block: relieved_share(block, self.grid),
                effect_name="limited combinations with at most a fifth of that CPU time",
                metric=TURN_CPU,
                scale=Scale.SHARE,
                threshold=MAP_THRESHOLD,
                why="three limited combinations in four: with more exceptions, nobody could rely on the claim",
                control=control,
                table=lambda arms: grid_lines(arms, self.grid),
            ),
            aa_control(
                "twins_are_alike",
                "Loop iterations take the same CPU time in two identical variants",
                arms=(UNLIMITED, TWIN),
                value=turn_cpu_ms,
                what="CPU time of a loop iteration",
                figure=TURN_CPU,
                decides=WORSE_THRESHOLD,
            ),
        )


def relieved_share(block: Mapping[str, StallObservation], grid: Grid) -> float:
    """Return the share of variants with a limited upstream and at most a fifth of the unlimited variant's CPU time."""
    calm_ms = turn_cpu_ms(block[UNLIMITED]) / RELIEF_THRESHOLD
    limited = [grid_arm(upstream, client) for upstream in grid.upstream_mbit if upstream for client in grid.client_mbit]
    return sum(turn_cpu_ms(block[arm]) <= calm_ms for arm in limited) / len(limited)


def grid_lines(arms: Mapping[str, Mapping[str, Metric]], grid: Grid) -> list[str]:
    """Return, as lines of text, the CPU time of the loaded worker's loop iterations for each pair of rates."""
    corner = "CPU per iteration, ms"
    heads = [f"client {client:g} Mbit/s" if client else "client unlimited" for client in grid.client_mbit]
    lines = ["".join([f"{corner:<24}", *[f"{head:>22}" for head in heads]])]
    for upstream in grid.upstream_mbit:
        head = f"upstream {upstream:g} Mbit/s" if upstream else "upstream unlimited"
        lags = [arms[grid_arm(upstream, client)].get(TURN_CPU) for client in grid.client_mbit]
        cells = ["-" if lag is None else f"{lag:.2f}" for lag in lags]
        lines.append("".join([f"{head:<24}", *[f"{cell:>22}" for cell in cells]]))
    return lines


def _lag_claim(*, arms: tuple[str, str], **fields: object) -> Claim[StallObservation]:
    """Return a claim about the CPU time of a loop iteration in the first arm ÷ that in the second."""
    first, second = arms
    return Claim(
        arms=arms,
        effect=lambda block: turn_cpu_ms(block[first]) / turn_cpu_ms(block[second]),
        scale=Scale.RATIO,
        **fields,  # type: ignore[arg-type] # the caller's keywords are the claim's own
    )


def _limited(link: LinkProfile, rate_mbit: float | None) -> LinkProfile:
    if rate_mbit is None:
        return link
    return LinkProfile(**{name: _slower(way, rate_mbit) for name, way in link.directions.items()})


def _slower(way: Impairment, rate_mbit: float) -> Impairment:
    if way.reorder_pct:
        raise PreconditionError("a link that reorders packets cannot have a rate, and this scenario is about rates")
    return replace(way, rate_mbit=min(rate_mbit, way.rate_mbit or rate_mbit))


ADVICE: Final = Advice(
    scenario=lambda run: NetworkQuality(network=run.network, grid=CORNERS if run.depth == QUICK else WHOLE).scenario(),
    full_depth=("twins_are_alike",),
    timed=True,
)
