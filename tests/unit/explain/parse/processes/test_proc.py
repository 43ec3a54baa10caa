"""/proc/PID/status and schedstat become values in bytes and seconds, process by process."""

import pytest

from tests.support.outputs import KERNEL_THREAD, SCHEDSTAT, STATUS
from tuneproof.explain.parse.processes import schedstat, status

IO = "rchar: 3980\nwchar: 12\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 0\n"


def test_status_is_read_in_bytes() -> None:
    """The kernel's kB means KiB. A value with a million blanks is cut."""
    (process,) = status.snapshots(STATUS)
    assert (process.name, process.pid, process.threads) == ("nginx", 2081, 1)
    assert process.rss_bytes == 81708 * 1024
    assert (process.rss_anon_bytes, process.rss_file_bytes) == (70112 * 1024, 11580 * 1024)
    assert (process.rss_peak_bytes, process.swap_bytes) == (91708 * 1024, 0)
    assert (process.voluntary_switches, process.nonvoluntary_switches) == (1500, 38)
    assert (process.state, process.cpus_allowed) == ("S (sleeping)", "0-1")
    assert status.write_bytes(IO) == 8192
    (blank,) = status.snapshots(f"Name:\tx{' ' * 1_000_000}y\n")
    assert len(blank.name or "") == 200


def test_a_kernel_thread_has_no_memory() -> None:
    """Missing values are None and not zero, and do not become figures."""
    (process,) = status.snapshots(KERNEL_THREAD)
    assert (process.rss_bytes, process.voluntary_switches) == (None, None)
    assert [figure.name for figure in status.figures(process)] == ["process", "process id", "state", "threads"]


def test_several_processes_are_split_at_their_names() -> None:
    """Other lines belong to the process after them; at the end, they belong to the last one."""
    first, second = status.snapshots(f"{STATUS}Thu Nov 20\n{KERNEL_THREAD}end\n")
    assert (first.name, second.name) == ("nginx", "ksoftirqd/0")
    assert (first.labels, second.labels) == ((), ("Thu Nov 20", "end"))


def test_status_may_lack_lines() -> None:
    """A grep in a loop does not print names, so a repeated key begins a reading."""
    first, second = status.snapshots("VmRSS:\t 10 kB\nRssAnon:\t 4 kB\nVmRSS:\t 20 kB\n")
    assert (first.rss_bytes, first.rss_anon_bytes, first.name) == (10240, 4096, None)
    assert (second.rss_bytes, second.rss_anon_bytes) == (20480, None)


def test_schedstat_is_read_in_seconds() -> None:
    """The kernel counts nanoseconds; the share of waiting refers to running plus waiting time, if there is any."""
    (time,) = schedstat.snapshots(SCHEDSTAT)
    assert (time.run_s, time.wait_s, time.slices) == (0.038261109, 0.006899127, 96)
    shown = {figure.name: figure.value for figure in schedstat.figures(time)}
    assert shown["share of its ready time without a CPU"] == pytest.approx(15.277, abs=1e-3)
    names = [figure.name for figure in schedstat.figures(schedstat.snapshots("0 0 0\n")[0])]
    assert names == ["waited for a CPU", "ran on a CPU", "times it got a CPU"]


def test_two_readings_give_their_difference() -> None:
    first, second = schedstat.snapshots(f"{SCHEDSTAT}10:00:01\n40261109 6899127 97\n")
    assert second.labels == ("10:00:01",)
    grown = schedstat.between(first, second)
    assert grown is not None
    assert (round(grown.run_s, 6), grown.wait_s, grown.slices) == (0.002, 0, 1)
    assert schedstat.between(second, first) is None
