"""Reports of ab and wrk, shortened to the lines that a load uses."""

from tuneproof.lab.protocol.loadgen import AbTimes, ToolReport

_AB = """\
This is ApacheBench, Version 2.3 <$Revision: 1923142 $>

Concurrency Level:      100
Time taken for tests:   {seconds:.3f} seconds
Complete requests:      {completed}
Failed requests:        {failed}
   (Connect: 0, Receive: {failed}, Length: {of_another_length}, Exceptions: 0)
Non-2xx responses:      {non_2xx}
"""
_WRK = """\
Running 2s test @ http://172.18.0.2:8000/
  1 threads and 100 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency    14.02ms    8.11ms   1.21s    97.41%
  Latency Distribution
     50%  {p50}
     75%   14.12ms
     90%   17.45ms
     99%  {p99}
  {completed} requests in {seconds:.2f}s, 372.10MB read
  Socket errors: connect 0, read {failed}, write 0, timeout 0
Requests/sec:  {rate:.2f}
"""


FAST_TIMES = AbTimes(
    connect_ms={"p50": 1.0, "p99": 3.0, "max": 7.0}, connects_over_1s=0, total_ms={"p50": 12.0, "p99": 30.0}
)


def ab_report(
    *,
    completed: int = 4000,
    failed: int = 0,
    of_another_length: int = 0,
    non_2xx: int = 0,
    seconds: float = 2.0,
    times: AbTimes = FAST_TIMES,
) -> ToolReport:
    report = _AB.format(
        completed=completed, failed=failed, of_another_length=of_another_length, non_2xx=non_2xx, seconds=seconds
    )
    return ToolReport(report=report, times=times)


def wrk_report(
    *, completed: int = 4000, failed: int = 0, seconds: float = 2.0, p50: str = "12.00ms", p99: str = "1.03s"
) -> ToolReport:
    report = _WRK.format(
        completed=completed, failed=failed, seconds=seconds, rate=completed / seconds, p50=p50, p99=p99
    )
    return ToolReport(report=report)
