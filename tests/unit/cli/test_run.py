"""``./lab run``: the arguments that it passes to pytest."""

import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tuneproof.cli import engines as several
from tuneproof.cli import run, suite
from tuneproof.errors import BadInputError


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Record pytest's arguments, after a word for each unusual setting of its process."""
    got: list[list[str]] = []

    def start(_places: Sequence[str], arguments: Sequence[str], *, needs_engine: bool, stays: bool) -> int:
        settings = {"no default engine": not needs_engine, "stays": stays}
        got.append([*(word for word, is_so in settings.items() if is_so), *arguments])
        return 0

    monkeypatch.setattr(suite, "start", start)
    return got


ALL_ROLES = "--place client=a --place backend=a --place subject=b"


@pytest.mark.parametrize(
    ("words", "passed", "needs_default"),
    [
        # If these were two words, pytest would take the configuration's path for a test's.
        ("--nginx-conf a.conf -k yours", "--nginx-conf=a.conf -k yours", True),
        ("--nginx-conf=a.conf -k yours", "--nginx-conf=a.conf -k yours", True),
        ("-k - --nginx 1.22", "-k - --nginx 1.22", True),
        # The list of tests needs no engine.
        ("--engine no-such-context --engine ssh://nowhere --co", "--co", True),
        ("--place client=a --place backend=a", "--place client=a --place backend=a", True),
        # No role is left for the default engine.
        (ALL_ROLES, ALL_ROLES, False),
    ],
)
def test_pytest_gets_the_arguments_that_concern_it(
    words: str, passed: str, *, needs_default: bool, handed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    stdin: Any = io.StringIO()
    monkeypatch.setattr("sys.stdin", stdin)
    assert run.main(words.split()) == 0
    assert " ".join(handed[0]).endswith(f" {passed}")
    assert ("no default engine" not in handed[0]) == needs_default


def test_standard_input_stays_readable(
    handed: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "dump").write_text("events { }")
    with (tmp_path / "dump").open(encoding="utf-8") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        run.main(["--nginx-conf", "-"])
    (word,) = handed[0][-1:]
    path = word.removeprefix("--nginx-conf=")
    assert Path(path).read_text(encoding="utf-8") == "events { }"
    number = int(path.rpartition("/")[2])
    assert os.get_inheritable(number)
    os.close(number)


def test_a_single_engine_is_passed_to_everything_that_pytest_starts(
    handed: list[list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///other.sock")
    monkeypatch.setenv("DOCKER_CONTEXT", "other")
    run.main(["--engine", "tcp://10.0.0.5:2375", "-k", "stall"])
    assert os.environ["DOCKER_HOST"] == "tcp://10.0.0.5:2375"
    assert "DOCKER_CONTEXT" not in os.environ
    assert handed[0][-2:] == ["-k", "stall"]


@pytest.mark.parametrize("name", ["ssh://machine", "context-by-ssh"])
def test_the_connection_to_an_engine_is_open_until_the_run_ends(
    handed: list[list[str]], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///other.sock")
    is_open: list[str] = []

    @contextmanager
    def environment_of(engine: str) -> Iterator[dict[str, str]]:
        is_open.append(engine)
        yield {**os.environ, "DOCKER_HOST": "unix:///forwarded"}
        is_open.pop()

    def start(*_others: object, **options: bool) -> int:
        assert options["stays"]
        assert is_open == [name]
        return 7

    monkeypatch.setattr(run, "environment_of", environment_of)
    monkeypatch.setattr(suite, "start", start)
    assert run.main(["--engine", name, "--nginx-conf", "a.conf"]) == 7
    assert is_open == []
    assert handed == []


def test_several_engines_share_a_run(handed: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    shared: list[tuple[list[str], list[str]]] = []

    def run_on(engines: list[str], others: list[str]) -> int:
        shared.append((engines, others))
        return 0

    monkeypatch.setattr(several, "run_on", run_on)
    assert run.main(["--engine", "a", "--engine=b", "-k", "stall"]) == 0
    assert shared == [(["a", "b"], ["-k", "stall"])]
    assert handed == []


def test_an_invalid_place_is_reported_before_anything_starts(handed: list[list[str]]) -> None:
    with pytest.raises(BadInputError, match="there is no such role"):
        run.main(["--place", "proxy=a"])
    assert handed == []
