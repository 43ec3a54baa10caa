"""Receive packet steering: does a second CPU for the softirqs of a busy interface help?

Source: "nginx under high concurrency drops SYNs" (2020), which spreads a network card's interrupts over CPUs. A veth
has none; its counterpart is RPS (https://docs.kernel.org/networking/scaling.html).
"""

from typing import Final

from tuneproof.catalogue.advice import Advice
from tuneproof.errors import LabError
from tuneproof.lab.load.http_load import WRK, HttpObservation
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.steered_load import SteeredLoad
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.intervals import Scale
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.proof.scenario.scenarios import Scenario

GAIN_THRESHOLD: Final = 1.1
SUBJECT: Final = Subject(name="subject", config=SubjectConfig(access_log=False, worker_connections=4096))


def arm(*cpus: int) -> Arm[HttpObservation]:
    """Return the arm that steers received packets to these CPUs."""
    plan = SteeredLoad(tool=WRK, concurrency=100, path=STATIC_PATH, cpus=cpus)
    return Arm(name=f"cpus-{'-'.join(map(str, cpus))}", subject=SUBJECT, plan=plan)


def check_steering(stage: Stage) -> None:
    """Try to steer in the subject's namespace.

    Raises:
        PreconditionError: The kernel does not let the lab do so, with its reason.
    """
    try:
        stage.programs.agent(stage.subject_name).steer_receive([0])
    except LabError as error:
        raise PreconditionError(
            f"receive packet steering cannot be set here: {error.what}",
            remedy="containers without privileges see /sys read-only; the lab takes no more of the host than it has",
        ) from error


ONE, BOTH = arm(0), arm(0, 1)
SCENARIO: Final = Scenario(
    name="softirq_steering",
    arms=(ONE, BOTH),
    claims=(
        Claim[HttpObservation](
            name="second_cpu_for_softirqs_helps",
            sentence="Steering received packets to a second CPU raises the rate of requests",
            source="nginx under high concurrency drops SYNs (2020): overruns when one core takes all interrupts",
            arms=(ONE.name, BOTH.name),
            effect=lambda block: block[BOTH.name].requests_per_s / block[ONE.name].requests_per_s,
            effect_name="requests per second, two CPUs ÷ one",
            scale=Scale.RATIO,
            threshold=GAIN_THRESHOLD,
        ),
    ),
    backends=(),
    check=check_steering,
)

ADVICE: Final = Advice(
    scenario=lambda _run: SCENARIO,
    timed=True,
)
