"""A storm of connects as a load, with stopped or running workers."""

import pytest

from tests.support.fake_stage import ADDRESS, PORT, FakeStage, counters, sample, sockets
from tuneproof.errors import LabError
from tuneproof.lab.load import waiting
from tuneproof.lab.load.connect_storm import ConnectStorm, StormObservation
from tuneproof.lab.protocol.loadgen import Loadgen, StormSeen
from tuneproof.lab.topology.program import Call


def seen(*connect_ms: float, unfinished: int = 0) -> StormSeen:
    return StormSeen(connect_ms=connect_ms, unfinished=unfinished, failed={"ECONNRESET": 3})


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """Return an nginx container that gets 8 connects: 5 succeed within a second, 2 later, and one stays pending."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, waiting)
    fake.answers["storm"] = [seen(1.0, 2.0, 3.0, 4.0, 999.9, 1000.0, 1010.0, unfinished=1)]
    fake.samples = (sample(0.0, queued=0), sample(0.1, queued=5), sample(0.2, queued=3))
    fake.counters = [
        counters(),
        counters(TcpExt__ListenOverflows=103, TcpExt__ListenDrops=104, TcpExt__TCPBacklogDrop=101),
    ]
    return fake


def test_workers_are_stopped_during_the_storm_and_continue_before_the_next_trial(fake: FakeStage) -> None:
    recorded = ConnectStorm(connections=8).run(fake.stage, label="a-b1")
    assert fake.did == [
        *["counters", "STOP workers", "watch", "storm", "watched", "CONT workers"],
        *["counters", "sockets"],
    ]
    assert fake.asked == [Call.of(Loadgen.storm, ADDRESS, PORT, 8, 1.05)]
    record = recorded.record
    assert (record.unfinished, record.failed) == (1, {"ECONNRESET": 3})
    assert (record.connections, record.queue_samples) == (8, fake.samples)


def test_workers_that_should_accept_are_not_stopped(fake: FakeStage) -> None:
    load = ConnectStorm(connections=8, paused=False, wait_s=0.5)
    recorded = load.run(fake.stage, label="a-b1")
    assert fake.did == ["counters", "watch", "storm", "watched", "counters", "sockets"]
    assert fake.asked == [Call.of(Loadgen.storm, ADDRESS, PORT, 8, 0.5)]
    assert load.observe(recorded) == StormObservation(
        steal_pct=1.5,
        measuring_s=1.0,
        connections=8,
        slow_share=0.375,
        connected=5,
        queue_peak=5,
        listen_overflows=3,
        listen_drops=4,
        backlog_drops=1,
    )


@pytest.mark.parametrize("step", ["watch", "storm", "watched"])
def test_stopped_workers_continue_after_any_failure(step: str, fake: FakeStage) -> None:
    """Stopped workers would not serve later trials."""
    fake.failing[step] = LabError("no")
    with pytest.raises(LabError, match="no"):
        ConnectStorm().run(fake.stage, label="a-b1")
    assert fake.did[-1] == "CONT workers"


def test_the_trial_ends_once_all_queues_are_empty(fake: FakeStage) -> None:
    fake.sockets = [sockets(queued=(0, 3)), sockets(SYN_RECV=2), sockets(ESTAB=9)]
    ConnectStorm().run(fake.stage, label="a-b1")
    assert fake.did[-4:] == ["counters", "sockets", "sockets", "sockets"]


def test_a_queue_that_stays_full_is_an_error(fake: FakeStage) -> None:
    fake.sockets = [sockets(queued=(4, 3), SYN_RECV=2)]
    with pytest.raises(LabError, match="connections of the storm did not leave the accept queue within 60 s"):
        ConnectStorm().run(fake.stage, label="a-b1")


@pytest.mark.parametrize(
    ("load", "answer", "faults"),
    [
        (ConnectStorm(connections=0), seen(), ("no connect was started",)),
        (ConnectStorm(connections=1), seen(1.0), ()),
        # Such a result would refute the claim that a long queue saves connects.
        (ConnectStorm(connections=8), seen(unfinished=8), ("none of 8 connects succeeded: nginx cannot be reached",)),
        # A full queue also drops the SYN after a second. So these connects succeeded at once, and the client was late.
        (ConnectStorm(connections=8), None, ("the client saw 2 connects only after a second",)),
        (ConnectStorm(connections=8, paused=False), None, ()),
    ],
    ids=["nothing", "one", "none-reached", "slow-client", "running-workers"],
)
def test_a_storm_is_void_if_it_is_empty_reaches_nothing_or_meets_a_slow_client(
    load: ConnectStorm, answer: StormSeen | None, faults: tuple[str, ...], fake: FakeStage
) -> None:
    if answer is not None:
        fake.answers["storm"] = [answer]
    assert load.observe(load.run(fake.stage, label="a-b1")).faults == faults
