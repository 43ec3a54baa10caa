"""pidstat's output with any options, clock and locale becomes samples by column."""

import pytest

from tests.support.outputs import PIDSTAT, PIDSTAT_ONE_LINE, PIDSTAT_THREADS
from tuneproof.explain.parse.processes import pidstat
from tuneproof.explain.parse.processes.pidstat import figures, report


def test_samples_have_their_columns_and_averages_are_marked() -> None:
    """A time with AM or PM is two words; the average has no CPU number."""
    found = report(PIDSTAT)
    first, other, second, average = found.samples
    assert (first.pid, first.command) == (2093, "nginx")
    assert first.columns == {"%usr": 20, "%system": 11, "%guest": 0, "%wait": 4.95, "%CPU": 31, "CPU": 1}
    assert (other.command, second.columns["%CPU"]) == ("beam.smp", 51)
    assert [sample.is_average for sample in found.samples] == [False, False, False, True]
    assert average.columns["%CPU"] == 41
    assert "CPU" not in average.columns
    assert found.system == "Linux 5.15.0-76-generic (web-1) 07/29/23 _x86_64_ (8 CPU)"
    assert found.unmatched_lines == 0


@pytest.mark.parametrize("clock", ["1650053639", "03:23:49 PM"])
def test_one_line_headers_name_all_columns(clock: str) -> None:
    """With -h, there is one header; the command keeps its blanks, and unreadable I/O counts are missing."""
    (sample,) = report(PIDSTAT_ONE_LINE.replace("1650053639", clock)).samples
    assert (sample.pid, sample.command) == (69554, "nginx: worker process is shutting down")
    assert (sample.columns["RSS"], sample.columns["nvcswch/s"], sample.columns["iodelay"]) == (522_684, 3, 9)
    assert "kB_rd/s" not in sample.columns
    assert sample.columns["kB_wr/s"] == 0


def test_a_thread_belongs_to_the_process_before_it() -> None:
    """A thread's line has no process id; a command of two words stays whole."""
    process, thread = report(PIDSTAT_THREADS).samples
    assert (process.pid, process.thread_id) == (1207, None)
    assert (thread.pid, thread.thread_id, thread.command) == (1207, 17329, "Reference Handl")


@pytest.mark.parametrize(
    ("head", "row", "columns"),
    [
        ("10:23:11 UID PID cswch/s nvcswch/s", "10:23:12 33 1205 10,50 0,25", {"cswch/s": 10.5, "nvcswch/s": 0.25}),
        ("10时23分11秒 UID PID kB_rd/s", "10时23分12秒 33 1205 4.00", {"kB_rd/s": 4}),
        ("UID PID %usr", "33 1205 1.00", {"%usr": 1}),
        ("13:49 USER PID VSZ RSS %MEM", "13:49 www-data 1205 2.0M 512k 6.6%", {"VSZ": 2048, "RSS": 512, "%MEM": 6.6}),
    ],
    ids=["decimal comma", "other clock", "no clock", "units and user names"],
)
def test_locales_and_options_do_not_change_values(head: str, row: str, columns: dict[str, float]) -> None:
    (sample,) = report(f"{head} Command\n{row} nginx\n").samples
    assert (sample.pid, sample.columns) == (1205, columns)


TOP = """\
top - 14:00:05 up 21 days,  3:02,  2 users,  load average: 4.02, 3.80, 3.11
Tasks: 213 total,   3 running, 210 sleeping,   0 stopped,   0 zombie
%Cpu(s): 26.1 us,  3.2 sy,  0.0 ni, 69.0 id,  0.4 wa,  0.0 hi,  1.3 si,  0.0 st
MiB Mem :  15880.3 total,   8123.1 free,   3011.9 used,   4745.3 buff/cache

    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND
   1201 www-data  20   0    1.2g  21788   8120 R  99,7   0.1  33:11.02 nginx: worker process
"""
PS = """\
USER         PID %CPU %MEM    VSZ   RSS TTY      STAT START   TIME COMMAND
www-data    1201 99.0  0.2  14000 21000 ?        R    Nov01  90:11 nginx: worker process
"""


@pytest.mark.parametrize(("text", "share"), [(TOP, 99.7), (PS, 99)], ids=["top", "ps, since the start"])
def test_top_and_ps_show_each_processs_share_of_a_cpu(text: str, share: float) -> None:
    """Their other columns have other units, and the lines above top's table are not samples of processes."""
    found = report(text)
    (sample,) = found.samples
    assert (sample.pid, sample.command, sample.columns) == (1201, "nginx: worker process", {"%CPU": share})
    assert not found.unmatched_lines


@pytest.mark.parametrize("average", ["Average:", "Moyenne :", "平均时间:"])
def test_an_average_without_its_own_header_is_recognised(average: str) -> None:
    text = f"09:22:19 PM   UID       PID    %CPU  Command\n{average}      33      2093    9.00  nginx\n"
    (sample,) = report(text).samples
    assert (sample.is_average, sample.pid, sample.columns) == (True, 2093, {"%CPU": 9})


def test_lines_other_than_samples_are_counted() -> None:
    found = report(f"log begins\n{PIDSTAT}^C\n09:22:22 PM    33      2093   40.00   11.")
    assert found.unmatched_lines == 3
    assert found.unmatched_samples == ("log begins", "^C", "09:22:22 PM    33      2093   40.00   11.")
    assert len(found.samples) == 4


def test_samples_beyond_the_limit_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pidstat, "MAX_SAMPLES", 5)
    header, row = "10:00:00 UID PID %CPU Command\n", "10:00:01 33 7 1.00 nginx\n"
    found = report(header + row * 8)
    assert (len(found.samples), found.omitted_samples) == (5, 3)
    shown = {figure.name: figure.value for figure in figures(found)}
    assert shown["samples beyond the limit, ignored"] == 3


def test_figures_show_the_busiest_process_first_and_leave_averages_out() -> None:
    shown = [(figure.name, figure.value) for figure in figures(report(PIDSTAT))]
    assert shown[1:5] == [
        ("samples", 3),
        ("processes", 2),
        ("nginx (2093): mean time on a CPU", 41),
        ("nginx (2093): highest share of time ready without a CPU", 14.95),
    ]


def test_averages_are_used_if_there_are_no_other_samples() -> None:
    """A grep may have kept only averages. Memory is in bytes; long commands are shortened in figures' names only."""
    command = f"nginx: master process /usr/sbin/nginx -c {'x' * 40}"
    average = f"Average:  33  2093  100  512  {command}\n"
    cpu, memory = (each for each in figures(report(f"Average: UID PID %CPU RSS Command\n{average}")) if each.of)
    assert (cpu.name, cpu.value) == (f"{command[:40]} (2093): mean time on a CPU", 100)
    assert (memory.name, memory.value) == (f"{command[:40]} (2093): highest resident memory", 512 * 1024)
    assert cpu.of == f"{command} (2093)"
