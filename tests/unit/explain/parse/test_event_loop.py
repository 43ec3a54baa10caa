"""Recordings of event loops are written, read back and summarised."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.canned_loops import HEADER, IDLE, SECOND, STALL, TEXT
from tuneproof.explain.parse import event_loop
from tuneproof.explain.parse.event_loop import Call, LoopRecording
from tuneproof.explain.parse.event_loop_summary import Reason, describe, figures, parts, summarise
from tuneproof.explain.parse.problems import MalformedEvidenceError


def test_a_written_recording_is_read_back() -> None:
    read = event_loop.parse(TEXT)
    assert read == LoopRecording(began="2026-11-23T17:00:00+00:00", seconds=(SECOND, IDLE), notes=("2 events lost",))


@pytest.mark.parametrize("cut", range(len(HEADER) + 1, len(TEXT) - 1, 97))
def test_a_truncated_recording_is_read_up_to_the_last_complete_line(cut: int) -> None:
    """If the writer was killed, complete lines count, and a truncation is reported unless it is between two lines."""
    read = event_loop.parse(TEXT[:cut])
    assert read.seconds == (SECOND, IDLE)[: TEXT[: cut + 1].count("\n") - 1]
    assert read.notes or TEXT[cut] == "\n" or TEXT[cut - 1] == "\n"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda text: text.replace('recording": 1', 'recording": 2'), "line 1.*version 2"),
        (lambda text: text.replace('"iterations":1010', '"iterations":"1010"'), "line 2.*iterations: '1010'"),
        (lambda text: text.replace('"busy_s":0.6', '"busy_s":NaN'), "line 2.*NaN"),
        (lambda text: text.replace('"busy_s":0.6', '"busy_s":1e300'), "line 2.*busy_s"),
        (lambda text: text.replace('"busy_s":0.6', '"busy_s":-0.6'), "line 2.*busy_s: -0.6"),
        (lambda text: text.replace('"histogram":{"16":', '"histogram":{"16":1e400,"17":'), "line 2.*infinity"),
        (lambda text: text.replace('"histogram":{"16":', '"histogram":{"99":1,"17":'), "line 2.*histogram"),
        (lambda text: text.replace('"events":4', '"events":true'), "line 2.*events: True"),
        (lambda text: text.replace('"worker":4711,', ""), "line 2.*worker"),
        (lambda _: "", "found nothing"),
    ],
)
def test_broken_recordings_are_rejected(change: Callable[[str], str], expected: str) -> None:
    with pytest.raises(MalformedEvidenceError) as caught:
        event_loop.parse(change(TEXT))
    assert re.search(expected, str(caught.value))


def test_an_unfinished_iteration_counts_once_with_its_latest_duration() -> None:
    """Each second until its end contains the iteration. Older recordings do not contain unfinished iterations."""
    away = replace(IDLE, iterations=0, histogram={}, unfinished=replace(STALL, took_s=1.5, ended=False))
    later = replace(away, at_s=2.0, unfinished=replace(STALL, took_s=2.5, ended=False))
    text = "\n".join([HEADER, *map(event_loop.to_line, (away, later)), ""])
    recording = event_loop.parse(text)
    assert recording.seconds == (away, later)
    (loop,) = summarise(recording)
    assert [each.took_s for each in loop.long] == [2.5]
    assert loop.busy_share == 1.0
    assert describe(loop.long[0]).startswith("2.5 s so far, ")
    ended = replace(later, at_s=3.0, unfinished=None, long=(replace(STALL, took_s=2.7),))
    for more, took_s in ((IDLE, 2.5), (ended, 2.7)):
        (loop,) = summarise(LoopRecording(began="", seconds=(away, later, replace(more, worker=4712))))
        assert [each.took_s for each in loop.long] == [took_s]
    assert event_loop.parse(TEXT.replace(',"unfinished":null', "")) == event_loop.parse(TEXT)
    with pytest.raises(MalformedEvidenceError, match="ended: 1"):
        event_loop.parse(text.replace('"ended":false', '"ended":1'))


def test_calls_on_the_same_kind_of_file_are_summed() -> None:
    """Each download has its own client port and its own temporary file."""
    calls = [
        Call(name=name, on=on, took_s=0.1, moved_bytes=1)
        for name, on in (
            ("writev", "client 10.0.0.9:50001"),
            ("writev", "client 10.0.0.9:50002"),
            ("pwritev", "/var/lib/nginx/proxy/3/00/0000000003 (deleted)"),
            ("pwritev", "/var/lib/nginx/proxy/4/00/0000000004 (deleted)"),
            ("openat", "/srv/1"),
        )
    ]
    (loop,) = summarise(LoopRecording(began="", seconds=(replace(SECOND, calls=tuple(calls)),)))
    assert {(call.name, call.on): round(call.took_s, 3) for call in loop.calls} == {
        ("writev", "client 10.0.0.9"): 0.2,
        ("pwritev", "/var/lib/nginx/proxy"): 0.2,
        ("openat", "/srv/1"): 0.1,
    }


def test_each_worker_is_summarised() -> None:
    """Percentiles from 5 ms up are exact; others are rounded up to a power of two in ns. Bytes are per iteration."""
    busy, idle = summarise(event_loop.parse(TEXT))
    assert (busy.worker, busy.iterations, busy.busy_share, busy.longest_s) == (4711, 1010, 0.6, 0.04)
    assert busy.p50_s == 2**17 / 1e9
    assert busy.p99_s == 2**17 / 1e9
    assert (busy.read_per_iteration_bytes, busy.written_per_iteration_bytes) == (100, 200)
    assert busy.cpu_wait_share == pytest.approx(0.02 / 0.52)
    assert idle.read_per_iteration_bytes is None
    assert idle.cpu_wait_share is None
    (fewer,) = summarise(LoopRecording(began="", seconds=(replace(SECOND, histogram={16: 900, 25: 10}),)))
    assert fewer.p99_s == 0.04
    shown = {(figure.of, figure.key): figure.value for figure in figures((busy, idle))}
    assert shown["worker 4711", "long_iterations"] == 10
    assert shown["worker 4712", "busy_pct"] == pytest.approx(0.3)


def test_programs_with_the_same_process_id_are_distinguished() -> None:
    """A machine reuses an id once the first program has ended."""
    loops = summarise(LoopRecording(began="", seconds=(IDLE, replace(IDLE, name="openresty"))))
    assert {figure.of for figure in figures(loops)} == {"worker 4712 of nginx", "worker 4712 of openresty"}


def test_late_share_is_the_share_of_moments_at_which_a_new_event_waits_too_long() -> None:
    """In 330 of the 980 ms without waits for a CPU, a new event waits 5 ms or longer: ten iterations last 38 ms."""
    (busy, _) = summarise(event_loop.parse(TEXT))
    assert busy.late_share(0.005, Reason.CALLS) == pytest.approx(0.33 / 0.98)
    assert busy.late_share(0.005, Reason.STARVED) == 0


@pytest.mark.parametrize(
    ("change", "reasons"),
    [
        ({}, {Reason.CALLS: 0.038}),
        ({"called_s": 0.001}, {Reason.COMPUTING: 0.038}),
        ({"called_s": None}, {Reason.UNTIMED: 0.038}),
        ({"blocked_s": 0.03}, {Reason.BLOCKED: 0.038}),
        ({"events": 400}, {Reason.MANY_EVENTS: 0.038}),
        ({"waited_s": 0.036, "called_s": 0.003}, {Reason.STARVED: 0.036}),
        ({"waited_s": 0.0, "stopped_s": 0.039}, {Reason.STOPPED: 0.039}),
        ({"waited_s": 0.02}, {Reason.STARVED: 0.02, Reason.CALLS: 0.02}),
    ],
)
def test_every_sufficient_reason_for_a_long_iteration_is_returned(
    change: dict[str, Any], reasons: dict[Reason, float]
) -> None:
    """A reason is sufficient if it alone takes 5 ms; time without a CPU does not count as the worker's own."""
    assert parts(replace(STALL, **change)) == pytest.approx(reasons)


def test_the_time_of_long_iterations_is_described_by_call() -> None:
    """The largest part comes first; if calls were timed in some iterations, the other iterations do not count."""
    (busy, _) = summarise(event_loop.parse(TEXT))
    assert busy.spent(busy.long) == (
        "60 % in readv 8 MiB each on upstream 10.0.0.3:8000, 30 % in pwritev 6 MiB each on "
        "/var/cache/nginx/proxy_temp/1, 11 % in user space"
    )
    untimed = replace(STALL, called_s=None)
    (half,) = summarise(LoopRecording(began="", seconds=(replace(SECOND, long=(STALL, untimed)),)))
    assert "60 % in readv 80 MiB each" in half.spent(half.long)


def test_an_iteration_is_described_in_words() -> None:
    assert describe(STALL) == (
        "40 ms, busy in system calls; longest call: pwritev on /var/cache/nginx/proxy_temp/1, 1 ms; read 8 MiB, "
        "wrote 6 MiB; 4 events"
    )
