"""The arms of claims about many CPUs can run, even on a machine with too few CPUs to decide the claims."""

from typing import Final

import pytest

from fixtures.engine import BuiltImages
from tests.lab.benches import bench_of
from tuneproof.catalogue import many_cpus
from tuneproof.catalogue.advice import RunConditions
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.protocol.cpus import cpus_of
from tuneproof.proof.scenario.placement import CpuPlacement

pytestmark = [pytest.mark.engine]

# nginx gets both CPUs, and shares them with the load generators.
PLACEMENT: Final = CpuPlacement(subject="0-1", others="0-1")
CPUS_ALLOWED: Final = (
    "grep -h Cpus_allowed_list $(grep -l '^nginx: worker' /proc/[0-9]*/cmdline | sed s/cmdline/status/)"
)


@pytest.mark.slow  # tests/unit/catalogue/test_many_cpus.py tests the arms; test_isolation.py tests a container's CPUs
def test_workers_run_on_their_arms_cpus_without_failures(lab_session: Session, images: BuiltImages, nginx: str) -> None:
    scenario = many_cpus.scenario(RunConditions(subject_cpus=lambda: cpus_of(PLACEMENT.subject)))
    built = images.of_bench(nginx)
    with bench_of(lab_session, scenario, nginx=nginx, images=built, placement=PLACEMENT) as (lab, bench):
        bench.prepare()
        seen = {}
        for arm in scenario.arms:
            lists = lab[arm.subject.name].run(["sh", "-c", CPUS_ALLOWED]).decode().split("Cpus_allowed_list:")
            seen[arm.name] = sorted(filter(None, (text.strip() for text in lists)))
            # Whether the generators are fast enough cannot be checked on two CPUs.
            assert isinstance(arm.plan, HttpLoad)
            met = HttpLoad.observe(arm.plan, bench.run(arm, label=f"{arm.name}-b1"))
            assert (met.faults, met.failed_share) == ((), 0.0)
    assert seen == {
        "shared-queue": ["0", "1"],
        "queue-per-worker": ["0", "1"],
        "worker-per-cpu": ["0-1"] * 2,
        "half-as-many": ["0-1"],
        "twice-as-many": ["0-1"] * 4,
    }
