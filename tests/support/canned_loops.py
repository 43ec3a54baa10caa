"""A recording of event loops, as text and as parsed values."""

from dataclasses import replace

from tuneproof.explain.parse import event_loop
from tuneproof.explain.parse.event_loop import Call, LongIteration, LoopSecond

HEADER = event_loop.header("2026-11-23T17:00:00+00:00")
STALL = LongIteration(
    at_s=0.5,
    took_s=0.04,
    events=4,
    waited_s=0.002,
    blocked_s=0.0,
    stopped_s=0.0,
    called_s=0.034,
    read_bytes=8 << 20,
    written_bytes=6 << 20,
    longest_call="pwritev",
    longest_on="/var/cache/nginx/proxy_temp/1",
    longest_s=0.001,
)
SECOND = LoopSecond(
    at_s=1.0,
    lasted_s=1.0,
    worker=4711,
    name="nginx",
    iterations=1010,
    busy_s=0.6,
    histogram={16: 1000, 25: 10},
    read_bytes=101_000,
    written_bytes=202_000,
    run_s=0.5,
    wait_s=0.02,
    calls=(
        Call(name="readv", on="upstream 10.0.0.3:8000", took_s=0.2, moved_bytes=80 << 20),
        Call(name="pwritev", on="/var/cache/nginx/proxy_temp/1", took_s=0.1, moved_bytes=60 << 20),
    ),
    long=(STALL,) * 10,
)
IDLE = replace(
    SECOND, worker=4712, iterations=50, busy_s=0.003, histogram={16: 50}, calls=(), long=(), read_bytes=None,
    written_bytes=None, run_s=None, wait_s=None,
)  # fmt: skip
TEXT = "\n".join([HEADER, *map(event_loop.to_line, (SECOND, IDLE)), event_loop.note_line("2 events lost"), ""])
