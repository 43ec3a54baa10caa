"""Receive packet steering: does a second CPU for the softirqs of a busy interface help?

Source: "nginx under high concurrency drops SYNs" (2020), which spreads a network card's interrupts over CPUs. A veth
has none; its counterpart is RPS (https://docs.kernel.org/networking/scaling.html).
"""

from typing import Final

from tuneproof.catalogue.advice import MANY_CPUS, Advice, RunConditions
from tuneproof.errors import LabError
from tuneproof.lab.load.http_load import WRK, HttpObservation
from tuneproof.lab.load.stage import Stage
from tuneproof.lab.load.steered_load import SteeredLoad
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.preconditions import PreconditionError
from tuneproof.proof.scenario.scenarios import Scenario

GAIN_THRESHOLD: Final = 1.1
SUBJECT: Final = Subject(name="subject", config=SubjectConfig(access_log=False, worker_connections=4096))


def arm(name: str, *cpus: int, subject: Subject = SUBJECT) -> Arm[HttpObservation]:
    """Return the arm that steers received packets to these CPUs."""
    threads = subject.config.worker_processes if subject.cpus is CpuShare.MANY else 1
    plan = SteeredLoad(tool=WRK, concurrency=100, path=STATIC_PATH, cpus=cpus, threads=threads)
    return Arm(name=name, subject=subject, plan=plan)


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


ONE, BOTH, MANY_ONE, MANY = "cpus-0", "cpus-0-1", "many-workers-one-cpu", "many-workers-all-cpus"


def steering_claim(name: str, sentence: str, arms: tuple[str, str], *, subject_cpus: int = 1) -> Claim[HttpObservation]:
    """Return the claim that steering to more CPUs (the second arm) raises the rate of requests."""
    few, more = arms
    return Claim[HttpObservation](
        name=name,
        sentence=sentence,
        source="nginx under high concurrency drops SYNs (2020): overruns when one core takes all interrupts",
        arms=arms,
        effect=lambda block: block[more].requests_per_s / block[few].requests_per_s,
        effect_name=f"requests per second, {more} ÷ {few}",
        figure="requests_per_s",
        scale=Scale.RATIO,
        threshold=GAIN_THRESHOLD,
        subject_cpus=subject_cpus,
        expected=Verdict.HOLDS if subject_cpus == 1 else None,
    )


CLAIMS: Final = (
    steering_claim(
        "second_cpu_for_softirqs_helps",
        "Steering received packets to a second CPU raises the rate of requests",
        (ONE, BOTH),
    ),
    steering_claim(
        "many_cpus_for_softirqs_help",
        "Steering received packets to all of many CPUs, and not to one, raises the rate of requests",
        (MANY_ONE, MANY),
        subject_cpus=MANY_CPUS,
    ),
)


def scenario(run: RunConditions) -> Scenario[HttpObservation]:
    """Return the scenario for the CPUs that nginx has."""
    cpus = run.subject_cpus()
    config = SubjectConfig(worker_processes=len(cpus), workers_on=tuple(cpus), access_log=False)
    many = Subject(name="many-workers", config=config, cpus=CpuShare.MANY)
    return Scenario(
        name="softirq_steering",
        arms=(
            arm(ONE, 0),
            arm(BOTH, 0, 1),
            arm(MANY_ONE, cpus[0], subject=many),
            arm(MANY, *cpus, subject=many),
        ),
        claims=CLAIMS,
        backends=(),
        check=check_steering,
    )


ADVICE: Final = Advice(
    scenario=scenario,
    timed=True,
)
