"""A run that is shared out to several engines: who does what, what is kept of a lost one, and what is refused."""

import contextlib
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.support.written_results import HOST, OPTIONS, a_cell
from tuneproof.cli import engines
from tuneproof.cli.engines import Plan, run_on
from tuneproof.errors import BadInputError
from tuneproof.lab.engine.named import EngineFacts
from tuneproof.report.results.run_file import ResultsWriter, load

ARCHITECTURES = {"a": "x86_64", "b": "x86_64", "pi": "aarch64"}


class Farm:
    """Engines that decide a cell for each part, but for those that are lost, and what was asked of them."""

    def __init__(self) -> None:
        self.lost: set[str] = set()
        self.did: list[tuple[str, str]] = []
        self.status = 0
        self._someone_was_lost = threading.Event()

    def run_part(self, plan: Plan, engine: str, part: str, _lock: object) -> int:
        """Decide the cells of a part; a lost engine decides one, and never finishes the part."""
        if self.lost and engine not in self.lost:
            self._someone_was_lost.wait(10)
        self.did.append((engine, part))
        folder = plan.folder / engines._folder_of(engine, part)
        writer = ResultsWriter.create(folder, host=HOST, seed=plan.seed, options={**OPTIONS, "shard": part})
        writer.append(a_cell(f"claim_{part.replace('/', '_')}", reason=engine))
        if engine in self.lost:
            self._someone_was_lost.set()
            return 3
        writer.append(a_cell(f"other_{part.replace('/', '_')}"))
        writer.finish(1.0)
        return self.status


@pytest.fixture
def farm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Farm:
    """The engines, in place of those of Docker."""
    made = Farm()

    @contextlib.contextmanager
    def environment_of(name: str) -> Iterator[Mapping[str, str]]:
        yield {"ENGINE": name}

    def look(name: str, _environment: Mapping[str, str]) -> EngineFacts:
        return EngineFacts(name=name, architecture=ARCHITECTURES[name], cpus=2, version="20.10.24")

    monkeypatch.setattr(engines, "environment_of", environment_of)
    monkeypatch.setattr(engines, "look", look)
    monkeypatch.setattr(engines, "_run_part", made.run_part)
    monkeypatch.setattr(engines, "_answers", lambda environment: environment["ENGINE"] not in made.lost)
    monkeypatch.chdir(tmp_path)
    return made


def test_all_parts_are_done_once_and_stand_in_one_report(farm: Farm, capsys: pytest.CaptureFixture[str]) -> None:
    """Whoever did them; results/latest leads there."""
    assert run_on(["a", "b"], ["-k", "stall", "--seed", "7"]) == 0
    assert sorted(part for _, part in farm.did) == [f"{number}/8" for number in range(1, 9)]
    results = load(Path("results/latest"))
    assert (results.seed, len(results.cells), results.finished) == (7, 16, True)
    assert Path("results/latest/index.html").exists()
    told = capsys.readouterr()
    assert "claim_1_8" in told.out
    assert "engine a: Docker 20.10.24, 2 CPUs, x86_64" in told.err


def test_what_a_lost_engine_had_decided_stays_and_the_rest_is_done_by_another(
    farm: Farm, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each cell once; what was measured twice is told as it was measured first."""
    farm.lost = {"b"}
    assert run_on(["a", "b"], []) == 0
    results = load(Path("results/latest"))
    ((_, part),) = [item for item in farm.did if item[0] == "b"]
    assert ("a", part) in farm.did
    assert len({cell.id for cell in results.cells}) == len(results.cells) == 16
    assert [cell.reason for cell in results.cells if cell.name == f"claim_{part.replace('/', '_')}"] == ["b"]
    assert "engine b is lost" in capsys.readouterr().err


def test_without_any_engine_left_what_was_decided_is_told_and_the_run_is_not_whole(
    farm: Farm, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the status of an engine that cannot be had."""
    farm.lost = {"a"}
    assert run_on(["a"], []) == 3
    assert [cell.name for cell in load(Path("results/latest")).cells] == ["claim_1_4"]
    assert "no engine was left for 1/4, 2/4, 3/4, 4/4 of the run" in capsys.readouterr().err


def test_an_interrupted_run_tells_what_was_decided(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """And takes up no further part."""

    def until_the_third(plan: Plan, engine: str, part: str, lock: object) -> int:
        if part == "3/4":
            raise KeyboardInterrupt
        return farm.run_part(plan, engine, part, lock)

    monkeypatch.setattr(engines, "_run_part", until_the_third)
    assert run_on(["a"], []) == 2
    assert len(load(Path("results/latest")).cells) == 4
    assert "the run was interrupted before 3/4, 4/4 of the run" in capsys.readouterr().err


def test_a_cell_that_contradicts_fails_the_run(farm: Farm) -> None:
    """As it fails pytest on its engine."""
    farm.status = 1
    assert run_on(["a", "b"], []) == 1


@pytest.mark.parametrize(
    ("names", "arguments", "said"),
    [
        (["a", "a"], [], "--engine a: named twice"),
        (["a", "pi"], [], "Engine pi is aarch64, and a is x86_64"),
        (["a", "b"], ["--shard", "1/2"], "--shard is not for several engines"),
        (["a", "b"], ["--nginx-conf=x.conf"], "--nginx-conf is not for several engines"),
        (["a", "b"], ["--place", "client=c"], "--place is not for several engines"),
        (["a", "b"], ["--seed", "x"], "--seed x: no seed"),
    ],
)
def test_what_cannot_be_shared_out_is_refused_before_anything_starts(
    farm: Farm, names: list[str], arguments: list[str], said: str
) -> None:
    """One message, and nothing was done."""
    with pytest.raises(BadInputError, match=said):
        run_on(names, arguments)
    assert farm.did == []
    assert not Path("results").exists()


def test_lines_of_the_lab_are_shown_and_those_of_pytest_are_not() -> None:
    """What was done and decided, and why something failed."""
    shown = [
        "listen_queue, nginx 1.22: block 3 done\n",
        "some_claim: 5 blocks → holds\n",
        "E   LabError: x\n",
        "engine a measures for me@desk, since 2026-11-22 12:00:00 UTC: waiting for its turn, 60 minutes at most\n",
    ]
    assert all(map(engines._is_news, shown))
    assert not any(map(engines._is_news, [".\n", "collected 5 items\n", "tests/scenarios/test_claims.py\n"]))
