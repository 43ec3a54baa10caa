"""Receive packet steering: does a second CPU for the softirqs of a busy interface help?

Source: "nginx under high concurrency drops SYNs" (2020), which spreads a network card's interrupts over CPUs. A veth
    interface has no interrupts; RPS distributes its packets (https://docs.kernel.org/networking/scaling.html).
"""

from typing import Final

from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.http_load import WRK
from tuneproof.lab.load.steered_load import SteeredLoad, SteeredObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Metrics
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario

SUBJECT, TWIN_SUBJECT = (
    Subject(name=name, config=SubjectConfig(access_log=False, worker_connections=4096)) for name in ("subject", "twin")
)


def arm(name: str, *cpus: int, subject: Subject = SUBJECT) -> Arm[SteeredObservation]:
    """Return the arm that hands received packets to these CPUs."""
    threads = subject.config.worker_processes if subject.cpus is CpuShare.MANY else 1
    plan = SteeredLoad(tool=WRK, concurrency=100, path=STATIC_PATH, cpus=cpus, threads=threads)
    return Arm(name=name, subject=subject, plan=plan)  # type: ignore[arg-type] # it returns more than its base says


ONE, BOTH, TWIN, MANY_ONE, MANY = "cpus-0", "cpus-0-1", "cpus-0-twin", "many-workers-one-cpu", "many-workers-all-cpus"


def other_cpu(arms: Metrics) -> str:
    """Return in words how much CPU time nginx used: RPS helps only if the first CPU is busy and another one is not."""
    share = next(iter(arms.values())).get("worker_cpu_share") or 0.0
    return (
        f"it depends on the host: nginx used {share:.0%} of a CPU here, and on two CPUs the second one is "
        "the load generator's"
    )


CLAIMS: Final = claims_of("softirq_steering", code={"other_cpu": other_cpu})


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
