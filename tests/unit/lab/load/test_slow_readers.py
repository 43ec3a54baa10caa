"""Slow readers as a load: new workers, readers until nginx's buffers are full, and the memory that this takes."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import zip_longest

import pytest

from tests.support.fake_stage import ADDRESS, MIB, PORT, FakeStage, about, cgroup, sample, sockets, worker
from tuneproof.lab.load import slow_readers, waiting
from tuneproof.lab.load.base import Outcome
from tuneproof.lab.load.observer import WorkerFigures
from tuneproof.lab.load.slow_readers import MemoryObservation, SlowReaders
from tuneproof.lab.load.waiting import PATIENCE_S, VoidTrialError
from tuneproof.lab.protocol.loadgen import Loadgen, SlowReadersSeen, SlowReading
from tuneproof.lab.protocol.observer import SocketCounts
from tuneproof.lab.topology.program import Call

LOAD = SlowReaders(readers=3)
OLD = (worker(11), worker(12))
# Workers are read before and after the reload, and before the readers start.
BEFORE = 3


def workers(*rss_bytes: int, written_bytes: int = 0, first_pid: int = 31) -> tuple[WorkerFigures, ...]:
    """Return new workers, each with one of these sizes and with ``written_bytes``."""
    return tuple(
        worker(pid, rss_bytes=size, write_bytes=written_bytes) for pid, size in enumerate(rss_bytes, start=first_pid)
    )


FRESH = workers(2 * MIB, 2 * MIB, written_bytes=1000)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeStage:
    """Return an nginx container that takes 7 MiB for its readers and frees 2 of them."""
    fake = FakeStage()
    fake.clock.replace_in(monkeypatch, slow_readers, waiting)
    fake.workers = [OLD, FRESH, FRESH, workers(8 * MIB, 2 * MIB, written_bytes=5000)]
    fake.samples = (sample(0.0, 2 * MIB, 2 * MIB), sample(0.1, 8 * MIB, 3 * MIB), sample(0.2, 6 * MIB, 3 * MIB))
    fake.cgroups = [cgroup(oom_kills=1), cgroup(usage=20 * MIB, anon=8 * MIB, file=3 * MIB, oom_kills=1)]
    fake.sockets = [sockets(send_queue_bytes=123_456, ESTAB=3)]
    fake.answers["end_slow_readers"] = [
        SlowReadersSeen(alive=2, ended=1, failed={"ECONNREFUSED": 4}, read_bytes=5, unread_bytes=654_321)
    ]
    return fake


def grow(fake: FakeStage, sizes_bytes: Sequence[int], *, ran_s: Sequence[float] = ()) -> float:
    """Run a trial in which the workers have these sizes; return how long the trial waited, in seconds.

    sizes_bytes: memory of all workers at each reading; the last size stays. ran_s: their CPU time at each reading while
    they have work to do; without it, and afterwards, they sleep.
    """
    readings = zip_longest(sizes_bytes, ran_s)
    fake.workers[BEFORE:] = [
        tuple(replace(one, run_s=each or 0.0, is_asleep=each is None) for one in workers(size, 0))
        for size, each in readings
    ]
    began_s = fake.clock.now_s
    LOAD.run(fake.stage, label="a-b1")
    # Each of the two calls takes a second on this clock.
    return fake.clock.now_s - began_s - 2


def test_readers_get_new_workers_and_their_memory_is_sampled(fake: FakeStage) -> None:
    """Growth is relative to the new workers. The peak is the largest sample of all workers together."""
    recorded = LOAD.run(fake.stage, label="a-b1")
    readings = fake.did.count("workers") - BEFORE - 2
    assert readings > 1
    assert fake.did == [
        *["workers", "HUP master", "workers"],
        *["workers", "cgroup", "watch", "start_slow_readers"],
        *["workers", *["sockets", "workers"] * readings],
        *["sockets", "cgroup", "end_slow_readers", "watched", "workers"],
    ]
    assert fake.asked == [
        Call.of(
            Loadgen.start_slow_readers,
            SlowReading(address=ADDRESS, port=PORT, path="/bulk.bin", count=3, interval_s=3.0, read_bytes=1),
        ),
        Call.of(Loadgen.end_slow_readers),
    ]
    record = recorded.record
    assert record.rss_samples == fake.samples
    assert (record.ended, record.failed, record.read_bytes) == (1, {"ECONNREFUSED": 4}, 5)
    assert (record.cgroup_before.usage_bytes, record.cgroup_after.usage_bytes) == (10 * MIB, 20 * MIB)
    observation = LOAD.observe(recorded)
    assert observation == MemoryObservation(
        steal_pct=0.0,
        # This is the time of both calls and of the wait between them.
        measuring_s=about(2.35),
        readers=3,
        readers_alive=2,
        growth_bytes=7 * MIB,
        cgroup_growth_bytes=10 * MIB,
        cgroup_kernel_growth_bytes=4 * MIB,
        temp_file_bytes=8000,
        send_queue_bytes=123_456,
        unread_bytes=654_321,
        oom_kills=0,
        others_ended=0,
    )
    assert observation.faults == ()


@pytest.mark.parametrize(
    ("sizes_bytes", "waited_s"),
    [
        ([4 * MIB], 0.35),
        ([4 * MIB, 5 * MIB, 6 * MIB, 5 * MIB, 8 * MIB], 0.55),
        ([4 * MIB, 4 * MIB, 4 * MIB + 1000, 4 * MIB + (1 << 18), 4 * MIB], 0.35),
        ([4 * MIB, 4 * MIB, 4 * MIB + (1 << 18) + 1], 0.45),
    ],
    ids=["at-once", "grows", "fluctuates", "grows-a-little"],
)
def test_readers_end_once_memory_has_not_changed_for_a_while(
    sizes_bytes: list[int], waited_s: float, fake: FakeStage
) -> None:
    """The readers end 0.3 s after the last change of more than 256 KiB."""
    assert grow(fake, sizes_bytes) == pytest.approx(waited_s, abs=0.06)


@pytest.mark.parametrize(
    ("share", "waited_s"), [(0.0, 2.35), (0.1, 2.35), (0.5, 0.65), (1.0, 0.35)], ids=["none", "little", "half", "all"]
)
def test_only_time_in_which_a_worker_runs_or_sleeps_counts(share: float, waited_s: float, fake: FakeStage) -> None:
    """The worker has work for two seconds, but gets only a share of a CPU; while it waits, its memory cannot grow."""
    ran_s = [reading * 0.05 * share for reading in range(40)]
    assert grow(fake, [4 * MIB] * 40 + [9 * MIB], ran_s=ran_s) == pytest.approx(waited_s, abs=0.06)


def test_memory_that_never_stops_growing_makes_the_trial_void(fake: FakeStage) -> None:
    """A reading at any one moment would be arbitrary."""
    with pytest.raises(VoidTrialError, match="nginx did not finish buffering for slow readers within 60 s"):
        grow(fake, [place * MIB for place in range(2000)])


def test_a_slow_machine_gets_more_time(fake: FakeStage) -> None:
    """On a machine four times slower than usual, filling nginx's buffers may take minutes."""
    grows = [place * MIB for place in range(2000)]
    fake.patience = 4.0
    assert grow(fake, grows) > PATIENCE_S


