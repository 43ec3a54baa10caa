"""Wake-ups without a connection during HTTP load, counted in an error log that is emptied before the load."""

import subprocess
from dataclasses import asdict
from pathlib import Path

import pytest

from tests.support.canned_tools import ab_report
from tests.support.fake_stage import FakeStage
from tuneproof.lab.load.accept_load import AcceptLoad, AcceptObservation, AcceptRecord
from tuneproof.lab.load.http_load import HttpLoad
from tuneproof.lab.subject.config import ERROR_LOG_PATH

HTTP = HttpLoad(concurrency=8, requests=4000)
LOAD = AcceptLoad(load=HTTP)
ANSWER = ab_report(completed=4000, failed=40, seconds=2.0)
# These lines have the form of nginx's log.
EMPTY = "2025/11/20 10:00:00 [debug] 31#31: accept() not ready (11: Resource temporarily unavailable)\n"
OTHERS = (
    "2025/11/20 10:00:00 [debug] 31#31: accept on 0.0.0.0:8000, ready: 0\n"
    "2025/11/20 10:00:00 [debug] 31#31: *7 accept: 172.18.0.3:40000 fd:9\n"
)


class LoggingStage(FakeStage):
    """An nginx container with its error log and its shell on this machine."""

    def __init__(self, log: Path, writes: str) -> None:
        super().__init__()
        self.log = log
        self.answers["run_tool"] = [ANSWER]
        self._writes = writes

    def do(self, what: str) -> None:
        """Append to the log while the load runs, as nginx does."""
        if what == "run_tool":
            with self.log.open("a", encoding="ascii") as log:
                log.write(self._writes)
        super().do(what)

    def _run(self, command: list[str]) -> bytes:
        self.do("shell")
        here = [part.replace(ERROR_LOG_PATH, str(self.log)) for part in command]
        return subprocess.run(here, check=True, stdout=subprocess.PIPE).stdout


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """Return a log with lines from an earlier trial."""
    path = tmp_path / "error.log"
    path.write_text(EMPTY * 50 + OTHERS, encoding="ascii")
    return path


def test_the_log_is_emptied_before_the_load_and_counted_after_it(log: Path) -> None:
    fake, plain = LoggingStage(log, EMPTY * 1000 + OTHERS), FakeStage()
    plain.answers["run_tool"] = [ANSWER]
    recorded = LOAD.run(fake.stage, label="a-b1")
    wanted = HTTP.run(plain.stage, label="a-b1")
    assert fake.did == ["shell", *plain.did, "shell"]
    assert fake.asked == plain.asked
    assert recorded == wanted.with_record(AcceptRecord(**vars(wanted.record), empty_accepts=1000))
    observation = LOAD.observe(recorded)
    assert observation == AcceptObservation(**asdict(HTTP.observe(recorded)), empty_accepts_per_request=0.25)
    assert observation.faults == ()
    # The log grows fast at this level, and is not needed after the count.
    assert log.read_bytes() == b""


def test_a_log_without_empty_accepts_counts_as_zero(log: Path) -> None:
    """Grep's exit status for no match is not an error."""
    assert LOAD.run(LoggingStage(log, OTHERS).stage, label="a-b1").record.empty_accepts == 0


def test_a_log_that_cannot_be_emptied_ends_the_trial(tmp_path: Path) -> None:
    """Otherwise lines from earlier trials would count, so the load does not start."""
    fake = LoggingStage(tmp_path / "no-such-folder" / "error.log", "")
    with pytest.raises(subprocess.CalledProcessError):
        LOAD.run(fake.stage, label="a-b1")
    assert fake.asked == []


def test_a_run_without_completed_requests_is_void_and_causes_no_division_by_zero(log: Path) -> None:
    fake = LoggingStage(log, EMPTY * 5)
    fake.answers["run_tool"] = [ab_report(completed=0, failed=0, seconds=2.0)]
    observation = LOAD.observe(LOAD.run(fake.stage, label="a-b1"))
    assert observation.empty_accepts_per_request == 5
    assert observation.faults == ("no request was completed",)
