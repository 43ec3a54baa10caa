"""``./lab run`` and ``./lab test`` hand control over to pytest."""

import os
import resource
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tuneproof.cli import main as cli
from tuneproof.cli import suite
from tuneproof.cli.output import say
from tuneproof.cli.test import IN_PARALLEL, NO_HANG
from tuneproof.errors import EngineUnavailableError, OutputError


class ReplacedError(Exception):
    """Marks the moment at which this process would become pytest."""


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str | list[str]]:
    """Record, in order, the engine's set-up and the command line that the process would become."""
    seen: list[str | list[str]] = []

    def execv(program: str, command: list[str]) -> None:
        assert program == sys.executable
        seen.append(command)
        raise ReplacedError

    def ensure_engine(*, report: Callable[[str], None]) -> None:
        assert report is say
        seen.append("engine")

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr(suite, "ensure_engine", ensure_engine)
    return seen


PYTEST = [sys.executable, "-m", "fixtures.as_pytest"]
PLAIN = suite.FEWER_PLUGINS


@pytest.fixture
def statuses(steps: list[str | list[str]], monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Set the statuses of the next pytest processes; their command lines are recorded in ``steps``, too."""
    given: list[int] = []

    def run(command: list[str]) -> int:
        steps.append(command)
        return given.pop(0)

    monkeypatch.setattr(suite, "_run", run)
    return given


PARALLEL = [*PYTEST, "tests/unit", *IN_PARALLEL, *NO_HANG]
UNIT = [*PARALLEL, "-m", "not slow"]
ALONE = [*PYTEST, "tests/lab", *PLAIN, *NO_HANG]
LAB = [*ALONE, "-m", "not slow"]


@pytest.mark.parametrize(
    ("unit", "lab", "together"),
    [(0, 0, 0), (1, 0, 1), (0, 1, 1), (1, 5, 1), (5, 0, 0), (0, 5, 0), (5, 5, 5), (0, 2, 2)],
)
def test_test_runs_the_cheapest_tests_first(
    unit: int, lab: int, together: int, steps: list[str | list[str]], statuses: list[int]
) -> None:
    """Unit tests run first, on all CPUs; the lab's tests follow, even after a failure. The exit status covers both."""
    statuses += [unit, lab]
    assert cli.main(["test", "-k", "x"]) == together
    assert steps == ["engine", [*UNIT, "-k", "x"], [*LAB, "-k", "x"]]


def test_a_selection_by_markers_includes_the_slow_tests(steps: list[str | list[str]], statuses: list[int]) -> None:
    """Pytest does not combine two -m expressions: it uses the last one."""
    statuses += [0, 0]
    assert cli.main(["test", "-m", "engine"]) == 0
    assert steps == ["engine", [*PARALLEL, "-m", "engine"], [*ALONE, "-m", "engine"]]


@pytest.mark.parametrize("status", [2, 3, 130, 143])
def test_nothing_runs_after_tests_that_did_not_complete(
    status: int, steps: list[str | list[str]], statuses: list[int]
) -> None:
    """For example, the tests were interrupted, or their arguments are wrong."""
    statuses += [status]
    assert cli.main(["test"]) == status
    assert steps == ["engine", UNIT]


@pytest.mark.parametrize(
    ("body", "status"), [("pass", 0), ("raise SystemExit(5)", 5), ("os.kill(os.getpid(), signal.SIGKILL)", 137)]
)
def test_a_parts_status_is_reported_as_in_a_shell(body: str, status: int) -> None:
    assert suite._run([sys.executable, "-c", f"import os, signal; {body}"]) == status


@pytest.mark.parametrize(
    ("body", "words", "status"),
    [
        ("pass", [], 0),
        ("assert False", [], 1),
        ("pass", ["--no-such-option"], 2),
        ("raise KeyboardInterrupt", [], 130),
        ("import pytest; pytest.exit('the engine is gone', returncode=3)", [], 3),
    ],
)
def test_pytests_statuses_are_translated(
    body: str, words: list[str], status: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pytest's own statuses are 4 for wrong usage and 2 for an interruption; here, 2 means bad input everywhere."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")  # no installed package is needed
    (tmp_path / "test_it.py").write_text(f"def test_it():\n    {body}\n", encoding="utf-8")
    own = ["-c", os.devnull, "--rootdir", os.fspath(tmp_path), "-p", "no:cacheprovider"]
    assert suite._run(suite.pytest_command([*own, *words, os.fspath(tmp_path)])) == status


@pytest.mark.parametrize(("place", "command"), [("tests/scenarios/test_claims.py", "run"), ("tests/unit", "test")])
def test_wrong_options_are_rejected_in_the_name_of_the_command(place: str, command: str) -> None:
    ended = subprocess.run([*PYTEST, place, "--no-such-option"], capture_output=True, text=True, check=False)
    assert f"\n./lab {command}: error: unrecognized arguments: --no-such-option\n" in ended.stderr
    assert "pytest.main" not in ended.stderr


@pytest.mark.parametrize(
    ("output", "status", "message"),
    [
        ("| head -n 0", cli.OUTPUT_CLOSED, ""),
        (">/dev/full", OutputError.exit_status, "lab: the output cannot be written: No space left on device\n"),
        (">&-", 0, ""),
        (
            "--junitxml /dev/null/junit.xml",
            2,
            "ERROR: --junitxml: /dev/null/junit.xml cannot be written: its folder is a file\n\n",
        ),
    ],
)
def test_a_list_of_claims_that_cannot_be_written_leads_to_at_most_one_message(
    output: str, status: int, message: str
) -> None:
    listing = shlex.join(suite.pytest_command(["tests/scenarios", *PLAIN, "--collect-only", "-q"]))
    # head(1) closes the pipe before the list begins.
    script = f"set -o pipefail; {listing} {output}"
    ended = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (status, message)


def test_a_run_needs_no_cache() -> None:
    """The checkout may be read-only, or on a full disk."""
    words = ["tests/scenarios", *PLAIN, "-o", "cache_dir=/dev/null/cache", "-k", "no_such_claim"]
    ended = subprocess.run(suite.pytest_command(words), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (5, "")


_CHECKS_ITS_SIGNALS = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
for number in (signal.SIGINT, signal.SIGTERM):
    os.kill(os.getppid(), number)
was_ended = signal.sigtimedwait({signal.SIGTERM}, 60)
raise SystemExit(7 if was_ended and signal.SIGINT not in signal.sigpending() else 9)
"""


def test_signals_that_would_not_reach_a_part_are_passed_on() -> None:
    """SIGTERM is passed on. Ctrl-C is not: the part gets it from the terminal, and the parent waits.

    Python handles the SIGINT first: if it were passed on, it would be pending once SIGTERM has arrived.
    """
    assert suite._run([sys.executable, "-c", _CHECKS_ITS_SIGNALS]) == 7


def test_signal_handlers_are_restored_even_if_a_part_cannot_be_started() -> None:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.raises(FileNotFoundError):
        suite._run(["/nowhere/to/be/found"])
    assert {number: signal.getsignal(number) for number in before} == before


RUN = [*PLAIN, "-rfE"]
DEFAULT = ["tests/scenarios", *RUN]


@pytest.mark.parametrize(
    ("words", "engine", "asked"),
    [
        # Arguments that look like options of ``./lab`` still belong to pytest.
        ("run -k stall --nginx all -- x", ["engine"], [*DEFAULT, "-k", "stall", "--nginx", "all", "--", "x"]),
        ("run -v tests/unit", ["engine"], [*RUN, "-v", "tests/unit"]),
        ("run tests/scenarios/test_a.py::test_b", ["engine"], [*RUN, "tests/scenarios/test_a.py::test_b"]),
        ("test tests/unit/test_a.py -x", ["engine"], ["tests/unit/test_a.py", "-x"]),
        ("test --collect-only", [], ["tests/unit", "tests/lab", "--collect-only"]),
        # Help needs no engine. --help shows the lab's own; --pytest-help shows that of pytest.
        ("run --help", [], [*DEFAULT, "--lab-help"]),
        ("run -h", [], [*DEFAULT, "--lab-help"]),
        ("run --pytest-help", [], [*DEFAULT, "--help"]),
        ("run --collect-only", [], [*DEFAULT, "--collect-only"]),
    ],
)
def test_pytest_gets_its_arguments_after_the_engine_is_set_up_if_a_test_runs(
    words: str, engine: list[str], asked: list[str], steps: list[str | list[str]]
) -> None:
    """A path replaces the default one; its tests run in one process. Options that only print need no engine."""
    with pytest.raises(ReplacedError):
        cli.main(words.split())
    assert steps == [*engine, [*PYTEST, *asked]]


def test_pytest_runs_as_a_child_if_this_process_must_stay_alive(
    steps: list[str | list[str]], statuses: list[int]
) -> None:
    statuses += [5]
    assert suite.start(["tests/scenarios"], ["-k", "stall"], stays=True) == 5
    assert steps == ["engine", [*PYTEST, "tests/scenarios", "-k", "stall"]]


def test_a_child_inherits_open_file_descriptors(tmp_path: Path) -> None:
    (tmp_path / "dump").write_bytes(b"events { }")
    with (tmp_path / "dump").open("rb") as stream:
        os.set_inheritable(stream.fileno(), True)
        body = f"import sys; sys.exit(len(open('/dev/fd/{stream.fileno()}').read()))"
        assert suite._run([sys.executable, "-c", body]) == 10


@pytest.mark.parametrize("name", ["run", "test"])
def test_a_process_that_may_open_too_few_files_starts_nothing(
    name: str, steps: list[str | list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (32, suite.FEWEST_FILES - 1))
    assert cli.main([name]) == 3
    assert "open files here, but the lab needs up to" in capsys.readouterr().err
    assert steps == []


@pytest.mark.parametrize(("soft", "set_to"), [(32, [suite.FEWEST_FILES]), (1024, []), (resource.RLIM_INFINITY, [])])
def test_a_low_soft_limit_of_open_files_is_raised(
    soft: int, set_to: list[int], steps: list[str | list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (soft, resource.RLIM_INFINITY))
    monkeypatch.setattr(resource, "setrlimit", lambda _, limits: seen.append(limits[0]))
    with pytest.raises(ReplacedError):
        cli.main(["run"])
    assert seen == set_to
    assert steps[0] == "engine"


def test_without_an_engine_pytest_is_never_started(
    steps: list[str | list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ensure_engine(*, report: Callable[[str], None]) -> None:
        report("starting the Docker engine")
        raise EngineUnavailableError("No engine.")

    monkeypatch.setattr(suite, "ensure_engine", ensure_engine)
    assert cli.main(["run"]) == 3
    assert steps == []
    assert capsys.readouterr().err == "lab: starting the Docker engine\nlab: No engine.\n"
