"""ApacheBench and wrk: their commands, and the parts of their output that are returned."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from images.client.loadgen.tools import ab_command, ab_times, run, wrk_command
from tuneproof.lab.protocol.loadgen import AbTimes, Tool, ToolReport
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
    seconds=10,
)
WRK = replace(AB, tool="wrk")
REPORT = "Failed requests:        27\n   (Connect: 1, Receive: 8)\n\n  99%    1.21s \n"
URL = "http://172.18.0.2:8000/small.bin"

GNUPLOT = """\
starttime\tseconds\tctime\tdtime\tttime\twait
Tue Jun 03 10:00:00 2025\t1748944800\t0\t2\t2\t1
Tue Jun 03 10:00:00 2025\t1748944800\t1\t9\t10\t8
Tue Jun 03 10:00:00 2025\t1748944800\t1000\t11\t1011\t9
Tue Jun 03 10:00:01 2025\t1748944801\t999\t31\t1030\t30
"""


def fake_tool(name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """Write a tool that runs a Python script with the tool's arguments, and put it on PATH."""
    tool = folder / name
    tool.write_text(f"#!{sys.executable}\nimport sys\nfrom pathlib import Path\n{script}", encoding="utf-8")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


def test_ab_gets_all_settings_of_the_load() -> None:
    """The options silence progress, let ab continue after resets, and write the times to a file."""
    assert ab_command(AB, times=Path("/t/times.tsv")) == [
        *("ab", "-q", "-r", "-n", "1000", "-c", "100", "-s", "30", "-g", "/t/times.tsv"),
        URL,
    ]
    assert "-k" in ab_command(replace(AB, keep_alive=True), times=Path("t"))


def test_wrk_closes_connections_unless_keepalive_is_requested() -> None:
    """Keepalive is wrk's default, without an option to disable it."""
    keeping = ["wrk", "-t1", "-c100", "-d10s", "--timeout", "30s", "--latency"]
    assert wrk_command(replace(WRK, keep_alive=True)) == [*keeping, URL]
    assert wrk_command(WRK) == [*keeping, "-H", "Connection: close", URL]


def test_wrk_has_at_most_as_many_threads_as_cpus_and_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    """More threads than CPUs would wait for each other, and wrk rejects more threads than connections."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(12)))
    threads = {8: 8, 64: 12}
    assert {n: wrk_command(replace(WRK, threads=n))[1] for n in threads} == {n: f"-t{of}" for n, of in threads.items()}
    assert wrk_command(replace(WRK, threads=8, concurrency=3))[1] == "-t3"


def test_connect_and_total_times_are_read_from_the_third_and_fifth_column() -> None:
    """Rows may be in any order, and the first column contains spaces.

    A connect of exactly a second counts as long, since a lost SYN is repeated after a second.
    """
    assert ab_times(GNUPLOT) == AbTimes(
        connect_ms={"p50": 1.0, "p99": 1000.0, "max": 1000.0},
        connects_over_1s=1,
        total_ms={"p50": 10.0, "p99": 1030.0},
    )


def test_percentiles_are_measured_values() -> None:
    """Of a hundred requests, the 99th percentile is not the longest. Each column is sorted separately."""
    rows = [f"x	1	{1000 * number}	0	{100 - number}	0" for number in range(1, 101)]
    times = ab_times("\n".join([GNUPLOT.splitlines()[0], *rows]))
    assert times.connect_ms == {"p50": 50_000, "p99": 99_000, "max": 100_000}
    assert times.total_ms == {"p50": 49, "p99": 98}


@pytest.mark.parametrize(
    "text",
    ["", GNUPLOT.replace("ctime", "dtime"), GNUPLOT.splitlines()[0]],
    ids=["empty", "other-columns", "no-requests"],
)
def test_other_columns_and_missing_rows_are_an_error(text: str) -> None:
    """Another version of ab may write other columns."""
    with pytest.raises(CannotDoError, match="ab wrote unexpected columns, or no rows"):
        ab_times(text)


@pytest.mark.parametrize("load", [AB, WRK], ids=lambda load: load.tool)
def test_a_run_returns_its_report_and_for_ab_also_the_times(
    load: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = f"Path(sys.argv[sys.argv.index('-g') + 1]).write_text({GNUPLOT!r})\n" if load == AB else ""
    fake_tool(load.tool, tmp_path, monkeypatch, f"{writes}print({REPORT!r}, end='')\n")
    assert run(load) == ToolReport(report=REPORT, times=ab_times(GNUPLOT) if load == AB else None)


def test_a_failing_tool_is_an_error_with_its_last_output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both output streams are shown, since ab writes its reason to standard error."""
    script = "print('Benchmarking', flush=True)\nsys.exit('apr_socket_connect(): Connection refused (111)')\n"
    fake_tool("ab", tmp_path, monkeypatch, script)
    with pytest.raises(
        CannotDoError, match=r"ab ended with status 1: Benchmarking \| apr_socket_connect\(\): .* \(111\)"
    ):
        run(AB)
