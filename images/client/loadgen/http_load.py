"""HTTP load by the tools that articles use: ApacheBench (ab(1), ``ab``) and wrk.

What the tools count, by their sources (support/ab.c of httpd 2.4, src/wrk.c of wrk 4.1.0):

* ab opens one connection and, when its response's head has come, all others. With ``-r`` it survives resets, but it
  ends with an error after some ten refused connections, and when nothing at all happens for the time limit.
* ab counts one broken connection under several names (receive, exceptions, length), and as complete; one that never
  stood then has a connect time of 0. So times are to be believed only without failures.
* ab counts a request on a kept-alive connection with a connect time of 0.
* wrk's latency begins when the connection stands. Answers later than its time limit count as timeouts, though complete.
* wrk's responses that are "Non-2xx or 3xx" are those with a status of 400 and above; ab's "Non-2xx" contain 3xx.
"""

import math
import re
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

_LONG_CONNECT_MS = 1000.0
_LAST_LINES = 8
_AB_FAILURES = ("Connect", "Receive", "Length", "Exceptions")
_WRK_FAILURES = ("connect", "read", "write", "timeout")
_WRK_TIME = r"([\d.]+)(us|ms|s|m|h)"
_WRK_UNITS_S = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}


class ToolError(Exception):
    """A tool is missing, failed, or said what nobody understands."""


