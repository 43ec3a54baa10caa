"""nginx on many CPUs: does a queue per worker avoid contention, and how many workers are best?

Sources: NGINX's article on socket sharding in nginx 1.9.1 (2015), which reports two to three times as many requests
with reuseport on 36 cores; and ``worker_processes auto`` in every tuning list
(https://nginx.org/en/docs/ngx_core_module.html#worker_processes).
"""

from collections.abc import Sequence
from typing import Final

from tuneproof.catalogue.advice import Advice, RunConditions
from tuneproof.catalogue.counting import claims_of
from tuneproof.lab.load.http_load import WRK, HttpLoad, HttpObservation
from tuneproof.lab.subject.config import STATIC_PATH, SubjectConfig
from tuneproof.proof.scenario.arms import Arm, Subject
from tuneproof.proof.scenario.placement import CpuShare
from tuneproof.proof.scenario.scenarios import Scenario

_CLIENTS_PER_CPU: Final = 16


def arm(name: str, config: SubjectConfig, *, cpus: int, new_connections: bool) -> Arm[HttpObservation]:
    """Return the arm of an nginx with this configuration and number of CPUs."""
    load = HttpLoad(
        tool=WRK,
        path=STATIC_PATH,
        concurrency=_CLIENTS_PER_CPU * cpus,
        threads=cpus,
        keep_alive=not new_connections,
    )
    return Arm(name=name, subject=Subject(name=name, config=config, cpus=CpuShare.MANY), plan=load)


def accepting(name: str, cpus: Sequence[int], *, reuseport: bool) -> Arm[HttpObservation]:
    """Return the arm with one CPU per worker, and clients that connect for every request."""
    config = SubjectConfig(
        worker_processes=len(cpus),
        workers_on=tuple(cpus),
        reuseport=reuseport,
        backlog=4096,
        access_log=False,
    )
    return arm(name, config, cpus=len(cpus), new_connections=True)


def serving(name: str, cpus: Sequence[int], *, workers: int) -> Arm[HttpObservation]:
    """Return the arm with this number of workers, and clients that keep their connections."""
    # One queue per worker distributes the long-lived connections over all workers.
    config = SubjectConfig(worker_processes=workers, backlog=4096, access_log=False)
    return arm(name, config, cpus=len(cpus), new_connections=False)


CLAIMS: Final = claims_of("many_cpus")


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
