"""The thundering herd: does a shared accept queue wake workers needlessly, and do workers wait longer for their CPU?

Source: "Nginx reuseport causes occasional stalls" (plantegg, 2023): without reuseport each worker waits on the run
    queue for 2.8 to 3.0 % of the time, with it for 1.3 to 1.6 %.
"""

from collections.abc import Mapping
from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.accept_load import AcceptLoad, AcceptObservation
from tuneproof.lab.load.base import Metric
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.scenarios import Scenario

WORKERS: Final = 4


def arm(name: str, *, reuseport: bool) -> Arm[AcceptObservation]:
    """Return the arm with four workers on one CPU; their accepts are recorded."""
    config = SubjectConfig(
        reuseport=reuseport,
        worker_processes=WORKERS,
        worker_connections=4096,
        access_log=False,
        error_log_level="debug_event",
    )
    plan = AcceptLoad(load=HttpLoad(concurrency=8, requests=3000, path=STATIC_PATH))
    return Arm(name=name, subject=Subject(name=name, config=config), plan=plan)


def empty_accepts(observation: AcceptObservation) -> float:
    """Return the share of accept(2) calls that found no connection."""
    return observation.empty_accepts_per_request / (observation.empty_accepts_per_request + 1)


def contention(arms: Mapping[str, Mapping[str, Metric]]) -> str:
    """Return in words how long workers wait for their CPU even with reuseport.

    Other programs on that CPU make workers wait in both arms, and so hide the difference.
    """
    share = arms[OWN.name].get("run_queue_wait_share")
    if share is None:
        return "how long workers wait with reuseport is not known"
    return f"it depends on the host: with reuseport the workers waited for their CPU {share:.0%} of the time here"


OWN: Final = arm("reuseport", reuseport=True)
SHARED: Final = arm("shared-queue", reuseport=False)
TWIN: Final = arm("reuseport-twin", reuseport=True)

SCENARIO: Final = Scenario(
    name="reuseport_stall_herd",
    arms=(OWN, SHARED, TWIN),
    claims=claims_of("reuseport_stall_herd", code={"empty_accepts": empty_accepts, "contention": contention}),
    backends=(),
    warm_up=HttpLoad(concurrency=8, requests=200, path=STATIC_PATH),
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    headlines=("shared_queue_wakes_for_nothing",),
    full_depth=("twins_wait_as_long",),
    timed=True,
)
