"""An article's settings for sockets and queues, compared with older kernels' defaults: which promises are true?

Source: "nginx under high concurrency drops SYNs" (2020): 20 000 requests per second became 40 000, and time-outs
disappeared. The article also spreads interrupts across CPUs and keeps memory free; the lab does neither.
"""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.http_load import HttpLoad, HttpObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.effects import ratio
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.scenarios import Scenario

# A SYN that is dropped late is retransmitted a second later, so the load must last two seconds to show it. With 2000
# connects at once, the share of dropped SYNs varies tenfold; with 4000, connects may wait although no SYN was dropped.
LOAD: Final = HttpLoad(concurrency=3000, requests=32_000, path=STATIC_PATH)
BRIEF: Final = HttpLoad(concurrency=2000, requests=8000, path=STATIC_PATH)


def arm(name: str, config: SubjectConfig, load: HttpLoad = LOAD, **sysctls: str) -> Arm[HttpObservation]:
    """Return the arm of an nginx with these sysctls: ``somaxconn`` and ``syn_backlog``."""
    names = {"somaxconn": "net.core.somaxconn", "syn_backlog": "net.ipv4.tcp_max_syn_backlog"}
    return Arm(
        name=name,
        subject=Subject(name=name, config=config, sysctls={names[key]: value for key, value in sysctls.items()}),
        plan=load,
    )


UNTUNED: Final = SubjectConfig(reuseport=False, worker_connections=8192, access_log=False)
# The recipe: listen ... reuseport backlog=2048 rcvbuf=64k sndbuf=64k, and larger somaxconn and SYN queue.
TUNED: Final = SubjectConfig(
    reuseport=True,
    backlog=2048,
    listen_options=("rcvbuf=64k", "sndbuf=64k"),
    worker_connections=8192,
    access_log=False,
)
DEFAULTS: Final = arm("defaults", UNTUNED, somaxconn="128", syn_backlog="128")
FIRST, SECOND = (
    arm(name, UNTUNED, BRIEF, somaxconn="128", syn_backlog="128") for name in ("first-twin", "second-twin")
)
RECIPE: Final = arm("recipe", TUNED, somaxconn="4096", syn_backlog="4096")


def saved(block: Mapping[str, HttpObservation]) -> float:
    """Return the requests that nginx serves per CPU time with the recipe ÷ those without it.

    Requests per second could not show the difference: here the load generator's CPU is the limit.
    """
    return ratio(*(block[arm.name].worker_cpu_us_per_request for arm in (DEFAULTS, RECIPE)))


def drops(observation: HttpObservation) -> float:
    """Return the share of dropped SYNs: each request has its own connection, and dropped SYNs are retransmitted."""
    return observation.listen_drops / (observation.completed + observation.listen_drops)


def slow(observation: HttpObservation) -> float:
    """Return the share of connects that took a second or more.

    Raises ValueError: The generator did not report how long connects took.
    """
    if observation.slow_connect_share is None:
        raise ValueError("the generator did not report how long its connects took")
    return observation.slow_connect_share


SCENARIO: Final = Scenario(
    name="tuned_nginx",
    arms=(DEFAULTS, RECIPE, FIRST, SECOND),
    claims=claims_of("tuned_nginx", code={"saved": saved, "drops": drops, "slow": slow}),
    backends=(),
    warm_up=HttpLoad(concurrency=20, requests=200, path=STATIC_PATH),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    full_depth=("twins_serve_as_many",),
    timed=True,
)
