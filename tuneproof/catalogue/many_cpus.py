"""nginx on many CPUs: does a queue for each worker spare them contention, and how many workers are right?

Sources: NGINX's article on socket sharding in its release 1.9.1 (2015), which has two to three times the requests with
reuseport on 36 cores; and worker_processes auto of every tuning list
(https://nginx.org/en/docs/ngx_core_module.html#worker_processes).
"""

from collections.abc import Sequence
from typing import Final

from tuneproof.catalogue.advice import MANY_CPUS, Advice, RunConditions
from tuneproof.lab.load.http_load import WRK, HttpLoad, HttpObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.inference.effects import Scale
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.claims import Claim
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario

CONTENTION_THRESHOLD: Final = 1.2
GAIN_THRESHOLD: Final = 1.1
_CLIENTS_PER_CPU: Final = 16

_AUTO: Final = "every tuning list: worker_processes auto, one worker for each CPU"


def arm(name: str, config: SubjectConfig, *, cpus: int, new_connections: bool) -> Arm[HttpObservation]:
    """Return an arm.

    Args:
        name: Its name, and its subject's.
        config: The configuration of the subject.
        cpus: How many CPUs nginx has.
        new_connections: Whether each request comes on a connection of its own.
    """
    load = HttpLoad(
        tool=WRK,
        path=STATIC_PATH,
        concurrency=_CLIENTS_PER_CPU * cpus,
        threads=cpus,
        keep_alive=not new_connections,
    )
    return Arm(name=name, subject=Subject(name=name, config=config, cpus=CpuShare.MANY), plan=load)


def accepting(name: str, cpus: Sequence[int], *, reuseport: bool) -> Arm[HttpObservation]:
    """Return the arm of workers that have a CPU each, under clients that connect anew for every request."""
    config = SubjectConfig(
        worker_processes=len(cpus),
        workers_on=tuple(cpus),
        reuseport=reuseport,
        backlog=4096,
        access_log=False,
    )
    return arm(name, config, cpus=len(cpus), new_connections=True)


def serving(name: str, cpus: Sequence[int], *, workers: int) -> Arm[HttpObservation]:
    """Return the arm of so many workers, under clients that keep their connections."""
    # Each worker its own queue, so that connections, which last, are spread over all of them.
    config = SubjectConfig(worker_processes=workers, backlog=4096, access_log=False)
    return arm(name, config, cpus=len(cpus), new_connections=False)


def faster(name: str, sentence: str, *, arms: tuple[str, str]) -> Claim[HttpObservation]:
    """Return the claim that the first arm answers more requests per second than the second."""
    return Claim[HttpObservation](
        name=name,
        sentence=sentence,
        source=_AUTO,
        arms=arms,
        effect=lambda block: block[arms[0]].requests_per_s / block[arms[1]].requests_per_s,
        effect_name=f"requests per second, {arms[0]} ÷ {arms[1]}",
        figure="requests_per_s",
        scale=Scale.RATIO,
        threshold=GAIN_THRESHOLD,
        why="10 % more requests save one machine in ten",
        expected=None,
        subject_cpus=MANY_CPUS,
    )


CLAIMS: Final = (
    Claim[HttpObservation](
        name="reuseport_spares_contention",
        sentence="With many workers, reuseport (one accept queue per worker) reduces CPU time per request",
        source='NGINX, "Socket Sharding in NGINX Release 1.9.1" (2015): two to three times the requests on 36 cores',
        arms=("shared-queue", "queue-per-worker"),
        effect=lambda block: (
            block["shared-queue"].worker_cpu_us_per_request / block["queue-per-worker"].worker_cpu_us_per_request
        ),
        effect_name="CPU time per request, shared-queue ÷ queue-per-worker",
        figure="worker_cpu_us_per_request",
        scale=Scale.RATIO,
        threshold=CONTENTION_THRESHOLD,
        why="the article reports two to three times the requests on 36 cores; 20 % is the least for eight CPUs",
        expected=None,
        subject_cpus=MANY_CPUS,
    ),
    faster(
        "a_worker_per_cpu_beats_half_as_many",
        "On many CPUs, one worker per CPU answers more requests than half as many workers",
        arms=("worker-per-cpu", "half-as-many"),
    ),
    faster(
        "more_workers_than_cpus_answer_more",
        "On many CPUs, two workers per CPU answer more requests than one per CPU",
        arms=("twice-as-many", "worker-per-cpu"),
    ),
)


def scenario(run: RunConditions) -> Scenario[HttpObservation]:
    """Return the scenario for the CPUs that nginx has."""
    cpus = run.subject_cpus()
    return Scenario(
        name="many_cpus",
        arms=(
            accepting("shared-queue", cpus, reuseport=False),
            accepting("queue-per-worker", cpus, reuseport=True),
            serving("worker-per-cpu", cpus, workers=len(cpus)),
            serving("half-as-many", cpus, workers=max(1, len(cpus) // 2)),
            serving("twice-as-many", cpus, workers=2 * len(cpus)),
        ),
        claims=CLAIMS,
        backends=(),
    )


ADVICE: Final = Advice(scenario=scenario, timed=True)
