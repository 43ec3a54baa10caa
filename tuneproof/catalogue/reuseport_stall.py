"""The reuseport stall: its nginx containers, variants and claims.

Source: "Nginx reuseport causes occasional stalls" (plantegg, 2023). The article pins two workers to
one CPU, runs four bulk downloads through them, and fetches a small file 100 times with ``curl --max-time 1``.
"""

from dataclasses import dataclass, replace
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Code, claims_of
from tuneproof.catalogue.reuseport_stall_effects import (
    fed_to_loaded,
    largest_turn_bytes,
    median_total_ms,
    slow,
    stall,
    turn_bytes,
)
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.backends import Backend
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.proof.scenario.scenarios import Scenario

SCENARIO: Final = "reuseport_stall"
ARTICLE: Final = "plantegg, Nginx reuseport causes occasional stalls (2023)"
TCP_RMEM: Final = "net.ipv4.tcp_rmem"
UPSTREAM: Final = Backend().upstream

SMALLEST_RMEM_BYTES: Final = 40960
_REUSEPORT: Final = SubjectConfig(upstream=UPSTREAM, reuseport=True)
DOSES: Final = 5
BULK_DOWNLOADS: Final = 4
FAST_RATE_HZ: Final = 15.0

RELIEF_THRESHOLD: Final = 5.0
CONTROL_THRESHOLD: Final = 5.0
# What one loop iteration may read from all bulk downloads of a worker with the smallest receive buffers: nginx empties
# each buffer, which may be refilled once while it does so.
TURN_BOUND_BYTES: Final = BULK_DOWNLOADS * 2 * SMALLEST_RMEM_BYTES

STALL_WARM_UP: Final = StallLoad(bulk_per_worker=(2, 2), baseline_s=0.02, settle_s=0.0, measure_s=0.02)
# Receive buffers grow within a few milliseconds if no link is shaped. With 0.02 s as with 0.05 s, a loop iteration read
# 7.1 MB from the largest buffers and 122 to 124 kB from the smallest (medians of 12 rounds in each of eight labs).
SETTLE_S: Final = 0.02
ONE_LOADED: Final = StallLoad(bulk_per_worker=(BULK_DOWNLOADS, 0), settle_s=SETTLE_S, measure_s=0.45, counts_turns=True)
# For the doses between the largest and the smallest, only the order matters.
BETWEEN: Final = replace(ONE_LOADED, measure_s=0.25)
UNLOADED: Final = StallLoad(baseline_s=0.35, settle_s=0.0, measure_s=0.05)
# Even a short response shows which worker handles a new connection.
FED: Final = StallLoad(
    bulk_per_worker=(BULK_DOWNLOADS, 0), fast_rate_hz=100.0, fast_path=STATIC_PATH, settle_s=SETTLE_S, measure_s=0.25
)
ALL_LOADED_WITH_FAST: Final = StallLoad(
    bulk_per_worker=(BULK_DOWNLOADS, BULK_DOWNLOADS),
    fast_rate_hz=FAST_RATE_HZ,
    baseline_s=0.25,
    settle_s=SETTLE_S,
    measure_s=0.65,
)


def dose_maxima(default_max_bytes: int) -> tuple[int, ...]:
    """Return receive-buffer maxima in bytes from the host's default down to the article's 40960, in equal ratios.

    Raises PreconditionError: The host's default is so close to the article's remedy that doses would hardly differ.
    """
    if default_max_bytes < SMALLEST_RMEM_BYTES << DOSES:
        raise PreconditionError(
            f"tcp_rmem's default maximum is {default_max_bytes} bytes: too small for {DOSES} different buffer sizes",
            where=TCP_RMEM,
            remedy="run on a host where the kernel's default is a few megabytes, as is usual",
        )
    step = (SMALLEST_RMEM_BYTES / default_max_bytes) ** (1 / (DOSES - 1))
    between = [round(default_max_bytes * step**index) for index in range(1, DOSES - 1)]
    return (default_max_bytes, *between, SMALLEST_RMEM_BYTES)


