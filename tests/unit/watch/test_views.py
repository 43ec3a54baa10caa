"""What is shown and served while watching."""

import urllib.request
from dataclasses import replace

from rich.console import Console

from tests.unit.explain.parse.test_event_loop import IDLE, SECOND
from tuneproof.explain.parse.event_loop import to_line
from tuneproof.watch.metrics import CONTENT_TYPE, Metrics, serve
from tuneproof.watch.views import Lines, bars, live_table


def test_a_line_for_each_worker_and_second() -> None:
    """In words with the longest iteration, or as the recording has it."""
    words: list[str] = []
    Lines(words.append, json=False).show((SECOND, IDLE))
    assert words[0].startswith(
        "1 s, worker 4711: 1010 iterations/s, 60 % busy, p50 0.131 ms, p99 0.131 ms, longest 40 ms"
    )
    assert "longest: 40 ms, busy in system calls; longest call: pwritev on" in words[0]
    assert words[1].startswith("1 s, worker 4712: 50 iterations/s")
    records: list[str] = []
    Lines(records.append, json=True).show((SECOND,))
    assert records == [to_line(SECOND)]


def test_the_table_has_a_row_for_each_worker() -> None:
    console = Console(width=200)
    with console.capture() as captured:
        console.print(live_table((SECOND, IDLE)))
    text = captured.get()
    assert "4711" in text
    assert "4712" in text
    assert bars(SECOND.histogram) in text


def test_bars_show_what_is_rare_and_keep_what_is_beyond() -> None:
    """One iteration among thousands can be seen; those beyond the ends stand at the ends."""
    drawn = bars({5: 10_000, 20: 1, 40: 5})
    assert (drawn[0], drawn[8], drawn[-1]) == ("█", "▁", "▁")
    assert len(drawn) == 19


def test_metrics_are_served_as_openmetrics() -> None:
    """Sums since the start, each bucket with all below it, names escaped."""
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
