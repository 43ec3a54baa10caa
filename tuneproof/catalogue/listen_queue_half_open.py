"""Half-open connections: ListenDrops without ListenOverflows."""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.half_open import HalfOpen, HalfOpenObservation
from tuneproof.lab.load.stage import CLIENT
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario.arms import Arm, Dose, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

KERNEL: Final = "https://docs.kernel.org/networking/ip-sysctl.html"
DROP_THRESHOLD: Final = 0.5


def arm(name: str, *, cookies: int, syn_backlog: int) -> Arm[HalfOpenObservation]:
    """Return the arm with these limits on the SYN queue; the listener's accept queue is long and empty."""
    sysctls = {
        "net.ipv4.tcp_syncookies": str(cookies),
        "net.ipv4.tcp_max_syn_backlog": str(syn_backlog),
        "net.core.somaxconn": "4096",
        # The half-open connections of a trial must be gone before the next one.
        "net.ipv4.tcp_synack_retries": "0",
    }
    config = SubjectConfig(reuseport=False, backlog=4096, access_log=False)
    doses = () if cookies else (Dose(of="net.ipv4.tcp_max_syn_backlog", unit="", amount=syn_backlog),)
    return Arm(name=name, subject=Subject(name=name, config=config, sysctls=sysctls), plan=HalfOpen(), doses=doses)


SHORT: Final = arm("syn-backlog-128", cookies=0, syn_backlog=128)
LONG: Final = arm("syn-backlog-4096", cookies=0, syn_backlog=4096)
COOKIES: Final = arm("syncookies", cookies=1, syn_backlog=128)


def claim(name: str, sentence: str, arms: tuple[str, ...], source: str = KERNEL) -> Claim[HalfOpenObservation]:
    """Return a claim: the first arm drops more SYNs than the second or, if there is none, than its own accept queue."""
    first, *second = arms

    def effect(block: Mapping[str, HalfOpenObservation]) -> float:
        dropped = block[first]
        less = block[second[0]].dropped_share if second else dropped.overflowed_share
        return min(dropped.dropped_share, 1.0) - min(less, 1.0)

    return Claim(
        name=name,
        sentence=sentence,
        source=source,
        arms=arms,
        effect=effect,
        effect_name=f"dropped SYNs, {first} - {second[0] if second else 'overflows'}",
        scale=Scale.SHARE,
        threshold=DROP_THRESHOLD,
        why="with thousands of half-open connections, one drop in two leaves no doubt about the cause",
        condition=lambda block: not any(item.overflowed_share for item in block.values()),
        condition_name="ListenOverflows stayed constant",
    )


SCENARIO: Final = Scenario(
    name="listen_queue_half_open",
    arms=(SHORT, LONG, COOKIES),
    claims=(
        claim(
            "half_open_drops_without_overflows",
            "Half-open connections raise ListenDrops but not ListenOverflows",
            (SHORT.name,),
            source="nginx under high concurrency drops SYNs (2020): ListenDrops rises alone",
        ),
        claim(
            "long_syn_backlog_ends_drops",
            "tcp_max_syn_backlog 4096 instead of 128 saves more than half of all SYNs from being dropped",
            (SHORT.name, LONG.name),
        ),
        claim(
            "syncookies_end_drops",
            "tcp_syncookies saves more than half of all SYNs from being dropped by a full SYN queue",
            (SHORT.name, COOKIES.name),
        ),
    ),
    backends=(),
    beside=(CLIENT,),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("half_open_drops_without_overflows",),
)
