"""Receive packet steering: does a second CPU for the softirqs of a busy interface help?

Source: "nginx under high concurrency drops SYNs" (2020), which spreads a network card's interrupts over CPUs. A veth
has none; its counterpart is RPS (https://docs.kernel.org/networking/scaling.html).
"""

from typing import Final

from tuneproof.catalogue.aa_control import aa_control
from tuneproof.catalogue.advice import MANY_CPUS, Advice, RunConditions
from tuneproof.lab.load.http_load import WRK
from tuneproof.lab.load.steered_load import SteeredLoad, SteeredObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim, Metrics
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario

GAIN_THRESHOLD: Final = 1.1
MOVED_THRESHOLD: Final = 0.25
SUBJECT, TWIN_SUBJECT = (
    Subject(name=name, config=SubjectConfig(access_log=False, worker_connections=4096)) for name in ("subject", "twin")
)


def arm(name: str, *cpus: int, subject: Subject = SUBJECT) -> Arm[SteeredObservation]:
    """Return the arm that steers received packets to these CPUs."""
    threads = subject.config.worker_processes if subject.cpus is CpuShare.MANY else 1
    plan = SteeredLoad(tool=WRK, concurrency=100, path=STATIC_PATH, cpus=cpus, threads=threads)
    return Arm(name=name, subject=subject, plan=plan)  # type: ignore[arg-type] # it returns more than its base says


ONE, BOTH, TWIN, MANY_ONE, MANY = "cpus-0", "cpus-0-1", "cpus-0-twin", "many-workers-one-cpu", "many-workers-all-cpus"


def other_cpu(arms: Metrics) -> str:
    """Return how busy nginx kept its own CPU: what RPS takes off it, another CPU must have left."""
    share = next(iter(arms.values())).get("worker_cpu_share") or 0.0
    return (
        f"it depends on the host: nginx used {share:.0%} of its CPU here, and the second one is the load generator's "
        "where there are two"
    )


def steering_claim(
    name: str, sentence: str, arms: tuple[str, str], *, subject_cpus: int = 1
) -> Claim[SteeredObservation]:
    """Return the claim that steering to more CPUs (the second arm) raises the rate of requests."""
    few, more = arms
    return Claim[SteeredObservation](
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
        why="less than 10 % is not worth a setting that uses the other CPU",
        expected=None,
        moderator=other_cpu,
    )


CLAIMS: Final[tuple[Claim[SteeredObservation], ...]] = (
    Claim(
        name="steering_moves_softirqs",
        sentence="With rps_cpus 3 (two CPUs), the second CPU handles at least a quarter of the received packets",
        source="nginx under high concurrency drops SYNs (2020): overruns when one core takes all interrupts",
        arms=(BOTH, ONE),
        effect=lambda block: block[BOTH].steered_to_others_share - block[ONE].steered_to_others_share,
        effect_name="packets handed to another CPU than the first, rps_cpus 3 - rps_cpus 1",
        figure="steered_to_others_share",
        scale=Scale.SHARE,
        threshold=MOVED_THRESHOLD,
        why="half of an even split; less would not relieve the first CPU",
    ),
    steering_claim(
        "second_cpu_for_softirqs_helps",
        "Steering received packets to a second CPU (rps_cpus) raises requests per second by at least 10 %",
        (ONE, BOTH),
    ),
    steering_claim(
        "many_cpus_for_softirqs_help",
        "Steering received packets to many CPUs instead of one (rps_cpus) raises requests per second by at least 10 %",
        (MANY_ONE, MANY),
        subject_cpus=MANY_CPUS,
    ),
    aa_control(
        "twins_answer_as_many",
        "Two identical nginx containers answer the same number of requests per second",
        arms=(ONE, TWIN),
        value=lambda seen: seen.requests_per_s,
        what="requests per second",
        figure="requests_per_s",
        decides=GAIN_THRESHOLD,
    ),
)


def scenario(run: RunConditions) -> Scenario[SteeredObservation]:
    """Return the scenario for the CPUs that nginx has."""
    cpus = run.subject_cpus()
    config = SubjectConfig(worker_processes=len(cpus), workers_on=tuple(cpus), access_log=False)
    many = Subject(name="many-workers", config=config, cpus=CpuShare.MANY)
    return Scenario(
        name="softirq_steering",
        arms=(
            arm(ONE, 0),
            arm(BOTH, 0, 1),
            arm(TWIN, 0, subject=TWIN_SUBJECT),
            arm(MANY_ONE, cpus[0], subject=many),
            arm(MANY, *cpus, subject=many),
        ),
        claims=CLAIMS,
        backends=(),
        grant="sys_admin",
    )


ADVICE: Final = Advice(
    scenario=scenario,
    full_depth=("twins_answer_as_many",),
    timed=True,
)
