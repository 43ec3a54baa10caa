"""The client's program: calls and responses, and the connections that it releases at the end."""

import json
import resource
import sys
import time
from collections.abc import Iterator

import pytest

from images.client.loadgen import __main__ as program
from images.client.loadgen import gaps
from images.client.loadgen.__main__ import Loadgen as Program
from tests.support.fake_nginx import Behaviour, FakeNginx
from tests.support.joined import differences
from tuneproof.lab.protocol.loadgen import Loadgen, SlowReading
from tuneproof.lab.topology.program import Call

# The threads of FakeNginx hold no lock that a forked load needs.
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")


def reading(server: FakeNginx, count: int) -> SlowReading:
    return SlowReading(address="127.0.0.1", port=server.port, path="/bulk.bin", count=count)


def test_gaps_are_a_share_of_the_measured_time() -> None:
    began_s = time.monotonic()
    assert 0 <= gaps.run(0.01).lost_pct <= 100
    assert time.monotonic() - began_s >= 0.01


def test_every_function_takes_the_protocols_arguments() -> None:
    assert differences(Loadgen, Program()) == []


@pytest.fixture
def file_limits() -> Iterator[tuple[int, int]]:
    """Yield this process's soft and hard limits on open files; restore them after the test."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    yield before
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.usefixtures("file_limits")
def test_everything_held_is_released_at_the_end(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Connections that the caller has not released are closed, even after a failed call.

    Otherwise, the program would wait for its slow readers, and they would continue during the next trial.
    """
    # This reference remains, so that the garbage collector does not close the connections.
    loadgen = Program()
    monkeypatch.setattr(program, "Loadgen", lambda: loadgen)
    with FakeNginx(Behaviour(small_bytes=100)) as server:

        def lines() -> Iterator[str]:
            yield "nonsense\n"
            yield Call.of(Loadgen.hold, "127.0.0.1", server.port, "/small.bin", 2).line(1) + "\n"
            yield Call.of(Loadgen.start_slow_readers, reading(server, 2)).line(2) + "\n"
            server.wait_for_open(4)

        monkeypatch.setattr(sys, "stdin", lines())
        program.main()
        server.wait_for_open(0)
    failed, held, began = map(json.loads, capsys.readouterr().out.splitlines())
    assert "JSONDecodeError" in failed["error"]
    assert (held["number"], held["answer"]["held"]) == (1, 2)
    assert (began["number"], began["answer"]) == (2, None)


def test_the_soft_limit_on_open_files_is_raised_to_the_hard_limit(file_limits: tuple[int, int]) -> None:
    """Ten thousand connections need more files than the usual 1024."""
    _, hard = file_limits
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(512, hard), hard))
    program.allow_many_files()
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (hard, hard)