@dataclass(frozen=True, kw_only=True)
class ReuseportStall:
    """The scenario for one host: its subjects, arms and claims."""

    default_rmem: tuple[int, int, int]  # tcp_rmem of a new network namespace: minimum, default, maximum in bytes

    def _dose_subject(self, max_bytes: int) -> Subject:
        low, default, _ = self.default_rmem
        # As in the article, the smallest dose sets all three values; for other doses, no value exceeds the maximum.
        triple = (
            (max_bytes,) * 3
            if max_bytes == SMALLEST_RMEM_BYTES
            else (min(low, max_bytes), min(default, max_bytes), max_bytes)
        )
        return Subject(
            name=f"rmem-{max_bytes}",
            config=_REUSEPORT,
            records_turns=True,
            sysctls={TCP_RMEM: " ".join(str(value) for value in triple)},
        )

    def dose_arms(self) -> tuple[Arm[StallObservation], ...]:
        """Return one arm per dose, the largest first."""
        return tuple(self._dose_arm(max_bytes) for max_bytes in dose_maxima(self.default_rmem[2]))

    def _dose_arm(self, max_bytes: int) -> Arm[StallObservation]:
        subject = self._dose_subject(max_bytes)
        dose = Dose(of="largest receive buffer, tcp_rmem", unit="bytes", amount=max_bytes)
        ends = (SMALLEST_RMEM_BYTES, self.default_rmem[2])
        plan = ONE_LOADED if max_bytes in ends else BETWEEN
        return Arm(name=subject.name, subject=subject, plan=plan, doses=(dose,))

    def arms(self) -> tuple[Arm[StallObservation], ...]:
        """Return all arms."""
        doses = self.dose_arms()
        reuseport = doses[0].subject
        # No claim uses this subject's loop iterations, but it is compared with subjects that record theirs.
        shared = Subject(
            name="shared-queue", config=SubjectConfig(upstream=UPSTREAM, reuseport=False), records_turns=True
        )
        twin = Subject(name="twin", config=_REUSEPORT, records_turns=True)
        return (
            *doses,
            Arm(name="unloaded-default", subject=doses[0].subject, plan=UNLOADED),
            Arm(name="unloaded-small", subject=doses[-1].subject, plan=UNLOADED),
            Arm(name="twin", subject=twin, plan=ONE_LOADED),
            Arm(name="reuseport-one-loaded", subject=reuseport, plan=FED),
            Arm(name="shared-one-loaded", subject=shared, plan=FED),
            Arm(name="reuseport-all-loaded", subject=reuseport, plan=ALL_LOADED_WITH_FAST),
            Arm(name="shared-all-loaded", subject=shared, plan=ALL_LOADED_WITH_FAST),
        )

    def scenario(self) -> Scenario[StallObservation]:
        """Return the scenario."""
        return Scenario(name=SCENARIO, arms=self.arms(), claims=self.claims(), warm_up=STALL_WARM_UP)

    def claims(self) -> tuple[Claim[StallObservation], ...]:
        """Return the claims; the arms ``default``, ``smallest`` and ``doses`` of their rows depend on the host."""
        doses = tuple(arm.name for arm in self.dose_arms())
        return claims_of(SCENARIO, code=CODE, arms={"default": doses[:1], "smallest": doses[-1:], "doses": doses})


def within_the_bound(observation: StallObservation) -> float:
    """Return the size of two buffers for each connection ÷ the bytes that the largest loop iteration reads."""
    return TURN_BOUND_BYTES / largest_turn_bytes(observation)


def bulk_rate(observation: StallObservation) -> float:
    """Return the bytes per second of all bulk downloads together."""
    return sum(observation.bulk_bytes_per_s)


def unloaded_ms(observation: StallObservation) -> float:
    """Return the median time of a small request while nginx has nothing else to do, in milliseconds."""
    return median_total_ms(observation.baseline)


CODE: Final[Code] = {
    "bulk_rate": bulk_rate,
    "fed_to_loaded": fed_to_loaded,
    "slow": slow,
    "stall": stall,
    "turn_bytes": turn_bytes,
    "unloaded_ms": unloaded_ms,
    "within_the_bound": within_the_bound,
}

ADVICE: Final = Advice(
    scenario=lambda run: ReuseportStall(default_rmem=run.host().triple(TCP_RMEM)).scenario(),
    headlines=("loaded_worker_stalls", "small_rmem_restores_loop"),
    full_depth=("twins_are_alike",),
    timed=True,
)
