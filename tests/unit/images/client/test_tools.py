"""ApacheBench and wrk: their commands, and what is handed over of what they print and write."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from images.client.loadgen.tools import ab_command, ab_times, run, wrk_command
from tuneproof.explain.parse.load_tools import ab, wrk
from tuneproof.lab.protocol.loadgen import AbTimes, Tool, ToolSaid
from tuneproof.lab.protocol.serving import CannotDoError

AB = Tool(
    tool="ab",
    address="172.18.0.2",
    port=8000,
    path="/small.bin",
    concurrency=100,
    keep_alive=False,
    timeout_s=30,
    requests=1000,
)
WRK = replace(AB, tool="wrk", requests=None, seconds=10)
URL = "http://172.18.0.2:8000/small.bin"

AB_TEXT = """\
This is ApacheBench, Version 2.3 <$Revision: 1923142 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking 172.18.0.2 (be patient).....done


Server Software:        nginx/1.22.1
Server Hostname:        172.18.0.2
Server Port:            8000

Document Path:          /small.bin
Document Length:        1024 bytes

Concurrency Level:      100
Time taken for tests:   1.215 seconds
Complete requests:      1000
Failed requests:        0
Total transferred:      1264000 bytes
HTML transferred:       1024000 bytes
Requests per second:    823.05 [#/sec] (mean)
Time per request:       121.500 [ms] (mean)
Time per request:       1.215 [ms] (mean, across all concurrent requests)
Transfer rate:          1015.95 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0   32 173.4      1    1021
Processing:     1   10   4.1      9      28
Waiting:        1    9   3.9      8      27
Total:          2   42 173.5     10    1040

Percentage of the requests served within a certain time (ms)
  50%     10
 100%   1040 (longest request)
"""
AB_FAILURES = """\
Failed requests:        27
   (Connect: 1, Receive: 8, Length: 13, Exceptions: 5)
Non-2xx responses:      4
"""
GNUPLOT = """\
starttime\tseconds\tctime\tdtime\tttime\twait
Tue Jun 03 10:00:00 2025\t1748944800\t0\t2\t2\t1
Tue Jun 03 10:00:00 2025\t1748944800\t1\t9\t10\t8
Tue Jun 03 10:00:00 2025\t1748944800\t1000\t11\t1011\t9
Tue Jun 03 10:00:01 2025\t1748944801\t999\t31\t1030\t30
"""
WRK_TEXT = """\
Running 10s test @ http://172.18.0.2:8000/small.bin
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     4.02ms    8.11ms   1.21s    97.41%
    Req/Sec    31.02k     2.10k   35.40k    71.00%
  Latency Distribution
     50%  850.00us
     75%    4.12ms
     90%    7.45ms
     99%    1.21s 
  308672 requests in 10.01s, 372.10MB read
Requests/sec:  30836.36
Transfer/sec:     37.17MB
"""  # noqa: W291 - wrk pads so
WRK_FAILURES = """\
  Socket errors: connect 1, read 20, write 300, timeout 4000
  Non-2xx or 3xx responses: 17
"""


def with_failures(text: str, *, instead_of: str, failures: str) -> str:
    """Return a recorded text with another line of failures."""
    assert instead_of in text
    return text.replace(instead_of, failures)


def fake_tool(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Put a tool on the path, alone, that runs a Python script; its arguments are ``sys.argv``."""
    tool = folder / name
    tool.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{script}", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_ab_is_told_everything_that_the_load_says() -> None:
    """Quiet, past resets, with the times of all requests in a file; kept alive only on demand."""
    assert ab_command(AB, times=Path("/t/times.tsv")) == [
        *("ab", "-q", "-r", "-n", "1000", "-c", "100", "-s", "30", "-g", "/t/times.tsv"),
        URL,
    ]
    assert "-k" in ab_command(replace(AB, keep_alive=True), times=Path("t"))


def test_wrk_is_told_to_close_connections_unless_they_are_kept() -> None:
    """It knows no option for that, and keeps them by itself."""
    keeping = ["wrk", "-t1", "-c100", "-d10s", "--timeout", "30s", "--latency"]
    assert wrk_command(replace(WRK, keep_alive=True)) == [*keeping, URL]
    assert wrk_command(WRK) == [*keeping, "-H", "Connection: close", URL]


def test_wrk_has_no_more_threads_than_cpus_and_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """More would only wait for each other; wrk refuses fewer connections than threads."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(12)))
    asked = {8: 8, 64: 12}
    assert {n: wrk_command(replace(WRK, threads=n))[1] for n in asked} == {n: f"-t{of}" for n, of in asked.items()}
    assert wrk_command(replace(WRK, threads=8, concurrency=3))[1] == "-t3"


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (replace(AB, requests=None), "ab needs a number of requests"),
        (replace(WRK, seconds=None), "wrk needs a number of seconds"),
        (replace(AB, tool="curl"), "tool 'curl'"),
    ],
)
def test_a_load_that_says_too_little_is_refused(load: Tool, reason: str) -> None:
    """No number is made up for it."""
    with pytest.raises(ValueError, match=reason):
        run(load)


def test_a_time_limit_that_is_not_whole_is_refused() -> None:
    """Ab would take 1.5 for 1 without a word."""
    # As nothing but the type forbids.
    half = 1.5
    with pytest.raises(ValueError, match="format code 'd'"):
        run(Tool(**{**vars(AB), "timeout_s": half}))


def test_the_times_of_single_requests_are_in_the_third_and_fifth_column() -> None:
    """Connection, and all of it, in any order; the first column's spaces separate nothing."""
    assert ab_times(GNUPLOT) == AbTimes(
        connect_ms={"p50": 1.0, "p99": 1000.0, "max": 1000.0},
        connects_over_1s=1,
        total_ms={"p50": 10.0, "p99": 1030.0},
    )


def test_percentiles_are_values_that_occurred() -> None:
    """Of a hundred requests the ninety-ninth is not the longest; each column has its own order."""
    rows = [f"x	1	{1000 * number}	0	{100 - number}	0" for number in range(1, 101)]
    times = ab_times("\n".join([GNUPLOT.splitlines()[0], *rows]))
    assert times.connect_ms == {"p50": 50_000, "p99": 99_000, "max": 100_000}
    assert times.total_ms == {"p50": 49, "p99": 98}


def test_a_connect_of_a_second_is_a_long_one() -> None:
    """That is when a SYN that was lost comes again; a millisecond less is none."""
    assert ab_times(GNUPLOT.replace("	999	", "	1000	")).connects_over_1s == 2


@pytest.mark.parametrize(
    "text",
    ["", GNUPLOT.replace("ctime", "dtime"), GNUPLOT.splitlines()[0]],
    ids=["empty", "other-columns", "no-requests"],
)
def test_other_columns_are_an_error(text: str) -> None:
    """Another version's file must not be read as if it were this one's, and nothing not as times."""
    with pytest.raises(CannotDoError, match="ab wrote other columns, or nothing below them"):
        ab_times(text)


@pytest.mark.parametrize("failures", ["Failed requests:        0\n", AB_FAILURES], ids=["none", "some"])
def test_a_run_of_ab_hands_over_its_report_and_its_times(
    failures: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The report as it was printed, and the file's times."""
    text = with_failures(AB_TEXT, instead_of="Failed requests:        0\n", failures=failures)
    script = f"Path(sys.argv[sys.argv.index('-g') + 1]).write_text({GNUPLOT!r})\nprint({text!r}, end='')\n"
    fake_tool("ab", tmp_path, monkeypatch, script)
    assert run(AB) == ToolSaid(report=text, times=ab_times(GNUPLOT))


def test_the_library_reads_abs_report() -> None:
    """What it leaves out without failures is zero; otherwise each kind has its own number."""
    fine = ab.parse(AB_TEXT)
    assert (fine.requests, fine.non_2xx, fine.duration_s, fine.requests_per_s) == (1000, 0, 1.215, 823.05)
    assert sum(fine.errors.values()) == 0
    failed = ab.parse(with_failures(AB_TEXT, instead_of="Failed requests:        0\n", failures=AB_FAILURES))
    assert failed.errors == {"connect": 1, "receive": 8, "length": 13, "exception": 5}
    assert failed.non_2xx == 4


def test_a_run_of_wrk_hands_over_its_report_and_claims_no_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not measure those of connections."""
    text = with_failures(WRK_TEXT, instead_of="Requests/sec", failures=WRK_FAILURES + "Requests/sec")
    fake_tool("wrk", tmp_path, monkeypatch, f"print({text!r}, end='')\n")
    assert run(WRK) == ToolSaid(report=text, times=None)


def test_the_library_reads_wrks_report() -> None:
    """What it leaves out without failures is zero, each kind has its own number; its units are of its own choice."""
    fine = wrk.parse(WRK_TEXT)
    assert (fine.requests, fine.non_2xx, fine.requests_per_s) == (308_672, 0, 30_836.36)
    assert fine.duration_s == pytest.approx(10.01)
    assert sum(fine.errors.values()) == 0
    assert [fine.latency_ms["p50"], fine.latency_ms["p99"]] == pytest.approx([0.85, 1210.0])
    failed = wrk.parse(with_failures(WRK_TEXT, instead_of="Requests/sec", failures=WRK_FAILURES + "Requests/sec"))
    assert failed.errors == {"connect": 1, "read": 20, "write": 300, "timeout": 4000}
    assert failed.non_2xx == 17


@pytest.mark.parametrize(("written", "seconds"), [("1.50m", 90), ("2.00h", 7200), ("900.00ms", 0.9)])
def test_the_library_understands_wrks_units(written: str, seconds: float) -> None:
    """A minute is not a millisecond."""
    assert wrk.parse(WRK_TEXT.replace("10.01s", written)).duration_s == pytest.approx(seconds)


def test_a_tool_that_fails_is_an_error_with_its_last_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From both of its outputs: ab writes its reason to standard error."""
    script = "print('Benchmarking', flush=True)\nsys.exit('apr_socket_connect(): Connection refused (111)')\n"
    fake_tool("ab", tmp_path, monkeypatch, script)
    with pytest.raises(
        CannotDoError, match=r"ab ended with status 1: Benchmarking \| apr_socket_connect\(\): .* \(111\)"
    ):
        run(AB)


def test_a_tool_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client's image has both; another place may not."""
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CannotDoError, match="wrk is not installed"):
        run(WRK)
    with pytest.raises(CannotDoError, match="ab is not installed"):
        run(AB)
