"""Half-open connections as a load: a burst of SYNs between readings, and its result."""

from dataclasses import replace

import pytest

from tests.support.fake_stage import ADDRESS, PORT, FakeStage, counters, sockets
from tuneproof.errors import LabError
from tuneproof.lab.load import half_open, waiting
from tuneproof.lab.load.half_open import HalfOpen, HalfOpenObservation


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """Return an nginx container without half-open connections before the burst, and with 160 after it."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, half_open, waiting)
    fake.sockets = [sockets(), sockets(SYN_RECV=160, ESTAB=9)]
    fake.counters = [
        counters(),
        counters(Tcp__InSegs=900, TcpExt__ListenDrops=500, TcpExt__ListenOverflows=300, TcpExt__SyncookiesSent=180),
    ]
    return fake


def test_the_clients_netadmin_container_sends_the_burst_between_readings(fake: FakeStage) -> None:
    """No share depends on time, so stolen CPU time does not matter."""
    load = HalfOpen(syns=800)
    recorded = load.run(fake.stage, label="a-b1")
    assert fake.did == ["sockets", "counters", "half_open", *["sockets", "counters"] * 2]
    assert fake.bursts == [("client", ADDRESS, PORT, 800)]
    assert load.observe(recorded) == HalfOpenObservation(
        steal_pct=0.0,
        measuring_s=recorded.measuring_s,
        syns=800,
        dropped_share=0.5,
        overflowed_share=0.25,
        cookies_share=0.1,
        arrived_share=1.0,
        half_open=160,
        sending_s=0.1,
    )


def test_counters_are_read_after_the_last_syn_has_arrived(fake: FakeStage) -> None:
    fake.counters[1:1] = [counters(Tcp__InSegs=300, TcpExt__ListenDrops=120), counters(Tcp__InSegs=310)]
    load = HalfOpen(syns=800)
    assert load.observe(load.run(fake.stage, label="a-b1")).dropped_share == 0.5


def test_half_open_connections_that_end_before_the_last_reading_are_counted(fake: FakeStage) -> None:
    """On a busy machine, the kernel may drop such connections before the last reading."""
    fake.sockets.append(sockets())
    load = HalfOpen(syns=800)
    assert load.observe(load.run(fake.stage, label="a-b1")).half_open == 160


def test_a_burst_waits_until_the_previous_one_is_gone(fake: FakeStage) -> None:
    """Connections from the last burst would fill the queue, and end during the new one."""
    fake.sockets[:0] = [sockets(SYN_RECV=160), sockets(SYN_RECV=3)]
    HalfOpen().run(fake.stage, label="a-b1")
    assert fake.did[:4] == ["sockets"] * 3 + ["counters"]


def test_half_open_connections_that_stay_are_an_error(fake: FakeStage) -> None:
    fake.sockets = [sockets(SYN_RECV=160)]
    with pytest.raises(LabError, match="half-open connections of the last burst did not end within 60 s"):
        HalfOpen().run(fake.stage, label="a-b1")
    assert fake.bursts == []


@pytest.mark.parametrize(
    ("arrived", "seconds", "faults"),
    [
        (400, 0.9, ()),
        (399, 0.9, ("399 of 800 SYNs arrived",)),
        (400, 1.2, ("sending took 1.2 s, and half-open connections end after 1 s",)),
    ],
)
def test_a_burst_is_void_if_many_syns_are_lost_or_its_first_connections_expire(
    arrived: int, seconds: float, faults: tuple[str, ...], fake: FakeStage
) -> None:
    """After connections have expired, the queue has room again, and fewer SYNs are dropped."""
    fake.sockets = [sockets()]
    fake.counters[1] = counters(Tcp__InSegs=100 + arrived)
    load = HalfOpen(syns=800)
    outcome = load.run(fake.stage, label="a-b1")
    assert load.observe(outcome.with_record(replace(outcome.record, seconds=seconds))).faults == faults
