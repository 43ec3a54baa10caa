"""The program that does the client's jobs: questions, answers, and what goes on after a failure."""

import json
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from images.client.loadgen.jobs import allow_many_files, answers
from tests.support.fake_nginx import HANG_S, Behaviour, FakeNginx
from tests.support.places import CHECKOUT

# The stand-in's threads keep no lock that a forked load would need.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def question(job: str, **arguments: Any) -> str:
    """Return the line that asks for a job."""
    return json.dumps({"job": job, **arguments}) + "\n"


def to(server: FakeNginx, job: str, **arguments: Any) -> str:
    """Return the line that asks for a job against a server."""
    return question(job, address="127.0.0.1", port=server.port, **arguments)


def test_every_job_can_be_asked_for_and_tells_its_time_and_the_machines() -> None:
    """Those that take a while by themselves; what http_load runs is not on every machine."""
    with FakeNginx(Behaviour(small_bytes=100)) as server:
        one_by_one = {
            "fast_path": "/small.bin",
            "requests": 2,
            "timeout_s": HANG_S,
            "bulk_path": "/bulk.bin",
            "bulk_downloads": 1,
            "trial": "t",
        }
        lines = [
            to(server, "connect_storm", connections=3, wait_s=HANG_S),
            to(server, "start_slow_readers", path="/bulk.bin", count=1, interval_s=3, hold_s=60),
            question("end_slow_readers"),
            to(server, "one_by_one", **one_by_one),
            to(server, "hold", path="/small.bin", count=2),
            question("release"),
        ]
        began_s = time.monotonic()
        told = json.loads(json.dumps(list(answers(lines))))
        took_s = time.monotonic() - began_s
    storm, _, slow, article, held, released = told
    assert len(storm["connect_ms"]) == 3
    assert slow["alive"] == 1
    assert len(article["requests"]) == 2
    assert (held["held"], released["released"]) == (2, 2)
    assert all(set(answer["machine"]) == {"busy_pct", "steal_pct"} for answer in told)
    assert article["took_s"] > 0
    assert sum(answer["took_s"] for answer in told) <= took_s


def test_a_missing_tool_is_an_error_in_the_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job that is missing above: its arguments arrive."""
    monkeypatch.setenv("PATH", str(tmp_path))
    load = {"path": "/", "concurrency": 2, "keep_alive": True, "timeout_s": 5}
    wrk = question("http_load", tool="wrk", address="127.0.0.1", port=1, seconds=1, **load)
    ab = question("http_load", tool="ab", address="127.0.0.1", port=1, requests=10, **load)
    assert list(answers([wrk, ab])) == [
        {"error": "ToolError: wrk is not installed"},
        {"error": "ToolError: ab is not installed"},
    ]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("nonsense\n", "JSONDecodeError: Expecting value"),
        ('{"address": "127.0.0.1"}\n', "KeyError: 'job'"),
        ('{"job": "dance"}\n', "there is no job 'dance', only http_load, connect_storm, "),
        ('{"job": "connect_storm", "address": "127.0.0.1"}\n', "missing 3 required keyword-only arguments: 'port'"),
        ('{"job": "release", "gently": true}\n', "unexpected keyword argument 'gently'"),
    ],
)
def test_a_question_that_makes_no_sense_is_answered_with_the_reason(line: str, error: str) -> None:
    """And the next one is answered as if nothing had been."""
    first, second = answers([line, question("release")])
    assert error in first["error"]
    assert set(first) == {"error"}
    assert second["released"] == 0


def test_the_traceback_of_a_failure_is_on_standard_error(capfd: pytest.CaptureFixture[str]) -> None:
    """The answer has only the last line of it."""
    (answer,) = answers([question("connect_storm")])
    assert "Traceback" in capfd.readouterr().err
    assert "\n" not in answer["error"]


def test_what_is_held_is_let_go_at_the_end() -> None:
    """Whoever forgets to release leaves no connections to the next one."""
    with FakeNginx(Behaviour(small_bytes=100)) as server:
        talk = answers([to(server, "hold", path="/small.bin", count=2)])
        assert next(talk)["held"] == 2
        server.wait_for_open(2)
        assert list(talk) == []
        server.wait_for_open(0)


def test_slow_readers_read_on_while_other_jobs_are_done() -> None:
    """Memory is looked at meanwhile; a job that finds them in the wrong state is answered with the reason."""
    with FakeNginx(Behaviour(small_bytes=100)) as server:
        start = to(server, "start_slow_readers", path="/bulk.bin", count=2, interval_s=3, hold_s=60)
        talk = answers([question("end_slow_readers"), start, start, to(server, "hold", path="/small.bin", count=1)])
        assert next(talk) == {"error": "RuntimeError: there are no slow readers"}
        assert next(talk)["reading"] == 2
        assert next(talk) == {"error": "RuntimeError: slow readers are there already"}
        assert next(talk)["held"] == 1
        server.wait_for_open(3)
        assert list(talk) == []


def test_slow_readers_end_when_they_are_told_to() -> None:
    """The answer is theirs, with its own time: that of the end, not of the reading."""
    with FakeNginx(Behaviour()) as server:
        start = to(server, "start_slow_readers", path="/bulk.bin", count=2, interval_s=3, hold_s=60)
        talk = answers([start, question("end_slow_readers")])
        assert next(talk)["reading"] == 2
        server.wait_for_open(2)
        ended = next(talk)
        server.wait_for_open(0)
    assert (ended["alive"], ended["ended"]) == (2, 0)
    assert ended["took_s"] < HANG_S


def test_slow_readers_that_nobody_has_ended_end_with_the_input() -> None:
    """Otherwise they would read on into the next trial, and the program would wait for them."""
    with FakeNginx(Behaviour()) as server:
        talk = answers([to(server, "start_slow_readers", path="/bulk.bin", count=2, interval_s=3, hold_s=60)])
        assert next(talk)["reading"] == 2
        server.wait_for_open(2)
        began_s = time.monotonic()
        assert list(talk) == []
        assert time.monotonic() - began_s < HANG_S
        server.wait_for_open(0)


def test_the_soft_limit_of_open_files_becomes_the_hard_one() -> None:
    """10 000 connections need more files than the usual 1024."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    try:
        allow_many_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_one_process_does_one_job_after_the_other() -> None:
    """Each answer comes before the next question, and the program ends with its input. It may open many files."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with (
        FakeNginx(Behaviour(small_bytes=100)) as server,
        subprocess.Popen(
            [sys.executable, "-m", "loadgen.jobs"],
            cwd=CHECKOUT / "images/client",
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        ) as program,
    ):
        assert program.stdin is not None
        assert program.stdout is not None
        told = []
        for line in ("nonsense\n", to(server, "hold", path="/small.bin", count=2), question("release")):
            program.stdin.write(line)
            told.append(json.loads(program.stdout.readline()))
        limits = Path(f"/proc/{program.pid}/limits").read_text(encoding="ascii")
        program.stdin.close()
        assert program.wait(timeout=HANG_S) == 0
    assert "error" in told[0]
    assert (told[1]["held"], told[2]["released"]) == (2, 2)
    (open_files,) = (line.split() for line in limits.splitlines() if line.startswith("Max open files"))
    assert open_files[3:5] == [str(hard), str(hard)]
