"""One observation of every kind of load, and variants for the arms of a claim."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import MISSING, asdict, fields, replace
from typing import Any, Final, TypeVar

from tests.support import canned_turns
from tests.support.canned_trials import observed, stall_record
from tuneproof.catalogue.streams_scripts import OF_SIZE
from tuneproof.catalogue.worker_connections import SIZES
from tuneproof.lab.load.accept_load import AcceptObservation
from tuneproof.lab.load.base import Observation
from tuneproof.lab.load.connect_storm import StormObservation
from tuneproof.lab.load.counted import CountedObservation
from tuneproof.lab.load.half_open import HalfOpenObservation
from tuneproof.lab.load.held_connections import HeldObservation
from tuneproof.lab.load.http_load import HttpObservation
from tuneproof.lab.load.one_by_one import ProtocolObservation
from tuneproof.lab.load.slow_readers import MemoryObservation
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.load.steered_load import SteeredObservation
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.effects import Effect
from tuneproof.proof.inference.verdicts import Block as Measured
from tuneproof.proof.inference.verdicts import Verdict, assess
from tuneproof.proof.scenario.claims import Claim

_Obs = TypeVar("_Obs", bound=Observation)
# An observation per arm, in the order of a claim's arms.
Block = Sequence[Observation]

_ANY: Final[dict[str, Any]] = {"steal_pct": 0.0, "measuring_s": 1.0}


def seen(kind: type[_Obs], **values: Any) -> _Obs:
    """Return an observation of this kind with these values, and 0 in other fields without a default."""
    nothing = {field.name: 0 for field in fields(kind) if field.default is MISSING}
    return kind(**{**nothing, **_ANY, **values})


STORM: Final = seen(
    StormObservation, connections=1000, connected=1000, queue_peak=1000, listen_overflows=500, listen_drops=500
)
HALF_OPEN: Final = seen(HalfOpenObservation, syns=800, arrived_share=1.0, half_open=800, sending_s=0.1)
HTTP: Final = seen(
    HttpObservation,
    requests_per_s=1000.0,
    completed=10_000,
    connect_p99_ms=1.0,
    connect_max_ms=2.0,
    total_p50_ms=3.0,
    total_p99_ms=4.0,
    switches_per_request=1.0,
    run_queue_wait_share=0.02,
    worker_cpu_us_per_request=40.0,
    worker_cpu_share=0.8,
)
STEERED: Final = SteeredObservation(**vars(HTTP), steered_to_others_share=0.0)
ACCEPT: Final = AcceptObservation(**asdict(HTTP), empty_accepts_per_request=0.0)
HELD: Final = seen(
    HeldObservation,
    held=10_000,
    worker_bytes_per_connection=1000.0,
    kernel_bytes_per_connection=4000.0,
    client_rss_bytes=100_000_000,
)
ROUND: Final = seen(
    ProtocolObservation,
    requests=20,
    total_p50_ms=40.0,
    slowest_tenth_ms=1000.0,
    total_max_ms=1000.0,
    bulk_bytes_per_s=1e9,
)
MEMORY: Final = seen(MemoryObservation, readers=1, readers_alive=1)
# The loaded worker answers all ten fast requests; a request that takes more than 20 ms is slow.
STALL: Final = observed(stall_record(bulk=(1000, 0), baseline_ms=[4.0], fast_ms=[5.0] * 10))


def by_arm(claim: Claim[Any], block: Block) -> dict[str, Observation]:
    return dict(zip(claim.arms, block, strict=True))


def verdict_on(claim: Claim[Any], effect: Effect, *, met: bool = True) -> Verdict | None:
    """Return the verdict on blocks with this effect in a quick run, at the first look that decides, or None."""
    looks = claim.looks(LOOKS[QUICK])
    for count in looks:
        blocks = [Measured(effect=effect, met=met)] * count
        if found := assess(blocks, scale=claim.scale, threshold=claim.threshold, looks=looks, form=claim.form):
            return found.verdict
    return None


def per_arm(canned: _Obs, **values: Sequence[Any]) -> list[_Obs]:
    """Return a canned observation for each arm of a claim, with the arm's own values of some fields."""
    rows = zip(*values.values(), strict=True)
    return [replace(canned, **dict(zip(values, row, strict=True))) for row in rows]


def costs(*cpu_us: float) -> list[HttpObservation]:
    """Return loads that cost this much of nginx's CPU time per request."""
    return per_arm(HTTP, worker_cpu_us_per_request=cpu_us)