NOT_YET = sockets()
FULL: dict[str, SocketCounts] = {
    "one-upstream-each": sockets(ESTAB=2, unread_bytes=(4096, 1)),
    "with-an-idle-upstream": sockets(ESTAB=2, unread_bytes=(4096, 1, 0)),
    "no-upstream": sockets(ESTAB=2, send_queue_bytes=1),
    "a-reader-has-ended": sockets(ESTAB=1, unread_bytes=(4096, 0)),
    "all-readers-have-ended": sockets(),
}
NOT_FULL: dict[str, SocketCounts] = {
    "a-slow-upstream": sockets(ESTAB=2, unread_bytes=(4096, 0)),
    "upstreams-that-have-sent-nothing": sockets(ESTAB=2, unread_bytes=(0, 0)),
    "no-upstream-yet": sockets(ESTAB=2),
}


@pytest.mark.parametrize("full", FULL.values(), ids=FULL)
@pytest.mark.parametrize("not_full", NOT_FULL.values(), ids=NOT_FULL)
def test_the_trial_waits_for_a_slow_upstream_even_while_memory_does_not_grow(
    not_full: SocketCounts, full: SocketCounts, fake: FakeStage
) -> None:
    """On a slow host, a backend needs seconds to fill nginx's buffers. Unread data shows that they are full."""
    fake.sockets = [NOT_YET, *[not_full] * 200, full]
    assert grow(fake, [4 * MIB]) == pytest.approx(201 * 0.05 + 0.3, abs=0.06)


def test_readers_that_have_not_connected_yet_do_not_count_as_ended(fake: FakeStage) -> None:
    fake.sockets = [NOT_YET]
    with pytest.raises(VoidTrialError, match="nginx did not finish buffering"):
        LOAD.run(fake.stage, label="a-b1")


@pytest.mark.parametrize(("kills", "others"), [(0, 2), (1, 1), (2, 0), (3, 0)])
def test_workers_that_ended_without_an_oom_kill_are_counted_separately(
    kills: int, others: int, fake: FakeStage
) -> None:
    """The kernel counts kills since the container's start. The ended workers' writes are unknown."""
    fake.cgroups = [cgroup(oom_kills=5), cgroup(oom_kills=5 + kills)]
    fake.workers[BEFORE:] = [workers(MIB, MIB, written_bytes=9_999_999, first_pid=41)]
    observation = LOAD.observe(LOAD.run(fake.stage, label="a-b1"))
    assert (observation.oom_kills, observation.others_ended) == (kills, others)
    assert observation.temp_file_bytes == 0


def test_a_trial_that_killed_all_of_nginx_contributes_only_its_kills() -> None:
    """The other figures of such a trial are unknown, so the medians leave out its zeros."""
    died = LOAD.observe(Outcome(record=LOAD.out_of_memory(), measuring_s=0.0))
    assert (died.oom_kills, died.others_ended, died.died) == (1, 0, True)
    lived = replace(died, died=False, oom_kills=0, growth_bytes=7 * MIB)
    figures = LOAD.metrics([died, lived, lived])
    assert (figures["trials"], figures["growth_bytes"], figures["oom_kills"]) == (3, 7 * MIB, 0)
    assert LOAD.metrics([died]) == {"trials": 1, "oom_kills": 1}
    assert LOAD.metrics([]) == {"trials": 0}
