"""HTTP load by a generator: its settings, and all figures of a run."""

from dataclasses import replace

import pytest

from tests.support.canned_tools import ab_report, wrk_report
from tests.support.fake_stage import ADDRESS, BACKEND_ADDRESS, PORT, FakeStage, about, counters, worker
from tuneproof.errors import LabError
from tuneproof.lab.load.http_load import AB, WRK, HttpLoad, HttpObservation
from tuneproof.lab.protocol.loadgen import AbTimes, Tool, ToolReport

ANSWER = ab_report(
    completed=4000,
    failed=40,
    times=AbTimes(
        connect_ms={"p50": 1.0, "p99": 1003.0, "max": 3007.0},
        connects_over_1s=100,
        total_ms={"p50": 12.0, "p99": 1030.0},
    ),
)
WRK_ANSWER = wrk_report(completed=4000, failed=40)


def stage(answer: ToolReport = ANSWER) -> FakeStage:
    """Return an nginx container that opens 3000 upstream connections; its two workers wait for their CPU."""
    fake = FakeStage()
    fake.answers["run_tool"] = [answer]
    fake.workers = [
        (
            worker(11, voluntary_switches=1000, wait_s=5.0, run_s=8.0),
            worker(12, voluntary_switches=50, wait_s=1.0, run_s=9.0),
        ),
        (
            worker(11, voluntary_switches=7000, wait_s=5.5, run_s=9.0),
            worker(12, voluntary_switches=2050, wait_s=1.1, run_s=9.2),
        ),
    ]
    fake.counters = [
        counters(),
        counters(Tcp__ActiveOpens=3100, Tcp__PassiveOpens=4100, TcpExt__ListenOverflows=107, TcpExt__ListenDrops=109),
    ]
    return fake


def observed(fake: FakeStage, *, tool: str = AB) -> HttpObservation:
    load = HttpLoad(tool=tool)
    return load.observe(load.run(fake.stage, label="a-b1"))


def tool_of(fake: FakeStage) -> Tool:
    (call,) = fake.asked
    tool = call.arguments["asked"]
    assert isinstance(tool, Tool)
    return tool


def test_the_generator_runs_between_two_readings_of_counters_and_workers() -> None:
    fake, load = stage(), HttpLoad(concurrency=50, requests=4000)
    recorded = load.run(fake.stage, label="a-b1")
    assert fake.did == ["counters", "workers", "run_tool", "workers", "counters"]
    assert tool_of(fake) == Tool(
        tool="ab",
        address=ADDRESS,
        port=PORT,
        path="/",
        concurrency=50,
        requests=4000,
        seconds=1,
        keep_alive=False,
        timeout_s=30,
    )
    assert load.observe(recorded) == HttpObservation(
        steal_pct=1.5,
        measuring_s=1.0,
        requests_per_s=2000.0,
        completed=4000,
        failed_share=0.01,
        slow_connect_share=0.025,
        connect_p99_ms=1003.0,
        connect_max_ms=3007.0,
        total_p50_ms=12.0,
        total_p99_ms=1030.0,
        upstream_connects_per_request=0.75,
        client_connects_per_request=1.0,
        listen_overflows=7,
        listen_drops=9,
        switches_per_request=2.0,
        run_queue_wait_share=about(0.15),
        worker_cpu_us_per_request=about(300.0),
        worker_cpu_share=about(0.6),
    )


def test_a_backend_can_be_measured_without_nginx() -> None:
    """A comparison with the backend's own rate shows the cost of the proxy."""
    fake = stage()
    HttpLoad(to="backend", path="/page").run(fake.stage, label="a-b1")
    tool = tool_of(fake)
    assert (tool.address, tool.port, tool.path) == (BACKEND_ADDRESS, 8000, "/page")


def test_the_call_may_last_as_long_as_the_run_and_its_timeout() -> None:
    fake = stage(WRK_ANSWER)
    for seconds, timeout_s in ((1, 30), (121, 30), (1, 50)):
        HttpLoad(tool=WRK, seconds=seconds, timeout_s=timeout_s).run(fake.stage, label="a-b1")
    assert [call.lasts_s for call in fake.asked] == [31, 151, 51]


def test_figures_of_connects_are_missing_if_a_tool_does_not_report_them() -> None:
    """A zero would mean that all connects were fast."""
    observation = observed(stage(WRK_ANSWER), tool=WRK)
    assert (observation.slow_connect_share, observation.connect_p99_ms, observation.connect_max_ms) == (None,) * 3
    assert (observation.total_p50_ms, observation.total_p99_ms) == (12, 1030)
    assert (observation.requests_per_s, observation.completed, observation.failed_share) == (2000, 4000, 0.01)


def test_a_worker_that_ended_during_the_load_is_left_out() -> None:
    fake = stage()
    fake.workers[1] = (fake.workers[1][0], worker(40, voluntary_switches=9_999_999, wait_s=99.0))
    recorded = HttpLoad().run(fake.stage, label="a-b1")
    assert [each.pid for each in recorded.record.workers] == [11]
    observation = HttpLoad().observe(recorded)
    assert observation.switches_per_request == 1.5
    assert observation.run_queue_wait_share == pytest.approx(0.25)


def test_a_run_without_completed_requests_is_void() -> None:
    nothing = observed(stage(wrk_report(completed=0, failed=40, p50="0.00us", p99="0.00us")), tool=WRK)
    assert nothing.faults == ("no request was completed",)
    assert observed(stage(wrk_report(completed=1)), tool=WRK).faults == ()


def test_a_response_with_another_length_is_not_a_failure_and_error_statuses_are_recorded() -> None:
    """A page may change between two requests."""
    record = HttpLoad().run(stage(ab_report(failed=3, of_another_length=500, non_2xx=7)).stage, label="a-b1").record
    assert (record.completed, record.failed, record.non_2xx) == (4000, 3, 7)
    assert record.errors == {"receive": 3, "length": 500}


@pytest.mark.parametrize(
    ("tool", "output", "what"),
    [
        (AB, ToolReport(report="Segmentation fault\n"), "the report of ab cannot be read"),
        (WRK, ToolReport(report="unable to connect\n"), "the report of wrk cannot be read"),
        (AB, replace(ANSWER, report="Complete requests:      4000\n"), "ab did not report how long"),
        (
            WRK,
            ToolReport(report=WRK_ANSWER.report.replace("99%", "98%")),
            "wrk did not report how long .* or its latency",
        ),
    ],
    ids=["no-ab", "no-wrk", "no-time", "no-latency"],
)
def test_an_incomplete_report_is_an_error_with_its_text(tool: str, output: ToolReport, what: str) -> None:
    with pytest.raises(LabError, match=what) as caught:
        HttpLoad(tool=tool).run(stage(output).stage, label="a-b1")
    assert caught.value.tail == output.report
