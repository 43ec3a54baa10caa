"""The report of h2load becomes a run, from old and new releases."""

import pytest

from tuneproof.explain.parse.load_tools.h2load import parse

OLD = """\
starting benchmark...
spawning thread #0: 10 total client(s). 10000 total requests
Application protocol: h2
progress: 10% done
progress: 100% done

finished in 771.26ms, 12965.79 req/s, 10.05MB/s
requests: 10000 total, 10000 started, 10000 done, 9940 succeeded, 60 failed, 20 errored, 5 timeout
status codes: 9900 2xx, 40 3xx, 10 4xx, 30 5xx
traffic: 7.75MB (8127020) total, 1.12MB (1177020) headers (space savings 38.05%), 6.15MB (6450000) data
                     min         max         mean         sd        +/- sd
time for request:      121us     12.05ms      1.25ms       892us    78.33%
time for connect:      1.01ms     3.02ms      2.00ms       301us    60.00%
time to 1st byte:      2.31ms     6.10ms      4.02ms       850us    60.00%
req/s           :    1297.12     1401.33     1340.10       33.21    70.00%
"""
NEW = """\
finished in 5.00s, 2000.00 req/s, 1.55MB/s
requests: 10000 total, 10000 started, 10000 done, 10000 succeeded, 0 failed, 0 errored, 0 timeout
status codes: 10000 2xx, 0 3xx, 0 4xx, 0 5xx
                 min         max         median      p95         p99         mean        sd         +/- sd
request     :      121us     12.05ms      1.10ms      3.50ms      9.25ms      1.25ms       892us    78.33%
connect     :     1.01ms      3.02ms      2.00ms      2.90ms      3.01ms      2.00ms       301us    60.00%
TTFB        :     2.31ms      6.10ms      4.00ms      5.90ms      6.01ms      4.02ms       850us    60.00%
req/s       :     200.00      210.00      205.00      209.00      210.00      205.00        3.21    70.00%
"""


def test_old_report_is_read_in_full() -> None:
    run = parse(OLD)
    assert run.duration_s == pytest.approx(0.77126)
    assert run.requests_per_s == 12_965.79
    assert (run.latency_ms["min"], run.latency_ms["max"], run.latency_ms["mean"]) == (0.121, 12.05, 1.25)
    assert (run.latency_ms["connect_max"], run.latency_ms["first_byte_mean"]) == (3.02, 4.02)


def test_new_report_has_percentiles() -> None:
    run = parse(NEW)
    assert (run.latency_ms["p50"], run.latency_ms["p95"], run.latency_ms["p99"]) == (1.10, 3.50, 9.25)
    assert (run.latency_ms["mean"], run.latency_ms["deviation"], run.latency_ms["first_byte_p99"]) == (
        1.25,
        0.892,
        6.01,
    )
    assert (run.failed_share, run.good_per_s) == (0, 2000)


def test_failures_are_error_pages_and_requests_without_response() -> None:
    """40 of 60 failed ones were answered by 4xx and 5xx; 5 of the 20 others ran out of time."""
    run = parse(OLD)
    assert (run.requests, run.non_2xx) == (9980, 40)
    assert dict(run.errors) == {"errored": 15, "timeout": 5, "status_4xx": 10, "status_5xx": 30}
    assert run.failed_share == pytest.approx(60 / 10_000)
    assert run.good_per_s == pytest.approx(9940 / 0.77126)


def test_run_without_success_has_no_throughput() -> None:
    run = parse(
        "finished in 5.00s, 0.00 req/s, 0B/s\n"
        "requests: 10 total, 10 started, 10 done, 0 succeeded, 10 failed, 10 errored, 0 timeout\n"
    )
    assert (run.requests_per_s, run.failed_share, dict(run.errors)) == (None, 1, {"errored": 10})


def test_report_that_was_cut_off_is_an_interrupted_run() -> None:
    """A killed h2load has printed its progress only."""
    run = parse("starting benchmark...\nprogress: 10% done\n")
    assert (run.interrupted, run.requests) == (True, None)
