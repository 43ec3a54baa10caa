"""One part of a run on one engine: pytest's arguments, the lines that are shown, and the folder of its results."""

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.written_results import a_cell, write
from tuneproof.cli.engine_parts import Plan, choose, folder_of, is_news, run_part, runs_in
from tuneproof.proof.matrix.pool import Part

SHARD = Part(shard="2/8")


PLAN = Plan(
    arguments=("-k", "stall"), is_strict=False, seed=7, folder=Path("parts"), environments={"a": {"ENGINE": "a"}}
)


def test_each_part_runs_in_a_separate_pytest(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    did: list[Any] = []

    @contextmanager
    def started(words: Sequence[str], *, env: dict[str, str], **_others: Any) -> Iterator[SimpleNamespace]:
        did.extend((env, " ".join(words)))
        yield SimpleNamespace(stdout=["collected 5 items\n", "one, nginx 1.22: block 3 done\n"], wait=lambda: 1)
        did.append("closed")

    monkeypatch.setattr("subprocess.Popen", started)
    assert run_part(PLAN, "a", SHARD, threading.Lock()) == 1
    environment, words, end = did
    assert (environment, end) == ({"ENGINE": "a"}, "closed")
    assert "-k stall --shard 2/8 --seed 7 --results parts/a-part-2-of-8 " in words
    assert capsys.readouterr().out == "[a] one, nginx 1.22: block 3 done\n"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["-k", "no_such_claim"], 5, "no tests collected"),
        (["--network", "moon"], 2, "--network moon: no such network"),
        (["-k", "listener_lock"], 0, ""),
    ],
)
def test_a_selection_that_pytest_rejects_is_reported_with_its_status(
    arguments: list[str], status: int, message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """A valid selection prints nothing."""
    assert choose(arguments) == status
    printed = "".join(capfd.readouterr())
    assert message in printed
    assert bool(printed) == bool(status)


def test_each_part_has_its_own_folder(tmp_path: Path) -> None:
    """The runs in a folder are read in the order of their start; the link to the latest one is not another run."""
    names = {folder_of("ssh://me@lab1", SHARD), folder_of("b", SHARD), folder_of("b", Part(shard="3/8"))}
    assert len(names) == 3
    assert not any("/" in name for name in names)
    for name in ("20261122T100000Z-b", "20261121T100000Z-a"):
        write(tmp_path / name, a_cell(name[-1]))
    (tmp_path / "latest").symlink_to("20261122T100000Z-b")
    assert [results.cells[0].name for results in runs_in(tmp_path)] == ["a", "b"]


def test_only_progress_decisions_and_failures_are_shown() -> None:
    shown = [
        "listen_queue, nginx 1.22: round 3, trial 1 of 2: short\n",
        "reuseport_stall with short-queue, nginx 1.22, delay=20ms,loss=1%: starting 2 nginx containers\n",
        "some_claim: 5 blocks → holds\n",
        "some_claim: 5 blocks, 2x [1.9-2.1] -> holds\n",
        "E   LabError: x\n",
        "ERROR: --cell x: no such result is selected\n",
        "engine a measures for me@desk, since 2026-11-22 12:00:00 UTC: waiting for its turn, 60 min at most\n",
    ]
    assert all(map(is_news, shown))
    hidden = [
        "collected 5 items\n",
        "tests/scenarios/test_claims.py ..s\n",
        "listen_queue, nginx 1.22\n",
        "  some_claim         holds     207 us -> 88 us, 2.2x [1.9-2.5]\n",
        "  some_claim (listen_queue, nginx 1.22): inconclusive: after 9 blocks\n",
    ]
    assert not any(map(is_news, hidden))
