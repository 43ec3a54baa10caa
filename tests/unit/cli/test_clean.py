"""``./lab clean``."""

from contextlib import nullcontext
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


def test_clean_says_what_the_engine_did_not_remove(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And does not end as if all were well."""
    monkeypatch.setattr(clean, "connect", lambda **_: SimpleNamespace(close=lambda: None))
    refused = ("network lab has active endpoints",)
    monkeypatch.setattr(clean, "remove_everything", lambda _: Removed(containers=3, refused=refused))
    assert main(["clean"]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "removed: 3 containers, 0 networks, 0 volumes, 0 images",
        "not removed: network lab has active endpoints",
    ]


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


def test_the_engine_that_manages_a_swarm_is_cleaned_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its networks are in use until the other engines' containers are gone."""
    monkeypatch.setattr(clean, "environment_of", nullcontext)
    monkeypatch.setattr(clean, "look", lambda name, _: SimpleNamespace(node=SimpleNamespace(is_manager=name == "boss")))
    monkeypatch.setattr(clean, "connect", lambda **_: SimpleNamespace(close=lambda: None))
    monkeypatch.setattr(clean, "remove_everything", lambda _: Removed())
    assert main(["clean", "--engine", "boss", "--engine", "gen2", "--engine", "gen1"]) == 0
    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["gen2", "gen1", "boss"]
