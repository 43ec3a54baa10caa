"""The figures of a worker's loop iterations: percentiles weighted by the bytes or the time of each iteration."""

from dataclasses import replace

import pytest

from tests.support import canned_turns
from tuneproof.lab.protocol.turns import Bucket, Histograms, WorkerTurns


def reading(*buckets: tuple[int, int, int]) -> WorkerTurns:
    return canned_turns.worker(11, read=buckets)


@pytest.mark.parametrize(
    ("number", "upper"),
    [(0, 0), (7, 7), (8, 8), (15, 15), (16, 17), (23, 31), (24, 35), (67, 1535), (319, (1 << 42) - 1)],
)
def test_a_buckets_number_determines_its_largest_value(number: int, upper: int) -> None:
    assert Bucket(number=number, turns=1, total=0).upper == upper


@pytest.mark.parametrize(("small", "p50", "p99"), [(0.49, 50, 50), (0.5, 1, 50), (0.98, 1, 50), (0.99, 1, 1)])
def test_iterations_below_a_percentile_have_read_that_share_of_the_bytes(small: float, p50: int, p99: int) -> None:
    """Iterations of one byte have read the share ``small`` of all bytes; the others have read 50 bytes each."""
    bytes_read = 10_000
    of_one, of_fifty = round(small * bytes_read), round((1 - small) * bytes_read)
    worker = reading((0, 700, 0), (1, of_one, of_one), (50, of_fifty // 50, of_fifty))
    assert (worker.turn_bytes_p50, worker.turn_bytes_p99) == (p50, p99)


def test_without_values_there_is_no_percentile() -> None:
    for worker in (reading(), reading((0, 17, 0))):
        assert (worker.turn_bytes_p50, worker.turn_bytes_p99) == (None, None)
        assert (worker.turn_cpu_p50_ms, worker.turn_wall_p50_ms) == (None, None)
    assert reading().largest_turn_bytes is None
    assert reading((0, 17, 0)).largest_turn_bytes == 0
    assert reading((0, 17, 0), (67, 1, 1500)).largest_turn_bytes == 1535


def test_a_workers_figures_are_in_the_units_of_their_names() -> None:
    histograms = Histograms(
        read_bytes=(Bucket(67, 4, 6000),),
        cpu_ns=(Bucket(144, 2, 4_000_000),),
        wall_ns=(Bucket(167, 1, 8_000_000),),
    )
    worker = replace(reading(), histograms=histograms, wall_ns=8_000_000, cpu_ns=2_000_000)
    assert (worker.turn_bytes_p50, worker.turn_bytes_p99, worker.largest_turn_bytes) == (1500, 1500, 1535)
    assert worker.turn_cpu_p50_ms == pytest.approx(2.0)
    assert worker.turn_wall_p50_ms == pytest.approx(8.0)
    assert worker.off_cpu_share == pytest.approx(0.75)


def test_the_share_off_the_cpu_is_within_0_and_1() -> None:
    """The two clocks may differ slightly."""
    worker = replace(reading((0, 1, 0)), wall_ns=1_000_000)
    assert replace(worker, cpu_ns=1_000_001).off_cpu_share == 0
    assert replace(worker, cpu_ns=0).off_cpu_share == 1
    assert reading().off_cpu_share is None
