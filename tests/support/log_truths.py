"""The ingredients of generated access logs: stalls, other faults, and circumstances that look like a stall."""

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Final

from tuneproof.explain.diagnosis.findings import Cause
from tuneproof.explain.parse.access_log.known import RECOMMENDED

# The log formats, by what they lack.
LACKS: Final[Mapping[str, str]] = {
    "nothing": RECOMMENDED,
    "milliseconds": RECOMMENDED.replace("$msec", "[$time_local]"),
    "upstreams": RECOMMENDED.replace("$upstream_addr", "-"),
    "workers": RECOMMENDED.replace("$pid", "-"),
}

ALTERNATIVES: Final = (
    "distant upstream",
    "an upstream for each worker",
    "TLS to the upstream",
    "reused connections",
    "late path",
    "lost SYNs",
    "outages",
    "frozen machine",
    "upgraded connections",
    "long polls",
    "uploads",
    "health checks",
    "impatient clients",
    "bursts of one client",
)
"""Circumstances that make an access log look as if nginx, its backend or its clients had a fault."""


@dataclass(frozen=True, kw_only=True)
class Truth:
    """The ingredients of a log."""

    seed: int
    lacks: str  # what the log's format lacks
    alternatives: frozenset[str]
    stall_s: float  # how long a worker stalls each time; 0 for no stall
    in_a_row: int  # how many stalled iterations follow each other; 1 for a single delay of the loop
    stalled: int  # number of stalling workers
    causes: frozenset[Cause]  # the true findings; others are false

    @property
    def log_format(self) -> str:
        return LACKS[self.lacks]


def truth_of(seed: int) -> Truth:
    random = Random(seed)  # noqa: S311 - reproducible
    alternatives = frozenset(name for name in ALTERNATIVES if random.random() < 0.3)
    causes = set()
    stall_s = 0.0
    if random.random() < 0.5:
        stall_s = 0.02 * 100 ** random.random()
        causes.add(Cause.EVENT_LOOP_STALL)
    for cause in (Cause.BACKEND_SLOW, Cause.CLIENT_GONE):
        if random.random() < 0.15:
            causes.add(cause)
    return Truth(
        seed=seed,
        lacks=random.choice(["nothing", "nothing", *LACKS]),
        alternatives=alternatives,
        stall_s=stall_s,
        in_a_row=random.choice((1, 2, 5, 10)),
        stalled=random.randint(1, 3) if stall_s else 0,
        causes=frozenset(causes),
    )
