"""The article's own experiment: 100 small requests with a limit of one second, in three arms; its figures next to ours.

Source: "Nginx reuseport causes occasional stalls" (plantegg, 2023). Its raw logs show the time-outs.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.catalogue.reuseport_stall import STALL_WARM_UP, TCP_RMEM, UPSTREAM
from tuneproof.catalogue.reuseport_stall_league import SMALL_RMEM
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.one_by_one import OneByOne, ProtocolObservation
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.scenarios import Scenario

# A full run has at least 12 rounds, and so more than the article's 100 requests; a quick run has 5 to 9, and so fewer.
PLAN: Final = OneByOne(requests=10)

# The article's results by arm, in words, since its figures are ranges from its logs.
THEIRS: Final = {
    "reuseport": "38 to 1010 ms, about a quarter time out",
    "tcp_rmem-40960": "50 to 120 ms, none times out",
    "reuseport-off": "time-outs as before, 499s rarer",
}


def arm(name: str, *, reuseport: bool = True, rmem: str = "") -> Arm[ProtocolObservation]:
    """Return one of the article's arms."""
    config = SubjectConfig(upstream=UPSTREAM, reuseport=reuseport)
    return Arm(
        name=name, subject=Subject(name=name, config=config, sysctls={TCP_RMEM: rmem} if rmem else {}), plan=PLAN
    )


def beside_the_article(arms: Mapping[str, Mapping[str, Metric]]) -> Sequence[str]:
    """Return the table of our figures and the article's."""
    lines = [f"{'arm':<18}{'p50 ms':>9}{'slowest tenth ms':>18}{'max ms':>9}{'time-outs':>11}  the article"]
    columns = (("total_p50_ms", 9), ("slowest_tenth_ms", 18), ("total_max_ms", 9))
    for name, metrics in arms.items():
        times = [(metrics.get(key), width) for key, width in columns]
        share = metrics.get("timeout_share")
        shown = "".join(f"{'-' if value is None else format(value, '.0f'):>{width}}" for value, width in times)
        lines.append(f"{name:<18}{shown}{'-' if share is None else format(share, '.0%'):>11}  {THEIRS[name]}")
    return lines


REUSEPORT, TWIN, SMALL, OFF = (
    arm("reuseport"),
    arm("reuseport-twin"),
    arm("tcp_rmem-40960", rmem=SMALL_RMEM),
    arm("reuseport-off", reuseport=False),
)

SCENARIO: Final = Scenario(
    name="reuseport_stall_protocol",
    arms=(REUSEPORT, SMALL, OFF, TWIN),
    claims=claims_of("reuseport_stall_protocol", code={"beside_the_article": beside_the_article}),
    warm_up=STALL_WARM_UP,
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    # Quick runs test the stall in the scenario reuseport_stall; this one repeats the article's timing.
    full_depth=tuple(claim.name for claim in SCENARIO.claims),
    timed=True,
)
