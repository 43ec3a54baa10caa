"""HTTP load while received packets are steered to chosen CPUs."""

from dataclasses import replace

import pytest

from tests.support.canned_tools import wrk_report
from tests.support.fake_stage import FakeStage, counters
from tuneproof.errors import LabError
from tuneproof.lab.load.http_load import WRK, HttpLoad
from tuneproof.lab.load.observer import Counters
from tuneproof.lab.load.steered_load import SteeredLoad, SteeredRecord

ANSWER = wrk_report(completed=4000, seconds=1.0)
LOAD = SteeredLoad(tool=WRK, concurrency=100, cpus=(0, 1))
PLAIN = HttpLoad(tool=WRK, concurrency=100)


def steered(*counts: int) -> Counters:
    return replace(counters(), steered=counts)


@pytest.fixture
def fake() -> FakeStage:
    """Return a machine with two CPUs that handle packets before, during and after a load."""
    fake = FakeStage()
    fake.answers["run_tool"] = [ANSWER]
    fake.counters = [steered(10, 10), steered(10, 10), steered(60, 45), steered(70, 50)]
    return fake


def test_by_default_packets_are_steered_to_the_first_cpu(fake: FakeStage) -> None:
    """Each trial steers packets again, since the previous trial may have belonged to another variant."""
    for _ in range(2):
        SteeredLoad(tool=WRK).run(fake.stage, label="a-b1")
    assert fake.steered == [("subject", (0,))] * 2


def test_a_steered_load_is_the_same_load_except_for_the_steering(fake: FakeStage) -> None:
    plain = FakeStage()
    plain.answers["run_tool"] = [ANSWER]
    recorded = LOAD.run(fake.stage, label="a-b1")
    wanted = PLAIN.run(plain.stage, label="a-b1")
    assert (fake.asked, fake.steered) == (plain.asked, [("subject", (0, 1))])
    assert fake.did == ["steer_receive", "counters", *plain.did, "counters"]
    observed = vars(LOAD.observe(recorded))
    assert observed.pop("steered_to_others_share") == 0.4
    assert observed == vars(PLAIN.observe(wanted))
    record = SteeredRecord(**vars(wanted.record), rps_cpus={"rx-0": (0, 1)}, steered=(60, 40))
    assert recorded == wanted.with_record(record)


def test_a_kernel_that_refuses_steering_ends_the_trial_before_the_load(fake: FakeStage) -> None:
    """A load without steering must not count as steered."""
    fake.failing["steer_receive"] = LabError("rps_cpus cannot be written: Read-only file system")
    with pytest.raises(LabError, match="rps_cpus cannot be written"):
        LOAD.run(fake.stage, label="a-b1")
    assert fake.did == ["steer_receive"]