@dataclass(frozen=True, kw_only=True)
class HttpLoad:
    """One run of a tool.

    Attributes:
        tool: ``ab`` or ``wrk``.
        address: IPv4 address of the subject.
        port: TCP port of the subject.
        path: Path to get, with its slash.
        concurrency: Connections at a time.
        keep_alive: Whether a connection carries more than one request.
        timeout_s: Whole seconds; ab: the run ends when nothing happens for so long, wrk: answers later than that count
            as timeouts.
        requests: How many requests, for ab.
        seconds: How long, in whole seconds, for wrk.
    """

    tool: str
    address: str
    port: int
    path: str
    concurrency: int
    keep_alive: bool
    timeout_s: int
    requests: int | None = None
    seconds: int | None = None


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a tool prints; its words are explained above.

    Attributes:
        completed: Requests that ended; ab: failed ones among them.
        failures: By the tool's own names; ab: connect, receive, length, exceptions; wrk: connect, read, write, timeout.
        non_2xx: Responses with a status that the tool does not like.
        seconds: Length of the run.
        requests_per_s: Completed requests per second.
    """

    completed: int
    failures: dict[str, int]
    non_2xx: int
    seconds: float
    requests_per_s: float


@dataclass(frozen=True, kw_only=True)
class AbTimes:
    """The columns ``ctime`` (connection stood) and ``ttime`` (all) of ``ab -g``, one entry per request, in ms."""

    connect_ms: list[float]
    total_ms: list[float]


def run(load: HttpLoad) -> dict[str, Any]:
    """Run the tool to its end.

    Returns:
        ``completed``, ``failed``, ``failures`` (by the tool's own names), ``non_2xx``, ``seconds``, ``requests_per_s``,
        ``connect_ms`` with ``p50``, ``p99`` and ``max``, ``connects_over_1s``, ``total_ms`` with ``p50`` and ``p99``.
        Those are milliseconds. ``failed`` is the sum of ``failures`` without ab's length, for a page's length may
        change. ``connect_ms`` and ``connects_over_1s`` are None for wrk, which does not measure them.

    Raises:
        ToolError: The tool is missing, or ended with an error, or its output is not as expected.
        ValueError: There is no such tool, or it lacks its ``requests`` or ``seconds``, or a number is not whole.
    """
    connect_ms: dict[str, float] | None = None
    connects_over_1s: int | None = None
    if load.tool == "ab":
        with tempfile.TemporaryDirectory() as folder:
            times_file = Path(folder) / "times.tsv"
            report = parse_ab(_output(ab_command(load, times=times_file)))
            times = parse_gnuplot(times_file.read_text(encoding="ascii"))
        connect_ms = {**_percentiles(times.connect_ms), "max": max(times.connect_ms)}
        connects_over_1s = sum(value_ms >= _LONG_CONNECT_MS for value_ms in times.connect_ms)
        total_ms = _percentiles(times.total_ms)
    elif load.tool == "wrk":
        text = _output(wrk_command(load))
        report = parse_wrk(text)
        total_ms = parse_wrk_latency(text)
    else:
        raise ValueError(f"tool {load.tool!r}: there are only ab and wrk")
    return {
        **asdict(report),
        "failed": sum(count for name, count in report.failures.items() if name != "length"),
        "connect_ms": connect_ms,
        "connects_over_1s": connects_over_1s,
        "total_ms": total_ms,
    }


def ab_command(load: HttpLoad, *, times: Path) -> list[str]:
    """Return the command for ab, which writes the times of all requests to a file (``-g``)."""
    if load.requests is None:
        raise ValueError("ab needs a number of requests")
    # -q: no progress on standard error; -r: go on after a reset.
    command = ["ab", "-q", "-r", "-n", f"{load.requests:d}", "-c", f"{load.concurrency:d}", "-s", f"{load.timeout_s:d}"]
    return [*command, *(["-k"] if load.keep_alive else []), "-g", str(times), _url(load)]


def wrk_command(load: HttpLoad) -> list[str]:
    """Return the command for wrk, which keeps connections alive unless told otherwise by a header."""
    if load.seconds is None:
        raise ValueError("wrk needs a number of seconds")
    command = ["wrk", "-t1", f"-c{load.concurrency:d}", f"-d{load.seconds:d}s", "--timeout", f"{load.timeout_s:d}s"]
    return [*command, "--latency", *([] if load.keep_alive else ["-H", "Connection: close"]), _url(load)]


def parse_ab(text: str) -> Report:
    """Parse what ab prints.

    Raises:
        ToolError: A line is missing.
    """
    failed = re.search(r"^ +\((Connect: .*)\)$", text, re.MULTILINE)
    failures = {name: int(count) for name, count in re.findall(r"(\w+): (\d+)", failed[1])} if failed else {}
    return Report(
        completed=int(_number(text, "Complete requests")),
        non_2xx=int(_number(text, "Non-2xx responses", default="0")),
        seconds=float(_number(text, "Time taken for tests")),
        # Left out when nothing was completed, or in no time.
        requests_per_s=float(_number(text, "Requests per second", default="0")),
        failures={name.lower(): failures.get(name, 0) for name in _AB_FAILURES},
    )


def parse_gnuplot(text: str) -> AbTimes:
    """Parse what ``ab -g`` writes: a header, then starttime, seconds, ctime, dtime, ttime and wait, by tabs.

    The last four are whole milliseconds.

    Raises:
        ToolError: The columns are others.
    """
    header, *lines = text.splitlines() or [""]
    if header.split("\t") != ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]:
        raise ToolError(f"ab wrote other columns: {header!r}")
    rows = [line.split("\t") for line in lines]
    return AbTimes(connect_ms=[float(row[2]) for row in rows], total_ms=[float(row[4]) for row in rows])


def parse_wrk(text: str) -> Report:
    """Parse what ``wrk --latency`` prints.

    Raises:
        ToolError: A line is missing.
    """
    ended = re.search(rf"^ +(\d+) requests in {_WRK_TIME}, ", text, re.MULTILINE)
    if ended is None:
        raise ToolError(f"wrk did not say how many requests it made: {_last_lines(text)}")
    failures = re.search(r"^ +Socket errors: (.*)$", text, re.MULTILINE)
    counts = {name: int(count) for name, count in re.findall(r"(\w+) (\d+)", failures[1])} if failures else {}
    return Report(
        completed=int(ended[1]),
        non_2xx=int(_number(text, "Non-2xx or 3xx responses", default="0")),
        seconds=float(ended[2]) * _WRK_UNITS_S[ended[3]],
        requests_per_s=float(_number(text, "Requests/sec")),
        failures={name: counts.get(name, 0) for name in _WRK_FAILURES},
    )


def parse_wrk_latency(text: str) -> dict[str, float]:
    """Parse the percentiles of ``wrk --latency``: ``p50`` and ``p99`` in milliseconds, connecting not included.

    Raises:
        ToolError: A line is missing.
    """
    found = {percent: seconds for percent, *seconds in re.findall(rf"^ +(\d+)% +{_WRK_TIME} *$", text, re.MULTILINE)}
    if not {"50", "99"} <= found.keys():
        raise ToolError(f"wrk did not say its latency: {_last_lines(text)}")
    return {f"p{name}": float(found[name][0]) * _WRK_UNITS_S[found[name][1]] * 1e3 for name in ("50", "99")}


def _url(load: HttpLoad) -> str:
    return f"http://{load.address}:{load.port}{load.path}"


def _output(command: list[str]) -> str:
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
        )
    except FileNotFoundError as error:
        raise ToolError(f"{command[0]} is not installed") from error
    if done.returncode:
        raise ToolError(f"{command[0]} ended with status {done.returncode}: {_last_lines(done.stdout)}")
    return done.stdout


def _last_lines(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return " | ".join(lines[-_LAST_LINES:])


def _number(text: str, name: str, *, default: str | None = None) -> str:
    found = re.search(rf"^ *{re.escape(name)}: +([\d.]+)", text, re.MULTILINE)
    if found is not None:
        return found[1]
    if default is None:
        raise ToolError(f"the tool did not say {name!r}: {_last_lines(text)}")
    return default


def _percentiles(values_ms: list[float]) -> dict[str, float]:
    """Return nearest-rank percentiles: values that occurred."""
    ordered = sorted(values_ms)
    return {f"p{percent}": ordered[math.ceil(len(ordered) * percent / 100) - 1] for percent in (50, 99)}