def rates(*requests_per_s: float) -> list[HttpObservation]:
    return per_arm(HTTP, requests_per_s=requests_per_s)


def turning(
    observation: StallObservation, *, turn_bytes: int = 65_536, turn_cpu_ms: float = 1.0, turn_wall_ms: float = 100.0
) -> StallObservation:
    """Return a trial in which each iteration of the loaded worker has this size and length; the other reads little."""
    loaded, idle = observation.workers
    turns = canned_turns.alike(
        loaded.worker_pid, turn_bytes=turn_bytes, turn_cpu_ms=turn_cpu_ms, turn_wall_ms=turn_wall_ms
    )
    return replace(
        observation,
        workers=(
            replace(loaded, turns=turns),
            replace(idle, turns=canned_turns.alike(idle.worker_pid, turn_bytes=100, turn_cpu_ms=1.0)),
        ),
    )


def reads(*turn_bytes: int) -> list[StallObservation]:
    """Return trials in which the loaded workers read this much in each iteration."""
    return [turning(STALL, turn_bytes=each) for each in turn_bytes]


def takes(*turn_cpu_ms: float) -> list[StallObservation]:
    """Return trials in which the loaded workers need this much CPU time for each iteration."""
    return [turning(STALL, turn_cpu_ms=each) for each in turn_cpu_ms]


def lasts(*turn_wall_ms: float) -> list[StallObservation]:
    """Return trials in which each iteration of a loaded worker takes this long, with the same CPU time."""
    return [turning(STALL, turn_wall_ms=each) for each in turn_wall_ms]


def slow(*of_ten: int) -> list[StallObservation]:
    """Return trials in which this many of ten fast requests are slow."""
    late = replace(STALL.fast[0], total_ms=900.0)
    return per_arm(STALL, fast=[(*[late] * count, *STALL.fast[count:]) for count in of_ten])


def fed(*of_ten: int) -> list[StallObservation]:
    """Return trials in which this many of ten fast requests reach the loaded worker."""
    elsewhere = replace(STALL.fast[0], worker_pid=STALL.workers[1].worker_pid)
    return per_arm(STALL, fast=[(*STALL.fast[:count], *[elsewhere] * (10 - count)) for count in of_ten])


def unloaded(*total_ms: float) -> list[StallObservation]:
    """Return trials in which fast requests take this long before there is any load."""
    return per_arm(STALL, baseline=[(replace(STALL.baseline[0], total_ms=each),) for each in total_ms])


def waits(*shares: float) -> list[AcceptObservation]:
    """Return loads under which workers wait for their CPU for this share of their time."""
    return per_arm(ACCEPT, run_queue_wait_share=shares)


def slowest_tenths(*slowest_tenth_ms: float) -> list[ProtocolObservation]:
    """Return rounds of the article's protocol in which the slowest tenth takes this long."""
    return per_arm(ROUND, slowest_tenth_ms=slowest_tenth_ms)


def storms(*connected: int) -> list[StormObservation]:
    """Return storms of 1000 connects; this many of them were established at once."""
    return per_arm(STORM, connected=connected, slow_share=[1 - count / 1000 for count in connected])


def held(worker_bytes: float, kernel_bytes: float) -> list[HeldObservation]:
    """Return connections that cost this much each."""
    return [replace(HELD, worker_bytes_per_connection=worker_bytes, kernel_bytes_per_connection=kernel_bytes)]


def growths(*mib: float) -> list[MemoryObservation]:
    """Return trials in which the workers' memory grows by this much."""
    return per_arm(MEMORY, growth_bytes=[round(each * (1 << 20)) for each in mib])


def started(*, slot_bytes: float) -> list[CountedObservation]:
    """Return the arms' observations if each worker costs 1 MiB, and each of its connections this much."""
    costs = [workers * ((1 << 20) + slots * slot_bytes) for workers, slots in SIZES.values()]
    return [CountedObservation(**_ANY, figures={"rss_bytes": round(cost)}) for cost in costs]


def arrived(*shares: float) -> Block:
    """Return a stream trial with these shares of arrived events by size, the smallest first."""
    return [CountedObservation(**_ANY, figures=dict(zip(OF_SIZE, shares, strict=True)))]


def counted(*values: float) -> Block:
    return [CountedObservation(**_ANY, figures=defaultdict(lambda value=value: value)) for value in values]  # type: ignore[misc]  # mypy cannot infer the type of a lambda with a default argument
