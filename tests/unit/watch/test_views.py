"""What ``watch`` prints and serves: lines, tables and metrics."""

import urllib.request
from dataclasses import replace

from rich.console import Console

from tests.support.canned_loops import IDLE, SECOND
from tuneproof.explain.parse.event_loop import to_line
from tuneproof.watch.metrics import CONTENT_TYPE, Metrics, serve
from tuneproof.watch.views import Lines, bars, live_table


def test_there_is_a_line_for_each_worker() -> None:
    """A line is text, or JSON as in a recording."""
    words: list[str] = []
    Lines(words.append, json=False).show((SECOND, IDLE))
    assert len(words) == 2
    assert words[0].startswith(
        "1 s, worker 4711: 1010 iterations/s, 60 % busy, p50 0.131 ms, p99 0.131 ms, longest 40 ms"
    )
    assert "longest: 40 ms, busy in system calls; longest call: pwritev on" in words[0]
    assert words[1].startswith("1 s, worker 4712: 50 iterations/s")
    records: list[str] = []
    Lines(records.append, json=True).show((SECOND,))
    assert records == [to_line(SECOND)]


def test_foreign_names_are_plain_text_in_the_table() -> None:
    """Otherwise, rich would take them for markup and fail, and a terminal would interpret them."""
    evil = "[/x]\x1b]0;owned\x07"
    second = replace(SECOND, name=evil, long=(replace(SECOND.long[0], longest_on=evil),))
    console = Console(width=400)
    with console.capture() as captured:
        console.print(live_table((second,)))
    assert captured.get().count(r"[/x]\x1b]0;owned\x07") == 2
    assert bars(SECOND.histogram) in captured.get()


def test_for_many_workers_those_with_the_longest_iterations_are_shown() -> None:
    many = tuple(replace(IDLE, worker=number) for number in range(127))
    lines: list[str] = []
    Lines(lines.append, json=False).show((*many, SECOND))
    assert len(lines) == 17
    assert "worker 4711" in lines[-2]
    assert lines[-1] == "1 s, 112 more workers, none with a longer iteration"
    assert live_table((*many, SECOND)).row_count == 16


def test_bars_show_rare_values_and_values_outside_the_range() -> None:
    drawn = bars({5: 10_000, 20: 1, 40: 5})
    assert (drawn[0], drawn[8], drawn[-1]) == ("█", "▁", "▁")
    assert len(drawn) == 19


def test_a_worker_that_ended_is_removed_from_the_metrics_after_five_minutes() -> None:
    """Otherwise, each reload would add workers permanently."""
    metrics = Metrics()
    metrics.add((SECOND,))
    metrics.add((replace(IDLE, at_s=SECOND.at_s + 299),))
    assert 'worker="4711"' in metrics.text()
    metrics.add((replace(IDLE, at_s=SECOND.at_s + 301),))
    assert 'worker="4711"' not in metrics.text()


def test_names_in_metrics_are_plain_text() -> None:
    metrics = Metrics()
    metrics.add((replace(SECOND, name="a\n# EOF\x1b[2J\u202e"),))
    assert metrics.text().count("\n# EOF") == 1
    assert r'nginx="a # EOF\\x1b[2J\\u202e"' in metrics.text()


def test_metrics_are_served_as_openmetrics() -> None:
    """Metrics are totals since the start, each bucket includes all smaller ones, and names are escaped."""
    metrics = Metrics()
    metrics.add((SECOND, replace(IDLE, name='a"b')))
    metrics.add((SECOND,))
    server = serve(metrics, "127.0.0.1", 0)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{server.server_port}/metrics") as answer:
            text = answer.read().decode()
            assert answer.headers["Content-Type"] == CONTENT_TYPE
    finally:
        server.shutdown()
        server.server_close()
    lines = text.splitlines()
    of = 'nginx="nginx",worker="4711"'
    assert f'nginx_loop_iteration_seconds_bucket{{{of},le="6.5536e-05"}} 0' in lines
    assert f'nginx_loop_iteration_seconds_bucket{{{of},le="0.000262144"}} 2000' in lines
    assert f'nginx_loop_iteration_seconds_bucket{{{of},le="+Inf"}} 2020' in lines
    assert f"nginx_loop_iteration_seconds_sum{{{of}}} 1.2" in lines
    assert f'nginx_loop_bytes_total{{{of},direction="read"}} 202000' in lines
    assert any(line.startswith('nginx_loop_iteration_seconds_count{nginx="a\\"b",worker="4712"} 50') for line in lines)
    assert any(
        line.startswith(f'nginx_loop_long_seconds_total{{{of},reason="busy in system calls"}} 0.7') for line in lines
    )
    assert lines[-1] == "# EOF"
