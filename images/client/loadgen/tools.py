"""HTTP load from the tools that articles use: ApacheBench (ab(1), ``ab``) and wrk.

What the tools count, according to their sources (support/ab.c of httpd 2.4, src/wrk.c of wrk 4.1.0):

* ab opens one connection first and, once it has the headers of its response, all others. With ``-r`` it survives
  resets, but it ends with an error after about ten refused connections, or if nothing happens within its time limit.
* ab counts one broken connection under several names (receive, exceptions, length), and as complete; if the connection
  was never established, its connect time is 0. ab's times are therefore valid only without failures.
* ab counts each further request on a keepalive connection with a connect time of 0.
* wrk's latency begins when a request is sent on an established connection. Responses after its time limit count as
  timeouts, although they are complete.
"""

import math
import os
import subprocess
import tempfile
from pathlib import Path

from tuneproof.lab.protocol.loadgen import AbTimes, Tool, ToolReport
from tuneproof.lab.protocol.serving import CannotDoError

_LONG_CONNECT_MS = 1000.0
_LAST_LINES = 8
_COLUMNS = ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"]


def run(asked: Tool) -> ToolReport:
    """Run the tool to its end (CannotDoError: it ended with an error, or its file is not as expected)."""
    if asked.tool == "wrk":
        return ToolReport(report=_output(wrk_command(asked)))
    with tempfile.TemporaryDirectory() as folder:
        times_file = Path(folder) / "times.tsv"
        report = _output(ab_command(asked, times=times_file))
        return ToolReport(report=report, times=ab_times(times_file.read_text(encoding="ascii")))


def ab_command(asked: Tool, *, times: Path) -> list[str]:
    """Return the command for ab, which writes the times of all requests to a file (``-g``)."""
    # -q: no progress on standard error; -r: continue after a reset.
    command = ["ab", "-q", "-r", "-n", f"{asked.requests:d}", "-c", f"{asked.concurrency:d}"]
    command += ["-s", f"{asked.timeout_s:d}", *(["-k"] if asked.keep_alive else [])]
    return [*command, "-g", str(times), _url(asked)]


def wrk_command(asked: Tool) -> list[str]:
    """Return the command for wrk, which keeps connections alive unless a header asks nginx to close them."""
    threads = min(asked.threads, len(os.sched_getaffinity(0)), asked.concurrency)
    command = [
        "wrk",
        f"-t{threads}",
        f"-c{asked.concurrency:d}",
        f"-d{asked.seconds:d}s",
        "--timeout",
        f"{asked.timeout_s:d}s",
    ]
    return [*command, "--latency", *([] if asked.keep_alive else ["-H", "Connection: close"]), _url(asked)]


def ab_times(text: str) -> AbTimes:
    """Return the times in a file of ``ab -g``: tab-separated rows below a header (CannotDoError: no request).

    The last four columns are whole milliseconds: ctime until the connection was established, ttime in total.
    """
    header, *lines = text.splitlines() or [""]
    if header.split("\t") != _COLUMNS or not lines:
        raise CannotDoError(f"ab wrote unexpected columns, or no rows: {header!r}")
    rows = [line.split("\t") for line in lines]
    connect_ms, total_ms = sorted(float(row[2]) for row in rows), sorted(float(row[4]) for row in rows)
    return AbTimes(
        connect_ms={**_percentiles(connect_ms), "max": connect_ms[-1]},
        connects_over_1s=sum(value_ms >= _LONG_CONNECT_MS for value_ms in connect_ms),
        total_ms=_percentiles(total_ms),
    )


def _url(asked: Tool) -> str:
    return f"http://{asked.address}:{asked.port}{asked.path}"


def _output(command: list[str]) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
        raise CannotDoError(f"{command[0]} ended with status {done.returncode}: {' | '.join(lines[-_LAST_LINES:])}")
    return done.stdout


def _percentiles(ordered_ms: list[float]) -> dict[str, float]:
    """Return nearest-rank percentiles: values that occurred."""
    return {f"p{percent}": ordered_ms[math.ceil(len(ordered_ms) * percent / 100) - 1] for percent in (50, 99)}
