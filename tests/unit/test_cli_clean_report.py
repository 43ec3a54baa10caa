"""``./lab clean`` and ``./lab report``."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from fixtures.cli import clean, report
from fixtures.cli.main import main
from fixtures.engine.sweep import Removed
from fixtures.errors import EngineUnavailableError


def test_clean_tells_what_it_removed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind with its number, and the connection is closed."""
    closed: list[bool] = []
    client = SimpleNamespace(close=lambda: closed.append(True))
    monkeypatch.setattr(clean, "connect", lambda *, timeout_s: client if timeout_s else None)
    monkeypatch.setattr(clean, "remove_everything", lambda _: Removed(containers=3, images=2))
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "removed: 3 containers, 0 networks, 0 volumes, 2 images\n"
    assert closed == [True]


def test_clean_without_an_engine_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started only to be cleaned."""

    def connect(*, timeout_s: int) -> None:
        raise EngineUnavailableError(f"No engine after {timeout_s} s.")

    monkeypatch.setattr(clean, "connect", connect)
    assert main(["clean"]) == 3
    assert capsys.readouterr() == ("", "lab: No engine after 60 s.\n")


def test_report_shows_the_latest_results_unless_others_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Several tables are told apart by their paths; output that is no terminal has no colours."""

    def render(cells: Path, *, width: int, color: bool, seconds: float) -> str:
        assert width > 0
        return f"table of {cells}, {seconds:g} s, colour {color}"

    monkeypatch.setattr(report, "load", lambda path: SimpleNamespace(cells=path, seconds=9.0))
    monkeypatch.setattr(report, "render_table", render)
    assert main(["report"]) == 0
    assert capsys.readouterr().out == "table of results/latest, 9 s, colour False\n"
    assert main(["report", "a", "b"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "a",
        "table of a, 9 s, colour False",
        "b",
        "table of b, 9 s, colour False",
    ]


def test_report_of_results_that_do_not_exist_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The path is named."""
    assert main(["report", str(tmp_path / "none")]) == 2
    assert str(tmp_path / "none") in capsys.readouterr().err
