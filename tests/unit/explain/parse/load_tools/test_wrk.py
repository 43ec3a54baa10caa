"""The reports of wrk and wrk2 become runs: their units are read, and errors are told by kind."""

import pytest

from tuneproof.explain.parse.load_tools import wrk
from tuneproof.explain.parse.load_tools.run import figures

WRK = """\
Running 30s test @ http://10.0.0.1:80/
  2 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   635.91us    0.89ms   1.02s    93.69%
    Req/Sec    28.10k     4.50k   40.12k    70.25%
  Latency Distribution
     50%  500.00us
     75%    1.20ms
     90%    2.50ms
     99%    1.02s
  1677100 requests in 30.02s, 1.33GB read
  Socket errors: connect 10, read 20, write 0, timeout 5
  Non-2xx or 3xx responses: 16771
Requests/sec:  55866.09
Transfer/sec:     45.35MB
"""
# The example of wrk2's README, shortened.
WRK2 = """\
Running 30s test @ http://127.0.0.1:80/index.html
  2 threads and 100 connections
  Thread calibration: mean lat.: 10087 usec, rate sampling interval: 22 msec
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     6.60ms    1.92ms  12.50ms   68.46%
    Req/Sec     1.04k     1.08k    2.50k    72.79%
  Latency Distribution (HdrHistogram - Recorded Latency)
 50.000%    6.67ms
 75.000%    7.78ms
 90.000%    9.14ms
 99.000%   11.18ms
 99.900%   12.30ms
 99.990%   12.45ms
 99.999%   12.50ms
100.000%   12.50ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.921     0.000000            1         1.00
       6.671     0.500000        19783         2.00
      12.503     1.000000        39500          inf
#[Mean    =        6.602, StdDeviation   =        1.919]
#[Max     =       12.496, Total count    =        39500]
#[Buckets =           27, SubBuckets     =         2048]
----------------------------------------------------------
  60018 requests in 30.00s, 19.81MB read
Requests/sec:   2000.28
Transfer/sec:    676.18KB
"""
UNCORRECTED = """\

  Latency Distribution (HdrHistogram - Uncorrected Latency (measured without taking delayed starts into account))
 50.000%    1.11ms
 99.000%    2.22ms
100.000%    3.33ms

  Detailed Percentile spectrum:
       Value   Percentile   TotalCount 1/(1-Percentile)

       0.111     0.000000            1         1.00
#[Mean    =        1.234, StdDeviation   =        0.919]
#[Max     =        3.328, Total count    =        39500]
----------------------------------------------------------
"""


def test_units_of_wrk_become_milliseconds() -> None:
    run = wrk.parse(WRK)
    assert run.latency_ms["mean"] == pytest.approx(0.63591)
    assert (run.latency_ms["p50"], run.latency_ms["p90"], run.latency_ms["p99"]) == (0.5, 2.5, 1020)
    assert (run.requests, run.duration_s, run.requests_per_s) == (1_677_100, 30.02, 55_866.09)


def test_errors_of_wrk_are_told_by_kind() -> None:
    """Kinds that did not occur are left out, and late responses are no failed ones."""
    run = wrk.parse(WRK)
    assert dict(run.errors) == {"connect": 10, "read": 20, "timeout": 5}
    assert run.non_2xx == 16_771
    assert run.failed_share == pytest.approx((16_771 + 30) / (1_677_100 + 30))
    assert run.good_per_s == pytest.approx((1_677_100 - 16_771) / 30.02)


def test_requests_that_could_not_be_written_are_told_too() -> None:
    assert wrk.parse(WRK.replace("write 0", "write 300")).errors["write"] == 300


@pytest.mark.parametrize(("written", "seconds"), [("1.50m", 90), ("2.00h", 7200), ("900.00ms", 0.9)])
def test_a_run_is_as_long_as_its_unit_says(written: str, seconds: float) -> None:
    """A minute is not a millisecond."""
    assert wrk.parse(WRK.replace("in 30.02s", f"in {written}")).duration_s == pytest.approx(seconds)


def test_run_of_nothing_but_error_pages_has_no_throughput() -> None:
    run = wrk.parse(WRK.replace("responses: 16771", "responses: 1677100"))
    assert (run.requests_per_s, run.good_per_s, run.failed_share) == (None, None, 1)


def test_run_without_any_response_has_no_latency() -> None:
    run = wrk.parse(
        "Running 5s test @ http://10.0.0.1/\n    Latency     0.00us    0.00us   0.00us    -nan%\n"
        "  0 requests in 5.00s, 0.00B read\n  Socket errors: connect 100, read 0, write 0, timeout 0\n"
        "Requests/sec:      0.00\n"
    )
    assert (run.requests, run.requests_per_s, dict(run.latency_ms), run.failed_share) == (0, None, {}, 1)


def test_report_that_was_cut_off_is_an_interrupted_run() -> None:
    """A killed wrk has printed its head only."""
    run = wrk.parse("".join(WRK.splitlines(keepends=True)[:2]))
    assert (run.interrupted, run.requests, run.requests_per_s) == (True, None, None)
    assert ("the run", "ended early") in {(figure.name, figure.value) for figure in figures(run)}


def test_wrk2_has_high_percentiles_and_a_precise_maximum() -> None:
    """Percentiles keep their decimals in their names; the precise maximum is that of the spectrum's summary."""
    run = wrk.parse_wrk2(WRK2)
    assert (run.tool, run.requests, run.requests_per_s) == ("wrk2", 60_018, 2000.28)
    assert (run.latency_ms["p99.9"], run.latency_ms["p99.999"]) == (12.30, 12.50)
    assert (run.latency_ms["mean"], run.latency_ms["max"]) == (6.602, 12.496)


def test_uncorrected_latencies_keep_apart() -> None:
    head, line, tail = WRK2.partition("  60018 requests")
    run = wrk.parse_wrk2(head + UNCORRECTED + line + tail)
    assert (run.latency_ms["p50"], run.latency_ms["uncorrected_p50"]) == (6.67, 1.11)
    assert (run.latency_ms["max"], run.latency_ms["uncorrected_max"]) == (12.496, 3.328)
