"""HTTP load with steered packets: the same load, on chosen CPUs, with what each CPU's softirqs did."""

from dataclasses import replace
from typing import Any

import pytest

from tests.support.fake_stage import FakeStage, counters
from tuneproof.errors import LabError
from tuneproof.lab.load.http_load import WRK, HttpLoad
from tuneproof.lab.load.observer import Counters, SoftnetFigures
from tuneproof.lab.load.steered_load import SteeredLoad

ANSWER: dict[str, Any] = {
    "completed": 4000,
    "failed": 0,
    "seconds": 1.0,
    "requests_per_s": 4000.0,
    "connect_ms": None,
    "connects_over_1s": None,
    "total_ms": {"p50": 12.0, "p99": 30.0},
}
LOAD = SteeredLoad(tool=WRK, concurrency=100, cpus=(0, 1))
PLAIN = HttpLoad(tool=WRK, concurrency=100)


def softnet(*processed: int, squeezed: int = 0) -> Counters:
    """Return a reading of the counters, with the packets of each CPU."""
    cpus = tuple(SoftnetFigures(processed=count, dropped=0, squeezed=squeezed) for count in processed)
    return replace(counters(), softnet=cpus)


@pytest.fixture
def fake() -> FakeStage:
    """A machine whose two CPUs handle packets before, during and after a load."""
    fake = FakeStage()
    fake.answers["http_load"] = ANSWER
    fake.counters = [softnet(100, 7), softnet(110, 7), softnet(900, 407), softnet(1000, 507, squeezed=2)]
    return fake


def test_packets_are_steered_before_anything_is_counted(fake: FakeStage) -> None:
    """The load is within the two readings of the softirqs, and steered by the agent beside the subject."""
    LOAD.run(fake.stage, label="a-b1")
    assert fake.steered == [("subject", (0, 1))]
    assert fake.did == [
        "steer_receive",
        "counters",
        *["counters", "workers", "http_load", "workers", "counters", "sockets"],
        "counters",
    ]


def test_unless_said_otherwise_the_first_cpu_handles_all(fake: FakeStage) -> None:
    """Each trial steers anew: the one before may have been another arm's."""
    for _ in range(2):
        SteeredLoad(tool=WRK).run(fake.stage, label="a-b1")
    assert fake.steered == [("subject", (0,))] * 2


def test_the_record_has_what_was_read_back_and_what_each_cpu_did(fake: FakeStage) -> None:
    """From the first reading to the last, one entry per CPU in order, for JSON."""
    recorded = LOAD.run(fake.stage, label="a-b1")
    assert recorded["rps_cpus"] == {"rx-0": [0, 1]}
    assert recorded["softnet"] == [
        {"processed": 900, "dropped": 0, "squeezed": 2},
        {"processed": 500, "dropped": 0, "squeezed": 2},
    ]


def test_but_for_the_steering_it_is_the_same_load(fake: FakeStage) -> None:
    """The generator is asked for the same, and the observation has the same figures."""
    plain = FakeStage()
    plain.answers["http_load"] = ANSWER
    recorded = LOAD.run(fake.stage, label="a-b1")
    wanted = PLAIN.run(plain.stage, label="a-b1")
    assert fake.jobs == plain.jobs
    assert LOAD.observe(recorded) == PLAIN.observe(wanted)
    assert {name: value for name, value in recorded.items() if name not in {"rps_cpus", "softnet"}} == wanted


def test_a_kernel_that_does_not_let_it_ends_the_trial_before_the_load(fake: FakeStage) -> None:
    """A load that was not steered would count as one that was."""
    fake.failing["steer_receive"] = LabError("rps_cpus cannot be written: Read-only file system")
    with pytest.raises(LabError, match="rps_cpus cannot be written"):
        LOAD.run(fake.stage, label="a-b1")
    assert fake.did == ["steer_receive"]
