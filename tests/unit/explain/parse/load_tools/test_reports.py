"""Rates, latencies and errors are read from reports of ab, wrk, wrk2 and h2load, even if the tool gave up."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any, Final

import pytest

from tests.support.outputs import AB, AB_BANNER, H2LOAD, H2LOAD_OLD, WRK, WRK2, WRK2_UNCORRECTED
from tuneproof.explain.parse.load_tools import ab, h2load, wrk
from tuneproof.explain.parse.load_tools.run import LoadRun, figures
from tuneproof.explain.parse.problems import MalformedEvidenceError

Parse = Callable[[str], LoadRun]


NOTHING_ANSWERS = """\
Running 5s test @ http://10.0.0.1/
    Latency     0.00us    0.00us   0.00us    -nan%
  0 requests in 5.00s, 0.00B read
  Socket errors: connect 100, read 0, write 0, timeout 0
Requests/sec:      0.00
"""
# Each row: a report and its content. Times are in milliseconds, except for the run's; missing values are None.
CASES: Final[Mapping[str, tuple[Parse, str, dict[str, Any]]]] = {
    # An error page usually has another length, too, so the larger of the two counts is used.
    "ab": (
        ab.parse,
        AB,
        {"tool": "ab", "requests": 10_000, "duration_s": 2.5, "requests_per_s": 4000, "interrupted": False}
        | {"p50": 20, "p99": 81, "max": 1043, "mean": 24, "connect_max": 1021, "non_2xx": 90, "good_per_s": 9900 / 2.5}
        | {"errors": {"receive": 10, "length": 30}, "failed_share": 0.01, "failed requests": 1},
    ),
    "ab's kinds of failures": (
        ab.parse,
        AB.replace("0, Receive: 10, Length: 30, Exceptions: 0", "1, Receive: 8, Length: 13, Exceptions: 5"),
        {"errors": {"connect": 1, "receive": 8, "length": 13, "exception": 5}},
    ),
    "ab without failures has one rate": (
        ab.parse,
        "\n".join(line for line in AB.splitlines() if not line.startswith(("   (Connect", "Non-2xx", "Failed"))),
        {"failed_share": 0, "good_per_s": 4000, "good responses per second": None},
    ),
    "ab with error pages only has no rate": (
        ab.parse,
        AB.replace("Non-2xx responses:      90", "Non-2xx responses:      10000"),
        {"requests_per_s": None, "good_per_s": None, "failed_share": 1},
    ),
    "ab gave up half way": (
        ab.parse,
        f"{AB_BANNER}apr_socket_recv: Connection reset by peer (104)\nTotal of 123 requests completed\n",
        {"requests": 123, "requests_per_s": None, "interrupted": True, "errors": {"read": 1}}
        | {"notes": ("apr_socket_recv: Connection reset by peer (104)",)},
    ),
    "ab gave up waiting": (
        ab.parse,
        f"{AB_BANNER}apr_pollset_poll: The timeout specified has expired (70007)\n",
        {"errors": {"timeout": 1}, "requests": None, "failed_share": None},
    ),
    "ab was refused": (
        ab.parse,
        f"{AB_BANNER}apr_socket_connect(): Connection refused (111)\n",
        {"errors": {"connect": 1}, "requests": None, "failed_share": None},
    ),
    "ab without deviations": (
        ab.parse,
        "Complete requests:      10\nConnect:        0      3    1021\nTotal:          2     24    1043\n",
        {"mean": 24, "max": 1043, "connect_max": 1021},
    ),
    # Kinds that did not occur are left out, and late responses do not count as failed.
    "wrk": (
        wrk.parse,
        WRK,
        {"requests": 1_677_100, "duration_s": 30.02, "requests_per_s": 55_866.09, "non_2xx": 16_771, "mean": 0.63591}
        | {"p50": 0.5, "p90": 2.5, "p99": 1020, "errors": {"connect": 10, "read": 20, "timeout": 5}}
        | {"failed_share": (16_771 + 30) / (1_677_100 + 30), "good_per_s": (1_677_100 - 16_771) / 30.02},
    ),
    "wrk could not write": (wrk.parse, WRK.replace("write 0", "write 300"), {"errors, write": 300}),
    "wrk for minutes": (wrk.parse, WRK.replace("30.02s", "1.50m"), {"duration_s": 90}),
    "wrk for hours": (wrk.parse, WRK.replace("30.02s", "2.00h"), {"duration_s": 7200}),
    "wrk for a moment": (wrk.parse, WRK.replace("30.02s", "900.00ms"), {"duration_s": 0.9}),
    "wrk without any response has no latency": (
        wrk.parse,
        NOTHING_ANSWERS,
        {"requests": 0, "requests_per_s": None, "latency_ms": {}, "failed_share": 1},
    ),
    "wrk was killed": (
        wrk.parse,
        "".join(WRK.splitlines(keepends=True)[:2]),
        {"interrupted": True, "requests": None, "requests_per_s": None, "the run": "ended early"},
    ),
    # The precise maximum is in the spectrum's summary.
    "wrk2": (
        wrk.parse_wrk2,
        WRK2,
        {"tool": "wrk2", "requests": 60_018, "requests_per_s": 2000.28, "p99.9": 12.30, "p99.999": 12.50}
        | {"mean": 6.602, "max": 12.496},
    ),
    "wrk2's uncorrected latencies": (
        wrk.parse_wrk2,
        WRK2.replace("  60018 requests", f"{WRK2_UNCORRECTED}  60018 requests"),
        {"p50": 6.67, "uncorrected_p50": 1.11, "max": 12.496, "uncorrected_max": 3.328},
    ),
    # 40 of the 60 failed requests got 4xx and 5xx; 5 of the other 20 timed out.
    "h2load": (
        h2load.parse,
        H2LOAD_OLD,
        {"duration_s": 0.77126, "requests_per_s": 12_965.79, "min": 0.121, "max": 12.05, "mean": 1.25}
        | {"connect_max": 3.02, "first_byte_mean": 4.02, "requests": 9980, "non_2xx": 40, "failed_share": 60 / 10_000}
        | {"errors": {"errored": 15, "timeout": 5, "status_4xx": 10, "status_5xx": 30}, "good_per_s": 9940 / 0.77126},
    ),
    "h2load's percentiles": (
        h2load.parse,
        H2LOAD,
        {"p50": 1.10, "p95": 3.50, "p99": 9.25, "mean": 1.25, "deviation": 0.892, "first_byte_p99": 6.01}
        | {"failed_share": 0, "good_per_s": 2000},
    ),
    "h2load without success has no throughput": (
        h2load.parse,
        "".join(H2LOAD.splitlines(keepends=True)[:2]).replace(
            "10000 succeeded, 0 failed, 0", "0 succeeded, 10 failed, 10"
        ),
        {"requests_per_s": None, "failed_share": 1, "errors": {"errored": 10}},
    ),
}


@pytest.mark.parametrize(("parse", "text", "expected"), CASES.values(), ids=CASES)
def test_a_report_is_read(parse: Parse, text: str, expected: dict[str, Any]) -> None:
    run = parse(text)
    found = {**asdict(run), **run.latency_ms, **{figure.name: figure.value for figure in figures(run)}}
    for key, value in expected.items():
        assert found.get(key) == (pytest.approx(value) if isinstance(value, float) else value), key


@pytest.mark.parametrize(
    ("parse", "report"), [(ab.parse, AB), (wrk.parse, WRK), (wrk.parse_wrk2, WRK2), (h2load.parse, H2LOAD_OLD)]
)
def test_a_truncated_report_gives_a_result(parse: Parse, report: str) -> None:
    """Only a text without any of the tool's output is an error."""
    lines = report.splitlines(keepends=True)
    with pytest.raises(MalformedEvidenceError):
        parse("")
    for kept in range(1, len(lines)):
        run = parse("".join(lines[:kept]))
        assert run.requests is None or run.interrupted or run.requests == parse(report).requests
