"""Mitigations compared: the effect of each on the event loop, fast requests, bulk downloads and the disk.

Source: "Nginx reuseport causes occasional stalls" (plantegg, 2023), and replies to it. The directives:
https://nginx.org/en/docs/http/ngx_http_proxy_module.html, https://nginx.org/en/docs/http/ngx_http_core_module.html#aio
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import Code, claims_of
from tuneproof.catalogue.reuseport_stall import (
    BULK_DOWNLOADS,
    FAST_RATE_HZ,
    SETTLE_S,
    SMALLEST_RMEM_BYTES,
    STALL_WARM_UP,
    TCP_RMEM,
    TURN_BOUND_BYTES,
    UPSTREAM,
)
from tuneproof.catalogue.reuseport_stall_effects import turn_bytes, turn_wall_ms
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.stall_load import StallLoad
from tuneproof.lab.load.stall_observation import StallObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.scenarios import Scenario

Arms = Mapping[str, Mapping[str, Metric]]
"""Metrics by arm, as in a cell of results.json."""

PLAN: Final = StallLoad(
    bulk_per_worker=(BULK_DOWNLOADS, 0),
    fast_rate_hz=FAST_RATE_HZ,
    settle_s=SETTLE_S,
    measure_s=0.5,
    counts_writes=True,
    counts_turns=True,
)
SMALL_RMEM: Final = " ".join([str(SMALLEST_RMEM_BYTES)] * 3)

DEFAULT: Final = "default"
SMALL: Final = "tcp_rmem-40960"
NO_FILE: Final = "no-temp-file"
SMALL_NO_FILE: Final = "tcp_rmem-40960-no-temp-file"
SHARED: Final = "reuseport-off"
TWIN: Final = "default-twin"
# Directives in the proxied location by arm; the rate limit is of the order of one download's rate in the article.
DIRECTIVES: Final[Mapping[str, tuple[str, ...]]] = {
    DEFAULT: (),
    NO_FILE: ("proxy_max_temp_file_size 0",),
    "aio-threads": ("aio threads", "aio_write on"),
    "buffering-off": ("proxy_buffering off",),
    "limit-rate": ("proxy_limit_rate 25m",),
}

COLUMNS: Final = (
    ("iteration ms", "worker1_turn_wall_p50_ms", 1.0),
    ("iteration CPU ms", "worker1_turn_cpu_p50_ms", 1.0),
    ("iteration KiB", "worker1_turn_bytes_p50", 1 / 1024),
    ("loop lag p50 ms", "worker1_lag_p50_ms", 1.0),
    ("loop lag p99 ms", "worker1_lag_p99_ms", 1.0),
    ("fast p50 ms", "fast_p50_ms", 1.0),
    ("fast p99 ms", "fast_p99_ms", 1.0),
    ("bulk MB/s", "bulk_bytes_per_s", 1e-6),
    ("temp file MB", "written_bytes", 1e-6),
)


def arm(name: str, *directives: str, rmem: str = "", reuseport: bool = True) -> Arm[StallObservation]:
    """Return the arm of an nginx with these directives in its location."""
    config = SubjectConfig(upstream=UPSTREAM, reuseport=reuseport, location=directives)
    sysctls = {TCP_RMEM: rmem} if rmem else {}
    return Arm(name=name, subject=Subject(name=name, config=config, sysctls=sysctls, records_turns=True), plan=PLAN)


def factors(block: Mapping[str, StallObservation]) -> float:
    """Return the main effect of the first factor of the 2 x 2 factorial ÷ that of the second.

    A main effect is the geometric mean of how much a factor helps with, and without, the other factor.
    """
    both, small, no_file, neither = (turn_wall_ms(block[arm]) for arm in (SMALL_NO_FILE, SMALL, NO_FILE, DEFAULT))
    of_rmem = (neither / small * no_file / both) ** 0.5
    of_file = (neither / no_file * small / both) ** 0.5
    return float(of_rmem / of_file)


def spilled(arms: Arms) -> str:
    """Return in words how much of the data that the default arm's loaded worker reads goes to its temporary file.

    This limits what a remedy against the file can gain: if the client keeps up with the backend, hardly anything is
    written, and iterations without the file are just as long.
    """
    metrics = arms[DEFAULT]
    read, written = metrics.get("worker1_read_bytes"), metrics.get("worker1_file_write_bytes")
    if not read or written is None:
        return "how much goes to the temporary file was not recorded"
    return (
        f"it depends on the host: {written / read:.0%} of what the loaded worker read went to its temporary file here"
    )


def league_lines(arms: Arms) -> Sequence[str]:
    """Return a table of the arms' figures."""
    lines = ["".join([f"{'mitigation':<30}", *[f"{head:>17}" for head, _, _ in COLUMNS]])]
    for name, metrics in arms.items():
        figures = [(metrics.get(key), scale) for _, key, scale in COLUMNS]
        shown = ["-" if value is None else f"{value * scale:.1f}" for value, scale in figures]
        lines.append("".join([f"{name:<30}", *[f"{item:>17}" for item in shown]]))
    return lines


def of_the_bound(observation: StallObservation) -> float:
    """Return the bytes that a loop iteration reads ÷ the size of two small buffers for each connection.

    The other worker cannot serve as the reference here, since it serves the small requests.
    """
    return turn_bytes(observation) / TURN_BOUND_BYTES


CODE: Final[Code] = {
    "factors": factors,
    "league_lines": league_lines,
    "of_the_bound": of_the_bound,
    "spilled": spilled,
    "turn_wall_ms": turn_wall_ms,
}

SCENARIO: Final = Scenario(
    name="reuseport_stall_league",
    arms=(
        *(arm(name, *directives) for name, directives in DIRECTIVES.items()),
        arm(SMALL, rmem=SMALL_RMEM),
        arm(SMALL_NO_FILE, *DIRECTIVES[NO_FILE], rmem=SMALL_RMEM),
        arm(SHARED, reuseport=False),
        arm(TWIN),
    ),
    claims=claims_of("reuseport_stall_league", code=CODE),
    warm_up=STALL_WARM_UP,
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    full_depth=("twins_are_alike",),
    timed=True,
)
