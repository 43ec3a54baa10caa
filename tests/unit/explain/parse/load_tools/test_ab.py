"""The report of ab becomes a run: rates, latencies and errors, also where ab gave up."""

import pytest

from tuneproof.explain.parse.load_tools.ab import parse
from tuneproof.explain.parse.load_tools.run import figures

BANNER = """\
This is ApacheBench, Version 2.3 <$Revision: 1903618 $>
Copyright 1996 Adam Twiss, Zeus Technology Ltd, http://www.zeustech.net/
Licensed to The Apache Software Foundation, http://www.apache.org/

Benchmarking 10.0.0.1 (be patient)
"""
REPORT = (
    BANNER
    + """\
Completed 5000 requests
Completed 10000 requests
Finished 10000 requests


Server Software:        nginx/1.27.0
Server Hostname:        10.0.0.1
Server Port:            80

Document Path:          /
Document Length:        615 bytes

Concurrency Level:      100
Time taken for tests:   2.500 seconds
Complete requests:      10000
Failed requests:        40
   (Connect: 0, Receive: 10, Length: 30, Exceptions: 0)
Non-2xx responses:      90
Total transferred:      8480000 bytes
HTML transferred:       6150000 bytes
Requests per second:    4000.00 [#/sec] (mean)
Time per request:       25.000 [ms] (mean)
Time per request:       0.250 [ms] (mean, across all concurrent requests)
Transfer rate:          3312.50 [Kbytes/sec] received

Connection Times (ms)
              min  mean[+/-sd] median   max
Connect:        0    3  57.2      0    1021
Processing:     1   21   9.1     20     212
Waiting:        1   20   9.0     19     210
Total:          2   24  58.0     20    1043

Percentage of the requests served within a certain time (ms)
  50%     20
  66%     22
  75%     24
  80%     25
  90%     31
  95%     38
  98%     55
  99%     81
 100%   1043 (longest request)
"""
)


def test_report_is_read_in_full() -> None:
    run = parse(REPORT)
    assert (run.tool, run.requests, run.duration_s, run.requests_per_s) == ("ab", 10_000, 2.5, 4000)
    assert (run.latency_ms["p50"], run.latency_ms["p99"], run.latency_ms["max"]) == (20, 81, 1043)
    assert (run.latency_ms["mean"], run.latency_ms["connect_max"]) == (24, 1021)
    assert not run.interrupted


def test_rate_of_good_responses_is_told_apart() -> None:
    """An error page is mostly of another length too, so that of both counts the larger; broken ones come on top."""
    run = parse(REPORT)
    assert (run.non_2xx, dict(run.errors)) == (90, {"receive": 10, "length": 30})
    assert run.failed_share == pytest.approx(100 / 10_000)
    assert run.good_per_s == pytest.approx(9900 / 2.5)
    assert {figure.name: figure.value for figure in figures(run)}["failed requests"] == pytest.approx(1)


def test_every_kind_of_failure_has_its_own_number() -> None:
    failed = REPORT.replace(
        "(Connect: 0, Receive: 10, Length: 30, Exceptions: 0)", "(Connect: 1, Receive: 8, Length: 13, Exceptions: 5)"
    )
    assert dict(parse(failed).errors) == {"connect": 1, "receive": 8, "length": 13, "exception": 5}


def test_run_without_failures_has_one_rate() -> None:
    """Nothing failed: the figures tell no second rate."""
    kept = [line for line in REPORT.splitlines() if not line.startswith(("   (Connect", "Non-2xx", "Failed"))]
    run = parse("\n".join(kept))
    assert (run.failed_share, run.good_per_s) == (0, 4000)
    assert "good responses per second" not in {figure.name for figure in figures(run)}


def test_run_of_nothing_but_failures_has_no_throughput() -> None:
    """4000 error pages per second are no rate."""
    run = parse(REPORT.replace("Non-2xx responses:      90", "Non-2xx responses:      10000"))
    assert (run.requests_per_s, run.good_per_s, run.failed_share) == (None, None, 1)


def test_run_that_gave_up_tells_how_far_it_came() -> None:
    run = parse(BANNER + "apr_socket_recv: Connection reset by peer (104)\nTotal of 123 requests completed\n")
    assert (run.requests, run.requests_per_s, run.interrupted) == (123, None, True)
    assert (dict(run.errors), run.notes) == ({"read": 1}, ("apr_socket_recv: Connection reset by peer (104)",))


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ("apr_pollset_poll: The timeout specified has expired (70007)", "timeout"),
        ("apr_socket_connect(): Connection refused (111)", "connect"),
    ],
)
def test_reason_of_giving_up_is_told_by_kind(said: str, kind: str) -> None:
    """What ab could not do is an error of that kind; no request is counted where none is told."""
    run = parse(f"{BANNER}{said}\n")
    assert (dict(run.errors), run.requests, run.failed_share) == ({kind: 1}, None, None)


def test_table_without_deviations_is_read_by_its_columns() -> None:
    run = parse("Complete requests:      10\nConnect:        0      3    1021\nTotal:          2     24    1043\n")
    assert (run.latency_ms["mean"], run.latency_ms["max"], run.latency_ms["connect_max"]) == (24, 1043, 1021)
