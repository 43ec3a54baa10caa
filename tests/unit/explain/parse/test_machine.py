"""The CPU time of the whole machine, and full file systems, are read from the tools that print them."""

import pytest

from tuneproof.explain.parse.machine import cpu, cpu_figures, full_disks
from tuneproof.explain.parse.problems import MalformedEvidenceError

VMSTAT = """\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu----- -----timestamp-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st                 UTC
 1  0      0 165533 271908 654614    0    0   654  2145 1431 3410  1  1 98  0  0 2026-11-27 10:00:00
 9  0      0 165533 271908 654614    0    0    80     0  734 2177 20 10 10 10 50 2026-11-27 10:00:01
 9  0      0 165533 271908 654614    0    0   260     0  833 2244 40 20 10  0 30 2026-11-27 10:00:02
"""
SAR = """\
Linux 5.15.0 (web) 	11/27/2026 	_x86_64_	(2 CPU)

10:00:01 AM     CPU     %user     %nice   %system   %iowait    %steal     %idle
10:00:02 AM     all     20,00      0,00     10,00     10,00     50,00     10,00
10:00:02 AM       0     99,00      0,00      1,00      0,00      0,00      0,00
10:00:03 AM     all     40,00      0,00     20,00      0,00     30,00     10,00
Average:        all     30,00      0,00     15,00      5,00     40,00     10,00
"""
IOSTAT = """\
avg-cpu:  %user   %nice %system %iowait  %steal   %idle
           1.00    0.00    1.00    0.00    0.00   98.00

Device             tps    kB_read/s    kB_wrtn/s    kB_dscd/s    kB_read    kB_wrtn
vda               5.10        10.00        99.00         0.00      1000     9000000

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          20.00    0.00   10.00   10.00   50.00   10.00

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          40.00    0.00   20.00    0.00   30.00   10.00
"""


@pytest.mark.parametrize("text", [VMSTAT, SAR, IOSTAT], ids=["vmstat", "sar", "iostat"])
def test_the_mean_of_all_intervals_is_read_without_that_since_boot(text: str) -> None:
    read = cpu(text.replace("\n", "\r\n"))
    assert (read.intervals, round(read.busy, 3), round(read.stolen, 3)) == (2, 0.85, 0.4)


def test_each_interval_is_read_with_the_time_of_its_end() -> None:
    read = cpu(SAR)
    assert [(round(each.busy, 3), each.stolen, each.end) for each in read.in_order] == [
        (0.8, 0.5, "10:00:02 AM"),
        (0.9, 0.3, "10:00:03 AM"),
    ]
    (busiest,) = (figure.value for figure in cpu_figures(read) if figure.key == "machine_busiest_pct")
    assert busiest == pytest.approx(90)


@pytest.mark.parametrize(
    ("text", "length_s"),
    [
        (SAR, 1),
        (VMSTAT, 1),
        (SAR.replace("10:00:02 AM", "09:50:03 AM"), 600),
        (SAR.replace("10:00:02 AM", "11:50:01 PM").replace("10:00:03 AM", "12:00:01 AM"), 600),
        (SAR.replace("10:00:02 AM", "23:50:01").replace("10:00:03 AM", "00:00:01").replace(" AM", ""), 600),
    ],
    ids=["a second", "unknown", "ten minutes", "twelve hours", "midnight"],
)
def test_the_length_of_an_interval_is_the_time_between_two_ends(text: str, length_s: int) -> None:
    assert cpu(text).interval_s == length_s


def test_a_mean_since_boot_is_not_an_interval() -> None:
    with pytest.raises(MalformedEvidenceError, match="not only that since boot"):
        cpu("\n".join(VMSTAT.split("\n")[:3]))


TYPES = """\
Filesystem     Type      Size  Used Avail Use% Mounted on
/dev/vda1      ext4       20G   20G     0 100% /
/dev/vda2      ext4       20G   19G   10M 100% /srv
/dev/loop0     squashfs   64M   64M     0 100% /snap/core
"""
LONG_NAME = """\
Filesystem                    1K-blocks     Used Available Use% Mounted on
/dev/mapper/a-very-long-volume
                               20511312 20511312         0 100% /var/log
"""
INODES = """\
Filesystem      Inodes   IUsed   IFree IUse% Mounted on
/dev/vda1      1310720 1310720       0  100% /var
"""


@pytest.mark.parametrize(
    ("text", "mount", "are_inodes"),
    [(TYPES, "/", False), (LONG_NAME, "/var/log", False), (INODES, "/var", True)],
    ids=["types", "long name", "inodes"],
)
def test_file_systems_without_free_space_are_read(text: str, mount: str, *, are_inodes: bool) -> None:
    read = full_disks(text)
    assert (read.mounts, read.are_inodes) == ((mount,), are_inodes)
