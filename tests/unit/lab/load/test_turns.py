"""What a worker's turns are told as: percentiles that weigh each turn by what it did."""

import json

import pytest

from tests.support import canned_turns
from tuneproof.lab.load.turns import Bucket, Turns, TurnValues, WorkerTurns


def values(*buckets: tuple[int, int, int]) -> TurnValues:
    """Return a distribution."""
    return TurnValues.from_json(buckets)


@pytest.mark.parametrize(
    ("index", "upper"),
    [(0, 0), (7, 7), (8, 8), (15, 15), (16, 17), (23, 31), (24, 35), (67, 1535), (319, (1 << 42) - 1)],
)
def test_a_bucket_ends_where_the_next_begins(index: int, upper: int) -> None:
    """Eight per power of two, and the smallest values by themselves."""
    assert Bucket(index=index, turns=1, total=0).upper == upper


def test_half_of_all_bytes_were_read_in_turns_of_the_weighted_median() -> None:
    """A thousand turns that read nothing and a hundred small ones do not matter beside one that read most."""
    read = values((0, 1000, 0), (64, 100, 102_400), (120, 1, 204_800))
    assert read.weighted(50) == 204_800
    assert read.weighted(33) == 1024
    assert read.weighted(34) == 204_800
    assert read.weighted(0) == 1024, "turns that did nothing have no part in it"
    assert read.weighted(100) == 204_800


def test_equal_turns_have_their_exact_value_at_every_rank() -> None:
    """A bucket knows the sum of what is in it, so nothing is rounded to its ends."""
    read = values((67, 9, 9 * 1500))
    assert {read.weighted(rank) for rank in (0, 1, 50, 99, 100)} == {1500}


def test_where_there_was_nothing_there_is_no_percentile() -> None:
    """Neither without turns nor with turns that read nothing."""
    for read in (values(), values((0, 17, 0))):
        assert read.weighted(50) is None
    assert values().largest is None
    assert values((0, 17, 0)).largest == 0
    assert values((0, 17, 0), (67, 1, 1500)).largest == 1535


def test_a_workers_figures_are_in_the_units_of_their_names() -> None:
    """Nanoseconds become milliseconds, bytes stay bytes."""
    raw = canned_turns.raw_worker(
        11, read=[[67, 4, 6000]], cpu=[[144, 2, 4_000_000]], wall_ns=8_000_000, cpu_ns=2_000_000
    )
    raw["histograms"]["wall_ns"] = [[167, 1, 8_000_000]]
    worker = WorkerTurns.from_json(raw)
    assert (worker.turn_bytes_p50, worker.turn_bytes_p99, worker.largest_turn_bytes) == (1500, 1500, 1535)
    assert worker.turn_cpu_p50_ms == pytest.approx(2.0)
    assert worker.turn_wall_p50_ms == pytest.approx(8.0)
    assert worker.off_cpu_share == pytest.approx(0.75)


def test_the_share_off_the_cpu_is_within_0_and_1() -> None:
    """The two clocks differ by a trifle; without turns there is no share."""
    steered = canned_turns.raw_worker(11, read=[[0, 1, 0]], wall_ns=1_000_000)
    assert WorkerTurns.from_json({**steered, "cpu_ns": 1_000_001}).off_cpu_share == 0
    assert WorkerTurns.from_json({**steered, "cpu_ns": 0}).off_cpu_share == 1
    assert WorkerTurns.from_json(canned_turns.raw_worker(11)).off_cpu_share is None


def test_turns_survive_json() -> None:
    """A raw record of a trial is read again as it was."""
    raw = {
        "workers": [canned_turns.raw_worker(11, read=[[67, 4, 6000]]), canned_turns.raw_worker(12)],
        "start_s": 1.5,
        "end_s": 2.5,
    }
    turns = Turns.from_json(raw)
    assert json.loads(json.dumps(turns.to_json())) == raw
    assert [worker.pid for worker in turns.workers] == [11, 12]
