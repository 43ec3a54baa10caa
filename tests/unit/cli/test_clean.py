"""``./lab clean``."""

from types import SimpleNamespace

import pytest

from tuneproof.cli import clean
from tuneproof.cli.main import main
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.sweep import Removed


def test_clean_tells_what_it_removed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Each kind with its number, and the connection is closed."""
    closed: list[bool] = []
    client = SimpleNamespace(close=lambda: closed.append(True))
    monkeypatch.setattr(
        clean, "connect", lambda *, timeout_s, environment: client if timeout_s and environment else None
    )
    monkeypatch.setattr(clean, "remove_everything", lambda _: Removed(containers=3, images=2))
    assert main(["clean"]) == 0
    assert capsys.readouterr().out == "removed: 3 containers, 0 networks, 0 volumes, 2 images\n"
    assert closed == [True]


def test_clean_without_an_engine_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is started only to be cleaned."""

    def connect(*, timeout_s: int, environment: object) -> None:
        del environment
        raise EngineUnavailableError(f"No engine after {timeout_s} s.")

    monkeypatch.setattr(clean, "connect", connect)
    assert main(["clean"]) == 3
    assert capsys.readouterr() == ("", "lab: No engine after 60 s.\n")
