"""The whole recipe of an article against nginx's and the kernel's defaults: what of its promise comes true?

Source: "nginx under high concurrency drops SYNs" (2020): 20 000 became 40 000 requests per second, time-outs gone.
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.lab.load.http_load import HttpLoad, HttpObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.inference.tallies import Share, Tally
from tuneproof.proof.inference.verdicts import Form, Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.scenarios import Scenario

ARTICLE: Final = "nginx under high concurrency drops SYNs (2020)"
# A SYN that is dropped late comes again a second later: the load must last for two to see it.
# At 2000 at once the share of dropped SYNs varies tenfold, at 4000 connects wait at times though nothing was dropped.
LOAD: Final = HttpLoad(concurrency=3000, requests=32_000, path=STATIC_PATH)
BRIEF: Final = HttpLoad(concurrency=2000, requests=8000, path=STATIC_PATH)

# What would matter in practice: the article's promise; dropped SYNs in a load of 3000 at once; any failure at all.
DOUBLED_THRESHOLD: Final = 1.5
DROPS_THRESHOLD: Final = 0.005
SLOW_THRESHOLD: Final = 0.0
FAILED_THRESHOLD: Final = 0.001
TWIN_MARGIN: Final = 1.3


def arm(name: str, config: SubjectConfig, load: HttpLoad = LOAD, **sysctls: str) -> Arm[HttpObservation]:
    """Return the arm of an nginx with these sysctls, named without their dots."""
    names = {"somaxconn": "net.core.somaxconn", "syn_backlog": "net.ipv4.tcp_max_syn_backlog"}
    return Arm(
        name=name,
        subject=Subject(name=name, config=config, sysctls={names[key]: value for key, value in sysctls.items()}),
        plan=load,
    )


UNTUNED: Final = SubjectConfig(reuseport=False, worker_connections=8192, access_log=False)
# listen ... reuseport backlog=2048 rcvbuf=64k sndbuf=64k, somaxconn and the SYN queue raised.
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

SCENARIO: Final = Scenario(
    name="tuned_nginx",
    arms=(DEFAULTS, RECIPE, FIRST, SECOND),
    claims=(
        Claim[HttpObservation](
            name="recipe_doubles_requests",
            sentence="The whole recipe doubles the requests per second",
            source=f"{ARTICLE}: 20 000 became 40 000",
            arms=(DEFAULTS.name, RECIPE.name),
            effect=lambda block: block[RECIPE.name].requests_per_s / block[DEFAULTS.name].requests_per_s,
            effect_name="requests per second, recipe ÷ defaults",
            figure="requests_per_s",
            scale=Scale.RATIO,
            threshold=DOUBLED_THRESHOLD,
            # Here the load generator's CPU is the limit, and a dropped SYN costs waiting, not work.
            expected=Verdict.REFUTED,
        ),
        Claim[HttpObservation](
            name="recipe_ends_dropped_syns",
            sentence="Under 3000 connections at once the defaults drop SYNs, the recipe does not",
            source=f"{ARTICLE}: ListenDrops stands still",
            arms=(DEFAULTS.name, RECIPE.name),
            effect=lambda block: Share(of=_drops(block[DEFAULTS.name]), less=_drops(block[RECIPE.name])),
            effect_name="dropped SYNs of all, defaults - recipe",
            scale=Scale.SHARE,
            threshold=DROPS_THRESHOLD,
        ),
        Claim[HttpObservation](
            name="recipe_ends_slow_connects",
            sentence="With the recipe no connect takes a second or more; with the defaults some do",
            source=f"{ARTICLE}: connection timed out",
            arms=(DEFAULTS.name, RECIPE.name),
            effect=lambda block: Share(of=_slow(block[DEFAULTS.name]), less=_slow(block[RECIPE.name])),
            effect_name="connects of 1 s and more, defaults - recipe",
            scale=Scale.SHARE,
            threshold=SLOW_THRESHOLD,
        ),
        Claim[HttpObservation](
            name="recipe_ends_errors",
            sentence="The recipe spares clients failed requests",
            source=f"{ARTICLE}: time-outs gone",
            arms=(DEFAULTS.name, RECIPE.name),
            effect=lambda block: Share(of=_failed(block[DEFAULTS.name]), less=_failed(block[RECIPE.name])),
            effect_name="failed requests, defaults - recipe",
            scale=Scale.SHARE,
            threshold=FAILED_THRESHOLD,
            # A client that waits longer than a second gets through at the second SYN.
            expected=Verdict.REFUTED,
        ),
        Claim[HttpObservation](
            name="twins_serve_as_many",
            sentence="Two identical subjects take the same CPU per request (A/A control)",
            source="control of the method",
            arms=(FIRST.name, SECOND.name),
            # Counted, as a share of a machine that others use, too, is not.
            effect=lambda block: (
                block[FIRST.name].worker_cpu_us_per_request / block[SECOND.name].worker_cpu_us_per_request
            ),
            effect_name="nginx's CPU time per request, first ÷ second",
            figure="worker_cpu_us_per_request",
            scale=Scale.RATIO,
            threshold=TWIN_MARGIN,
            form=Form.SAME,
            everywhere=True,
        ),
    ),
    backends=(),
    warm_up=HttpLoad(concurrency=20, requests=200, path=STATIC_PATH),
)


def _drops(observation: HttpObservation) -> Tally:
    # Every request has a connection of its own, and every dropped SYN was sent again.
    return Tally(count=observation.listen_drops, of=observation.completed + observation.listen_drops)


def _failed(observation: HttpObservation) -> Tally:
    return _of_completed(observation.failed_share, observation)


def _of_completed(share: float, observation: HttpObservation) -> Tally:
    return Tally(count=min(round(share * observation.completed), observation.completed), of=observation.completed)


def _slow(observation: HttpObservation) -> Tally:
    """Return the slow connects, of all.

    Raises:
        ValueError: The generator does not tell.
    """
    if observation.slow_connect_share is None:
        raise ValueError("the generator does not tell how long its connects took")
    return _of_completed(observation.slow_connect_share, observation)


ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    timed=True,
)
