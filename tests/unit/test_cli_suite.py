"""``./lab run`` and ``./lab test`` hand over to pytest."""

import os
import sys
from collections.abc import Callable

import pytest

from fixtures.cli import main as cli
from fixtures.cli import suite
from fixtures.cli.output import say
from fixtures.errors import EngineUnavailableError


class ReplacedError(Exception):
    """Stands for the moment after which this process would be pytest."""


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


PYTEST = [sys.executable, "-m", "pytest"]


def test_run_sets_up_the_engine_and_then_proves_the_scenarios(steps: list[str | list[str]]) -> None:
    """Arguments that look like options of ``./lab`` belong to pytest all the same."""
    with pytest.raises(ReplacedError):
        cli.main(["run", "-k", "reuseport_stall", "--nginx", "all", "--", "x y"])
    assert steps == [
        "engine",
        [*PYTEST, "tests/scenarios", "-k", "reuseport_stall", "--nginx", "all", "--", "x y"],
    ]


def test_test_runs_the_cheapest_tests_first(steps: list[str | list[str]]) -> None:
    """Unit tests, then the lab's own, then the claims."""
    with pytest.raises(ReplacedError):
        cli.main(["test", "-x"])
    assert steps == ["engine", [*PYTEST, "tests/unit", "tests/lab", "-x"]]


@pytest.mark.parametrize("place", ["tests/unit", "tests/scenarios/test_a.py::test_b"])
def test_a_named_place_replaces_the_default_one(place: str, steps: list[str | list[str]]) -> None:
    """One test can be run by its place."""
    with pytest.raises(ReplacedError):
        cli.main(["run", "-v", place])
    assert steps == ["engine", [*PYTEST, "-v", place]]


@pytest.mark.parametrize("option", ["--help", "--collect-only"])
def test_what_runs_no_test_needs_no_engine(option: str, steps: list[str | list[str]]) -> None:
    """Asking for help installs nothing."""
    with pytest.raises(ReplacedError):
        cli.main(["run", option])
    assert steps == [[*PYTEST, "tests/scenarios", option]]


def test_without_an_engine_pytest_is_never_started(
    steps: list[str | list[str]], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The failure is one message with status 3."""

    def ensure_engine(*, report: Callable[[str], None]) -> None:
        report("starting the Docker engine")
        raise EngineUnavailableError("No engine.")

    monkeypatch.setattr(suite, "ensure_engine", ensure_engine)
    assert cli.main(["run"]) == 3
    assert steps == []
    assert capsys.readouterr().err == "lab: starting the Docker engine\nlab: No engine.\n"
