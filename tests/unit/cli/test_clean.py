"""``./lab clean`` removes what the lab left on engines, and reports what it could not remove."""

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace

import pytest

from tests.support.command_line import Lab
from tuneproof.cli import clean
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.sweep import Removed

Cleaned = Callable[..., tuple[int, list[str]]]
"""Cleans these engines, or the default one; the same is removed from each. Returns status and output lines."""


@pytest.fixture
def cleaned(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> Cleaned:
    """Replace the engines, and check that each client is closed; the engine called boss manages the swarm."""
    opened: list[bool] = []

    def connect(*, timeout_s: int, environment: object) -> SimpleNamespace:
        assert timeout_s == 60
        assert environment
        opened.append(True)
        return SimpleNamespace(close=opened.pop)

    def run(removed: Removed, *engines: str) -> tuple[int, list[str]]:
        monkeypatch.setattr(clean, "remove_everything", lambda _: removed)
        status, out, _ = lab("clean", *[word for name in engines for word in ("--engine", name)])
        assert opened == []
        return status, out.splitlines()

    monkeypatch.setattr(clean, "connect", connect)
    monkeypatch.setattr(clean, "environment_of", lambda name: nullcontext({"ENGINE": name}))
    monkeypatch.setattr(clean, "look", lambda name, _: SimpleNamespace(node=SimpleNamespace(is_manager=name == "boss")))
    return run


def test_clean_reports_what_was_removed_and_what_was_not(cleaned: Cleaned) -> None:
    assert cleaned(Removed(containers=3, images=2)) == (0, ["removed: 3 containers, 0 networks, 0 volumes, 2 images"])
    assert cleaned(Removed(containers=3, refused=("network lab has active endpoints",))) == (
        1,
        ["removed: 3 containers, 0 networks, 0 volumes, 0 images", "not removed: network lab has active endpoints"],
    )


def test_clean_without_an_engine_gives_one_message(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> None:
    def connect(**_: object) -> None:
        raise EngineUnavailableError("No engine after 60 s.")

    monkeypatch.setattr(clean, "connect", connect)
    assert lab("clean") == (3, "", "lab: No engine after 60 s.\n")


def test_the_engine_that_manages_a_swarm_is_cleaned_last(cleaned: Cleaned) -> None:
    """The swarm's networks are in use until the other engines' containers have been removed."""
    status, lines = cleaned(Removed(), "boss", "gen2", "gen1")
    assert (status, [line.partition(":")[0] for line in lines]) == (0, ["gen2", "gen1", "boss"])
