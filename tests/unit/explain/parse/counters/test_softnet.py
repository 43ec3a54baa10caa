"""/proc/net/softnet_stat becomes what each CPU processed, dropped and left."""

from tests.support.canned_counters import OLD_SOFTNET, SOFTNET
from tuneproof.explain.parse.counters.snapshot import delta
from tuneproof.explain.parse.counters.softnet import cpus, figures, snapshots

ROW = "00000001 00000002 00000003" + " 00000000" * 9 + " 0000000{cpu}\n"


def test_values_are_hexadecimal() -> None:
    """The first three columns count; the 13th is the CPU."""
    (snapshot,) = snapshots(SOFTNET)
    assert snapshot.counters == {
        "cpu0.processed": 0x3229A931,
        "cpu0.dropped": 0xFDD,
        "cpu0.squeezed": 0x4B,
        "cpu1.processed": 0x219F7279,
        "cpu1.dropped": 0x212,
        "cpu1.squeezed": 0x25,
    }


def test_a_cpu_that_is_offline_does_not_shift_the_others() -> None:
    """Its line is missing, and the kernel tells the number of each."""
    (snapshot,) = snapshots(ROW.format(cpu=0) + ROW.format(cpu=3))
    assert cpus(snapshot.counters) == [0, 3]


def test_a_loop_is_split_where_a_cpu_comes_again() -> None:
    first, second = snapshots(f"{SOFTNET}10:00:01\n{SOFTNET}")
    assert (first.labels, second.labels) == ((), ("10:00:01",))
    assert first.counters == second.counters


def test_without_cpu_numbers_lines_between_split() -> None:
    """Before Linux 5.10 CPUs are counted from 0."""
    first, second = snapshots(f"{OLD_SOFTNET}10:00:01\n{OLD_SOFTNET}")
    assert cpus(first.counters) == [0, 1]
    assert first.counters == second.counters


def test_a_wrap_of_32_bits_is_no_reset() -> None:
    before = "fffffff0" + " 00000000" * 12 + "\n"
    after = "00000010" + " 00000000" * 12 + "\n"
    earlier, later = snapshots(before + after)
    change = delta(earlier, later)
    assert change.increments == {"cpu0.processed": 0x20, "cpu0.dropped": 0, "cpu0.squeezed": 0}
    assert (change.wrapped, change.reset) == (("cpu0.processed",), ())


def test_figures_are_sums_and_the_worst_cpus() -> None:
    told = {figure.name: figure.value for figure in figures(snapshots(OLD_SOFTNET)[0].counters)}
    assert told["packets dropped, a CPU's backlog was full"] == 2
    assert told["times a CPU stopped with packets left"] == 3
    assert told["packets dropped by CPU 1"] == 2
    assert "packets dropped by CPU 0" not in told
