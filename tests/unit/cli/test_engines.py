"""Several engines share a run, even if one of them is lost or too noisy."""

import contextlib
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.support.written_results import HOST, OPTIONS, a_cell
from tuneproof.cli import engine_images, engines
from tuneproof.cli.engine_parts import Plan, folder_of
from tuneproof.cli.engines import run_on
from tuneproof.errors import BadInputError, EngineUnavailableError, LabError
from tuneproof.lab.engine.named import EngineFacts
from tuneproof.proof.depths import FULL, QUICK
from tuneproof.proof.matrix.pool import Part
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.results.merging import missing_shards
from tuneproof.report.results.run_file import ResultsWriter, load

_PARTS = 8  # of a run on two engines
ARCHITECTURES = {"a": "x86_64", "b": "x86_64", "pi": "aarch64"}


@dataclass
class Farm:
    """Engines that decide two cells for each shard, and their calls.

    A lost engine decides the first cell, and never finishes the shard. An engine that loses CPU time leaves the second
    cell undecided.
    """

    lost: set[str] = field(default_factory=set)  # engines that are lost in their first part
    lost_pct: dict[str, float] = field(default_factory=dict)  # CPU time lost before each cell's blocks, in percent
    waits: dict[tuple[str, int], tuple[str, int]] = field(default_factory=dict)
    """By engine and part number: the part of another engine that must begin before this one continues."""
    idle: set[str] = field(default_factory=set)  # shards without anything to do
    status: int = 0  # what pytest returns
    measured: int = 0  # blocks that a lost engine had measured
    depth: str = QUICK
    cannot_begin: set[str] = field(default_factory=set)  # engines on which nothing can be started
    did: list[tuple[str, Part]] = field(default_factory=list)
    images: list[object] = field(default_factory=list)  # the engines that got images, then the images
    back: set[str] = field(default_factory=set)  # lost engines that return after others have done the rest
    swept: list[str] = field(default_factory=list)  # engines on which leftovers of dead sessions were removed
    _someone_was_lost: threading.Event = field(default_factory=threading.Event)
    _parts: Counter[str] = field(default_factory=Counter)
    _began: set[tuple[str, int]] = field(default_factory=set)
    _someone_began: threading.Condition = field(default_factory=threading.Condition)

    def run_part(self, plan: Plan, engine: str, part: Part, _lock: object) -> int:
        self._wait(engine)
        self.did.append((engine, part))
        if engine in self.cannot_begin:
            return 1
        options = {**OPTIONS, "depth": self.depth, "shard": part.shard, "shard_split": "ab"}
        is_idle = part.shard in self.idle
        folder = plan.folder / folder_of(engine, part)
        writer = ResultsWriter.create(folder, host={} if is_idle else HOST, seed=plan.seed, options=options)
        claim, other = self._cells(engine, part.shard)
        for cell in () if is_idle else (claim, other):
            writer.append(cell)
            if engine in self.lost:
                trials = [
                    json.dumps({"lab": "stall/nginx-1.22/bare", "block": 1 + block}) for block in range(self.measured)
                ]
                (writer.folder / "trials.jsonl").write_text("\n".join(trials), encoding="utf-8")
                self._someone_was_lost.set()
                return 3
        writer.finish(1.0)
        return self.status

    def connect(self, *, environment: Mapping[str, str]) -> SimpleNamespace:
        engine = environment["ENGINE"]
        if engine in self.lost and not (engine in self.back and len(self.did) > _PARTS):
            raise EngineUnavailableError("It does not answer.")
        return SimpleNamespace(engine=engine, close=lambda: None)

    def _wait(self, engine: str) -> None:
        if self.lost and engine not in self.lost:
            self._someone_was_lost.wait(10)
        with self._someone_began:
            self._parts[engine] += 1
            number = (engine, self._parts[engine])
            self._began.add(number)
            self._someone_began.notify_all()
            if number in self.waits:
                assert self._someone_began.wait_for(lambda: self.waits[number] in self._began, 10)

    def _cells(self, engine: str, shard: str) -> tuple[Cell, Cell]:
        lost_pct = self.lost_pct.get(engine, 0.0)
        noise = {"looks": 1, "lost_p50_pct": lost_pct, "lost_max_pct": lost_pct, "waited_s": 0.0}
        name = shard.replace("/", "_")
        return (
            a_cell(f"claim_{name}", reason=engine, host_noise=noise),
            a_cell(
                f"other_{name}", reason=engine, host_noise=noise, verdict="inconclusive" if lost_pct > 0 else "holds"
            ),
        )


@pytest.fixture
def farm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Farm:
    """Replace Docker with the engines of a Farm."""
    made = Farm()

    @contextlib.contextmanager
    def environment_of(name: str) -> Iterator[Mapping[str, str]]:
        yield {"ENGINE": name}

    def look(name: str, _environment: Mapping[str, str]) -> EngineFacts:
        return EngineFacts(name=name, architecture=ARCHITECTURES[name], cpus=2, version="20.10.24")

    monkeypatch.setattr(engines, "environment_of", environment_of)
    monkeypatch.setattr(engines, "look", look)
    monkeypatch.setattr(engines, "provide_images", lambda names, specs: made.images.extend([*names, specs]))
    monkeypatch.setattr(engines, "choose", lambda _arguments: 0)
    monkeypatch.setattr(engines, "run_part", made.run_part)
    monkeypatch.setattr(engines, "connect", made.connect)
    monkeypatch.setattr(engines, "remove_dead_sessions", lambda client: made.swept.append(client.engine))
    monkeypatch.chdir(tmp_path)
    return made


Shared = Callable[..., tuple[int, Results, str]]
"""Shares a run; returns its status, the results in results/latest, and the messages about the work."""


@pytest.fixture
def shared(farm: Farm, capsys: pytest.CaptureFixture[str]) -> Shared:
    """Share a run between two engines unless others are named."""

    def share(*arguments: str, on: Sequence[str] = ("a", "b")) -> tuple[int, Results, str]:
        assert farm.did == []
        status = run_on(on, arguments)
        return status, load(Path("results/latest")), capsys.readouterr().err

    return share


def test_all_parts_are_done_once_and_are_in_one_report(farm: Farm, capsys: pytest.CaptureFixture[str]) -> None:
    """results/latest leads to the report; a shard without anything to do is not missing."""
    farm.idle = {"2/8"}
    assert run_on(["a", "b"], ["-k", "stall", "--seed", "7"]) == 0
    assert sorted(part.shard for _, part in farm.did) == [f"{number}/8" for number in range(1, 9)]
    results = load(Path("results/latest"))
    assert (results.seed, len(results.cells), results.finished, missing_shards(results)) == (7, 14, True, ())
    assert Path("results/latest/index.html").exists()
    out, err = capsys.readouterr()
    assert "claim_1_8" in out
    assert "engine a: Docker 20.10.24, 2 CPUs, x86_64" in err
    assert farm.images == ["a", "b", engine_images.images_for(())]


def test_a_lost_engines_decisions_stay_and_another_does_the_rest(farm: Farm, shared: Shared) -> None:
    """Each cell appears once; of two measurements, the first is kept."""
    farm.lost = {"b"}
    status, results, messages = shared()
    ((_, part),) = [item for item in farm.did if item[0] == "b"]
    assert ("a", part) in farm.did
    assert status == 0
    assert len({cell.id for cell in results.cells}) == len(results.cells) == 16
    assert [cell.reason for cell in results.cells if cell.name == f"claim_{part.shard.replace('/', '_')}"] == ["b"]
    assert "engine b is lost" in messages
    assert "engine b is not back; once it is, the next run there removes what this run left" in messages
    assert farm.swept == []


def test_arguments_that_select_nothing_end_the_run_at_once(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "choose", lambda arguments: {"-k": 5}[arguments[0]])
    assert run_on(["a", "b"], ["-k", "nothing"]) == 5
    assert (farm.did, farm.images) == ([], [])


def test_an_engine_that_cannot_start_leaves_all_parts_to_the_others(farm: Farm, shared: Shared) -> None:
    """Otherwise, an engine that cannot build images, for example, would fail all parts, one after the other."""
    farm.cannot_begin = {"b"}
    farm.waits = {("a", 2): ("b", 1)}
    status, results, messages = shared()
    assert (status, [engine for engine, _ in farm.did].count("b")) == (0, 1)
    assert {cell.reason for cell in results.cells} == {"a"}
    assert "engine b could not start" in messages
    farm.cannot_begin = {"a", "b"}
    assert run_on(["a", "b"], []) == 3


def test_without_any_engine_left_decided_claims_are_reported_and_the_run_is_incomplete(
    farm: Farm, shared: Shared
) -> None:
    """The exit status is that of an unavailable engine."""
    farm.lost = {"a"}
    status, results, messages = shared(on=["a"])
    assert (status, [cell.name for cell in results.cells]) == (3, ["claim_1_4"])
    assert "no engine was left for 1/4, 2/4, 3/4, 4/4 of the run" in messages


def test_an_interrupted_run_reports_decided_claims(farm: Farm, shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    def until_the_third(plan: Plan, engine: str, part: Part, lock: object) -> int:
        if part.shard == "3/4":
            raise KeyboardInterrupt
        return farm.run_part(plan, engine, part, lock)

    monkeypatch.setattr(engines, "run_part", until_the_third)
    status, results, messages = shared(on=["a"])
    assert (status, len(results.cells)) == (130, 4)
    assert "the run was interrupted before 3/4, 4/4 of the run" in messages


def test_a_noisy_engine_leaves_the_rest_to_the_others_and_its_undecided_claims_stay_undecided(
    farm: Farm, shared: Shared
) -> None:
    """A second measurement of an inconclusive claim would be a second chance to err."""
    farm.lost_pct = {"a": 40.0}
    # Once a has done three parts and b one, b gets the rest.
    farm.waits = {("b", 1): ("a", 3), ("a", 3): ("b", 2)}
    status, results, messages = shared("--strict-evidence")
    noisy = [part.shard for engine, part in farm.did if engine == "a"]
    assert (status, len(noisy)) == (1, 3)
    assert len({cell.id for cell in results.cells}) == len(results.cells) == 16
    of_noisy = {cell.name: cell.verdict for cell in results.cells if cell.reason == "a"}
    names = [shard.replace("/", "_") for shard in noisy]
    assert of_noisy == {f"claim_{name}": "holds" for name in names} | {
        f"other_{name}": "inconclusive" for name in names
    }
    assert missing_shards(results) == ()
    assert (
        "engine a is too noisy: a CPU lost 40 % of its time before the rounds, but 0 % on b; "
        "the other engines take over the rest\n"
    ) in messages


@pytest.mark.parametrize(
    ("depth", "measured", "verdict"),
    [(QUICK, 4, "holds"), (QUICK, 5, "unsupported"), (FULL, 11, "holds"), (FULL, 12, "unsupported")],
)
def test_a_cell_of_a_lost_engine_is_not_started_again_after_a_look(
    farm: Farm, shared: Shared, depth: str, measured: int, verdict: str
) -> None:
    """A look is an analysis of the data. Before the first one, another engine may start again."""
    farm.lost, farm.depth, farm.measured = {"b"}, depth, measured
    cells = {cell.name: cell for cell in shared()[1].cells}
    (begun,) = [part.shard.replace("/", "_") for engine, part in farm.did if engine == "b"]
    assert (cells[f"claim_{begun}"].verdict, cells[f"claim_{begun}"].reason) == ("holds", "b")
    other = cells[f"other_{begun}"]
    assert other.verdict == verdict
    assert ("second chance to err" in other.reason) == (verdict == "unsupported")


@pytest.mark.parametrize("measured", [True, False], ids=["measured", "not-measured"])
def test_a_cell_that_a_control_made_untestable_on_a_lost_engine_is_not_measured_again(
    farm: Farm, shared: Shared, monkeypatch: pytest.MonkeyPatch, *, measured: bool
) -> None:
    """Another engine measures only what the lost engine could not."""
    farm.lost = {"b"}
    cells = farm._cells

    def unable(engine: str, shard: str) -> tuple[Cell, Cell]:
        claim, other = cells(engine, shard)
        failed = replace(claim, verdict="unsupported", effect=claim.effect if measured else None)
        return (failed if engine == "b" else claim, other)

    monkeypatch.setattr(farm, "_cells", unable)
    found = {cell.name: cell for cell in shared()[1].cells}
    (begun,) = [part.shard.replace("/", "_") for engine, part in farm.did if engine == "b"]
    assert (found[f"claim_{begun}"].reason, len(found)) == ("b" if measured else "a", 16)


@pytest.mark.parametrize("lost", [set(), {"b"}], ids=["failed-part", "contradiction-on-a-lost-engine"])
def test_a_failed_part_or_a_cell_that_contradicts_its_expectation_fails_the_run(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, lost: set[str]
) -> None:
    """In the second case, the cell is from an engine that was lost later.

    If that engine is back at the end, leftovers on it are removed: it may have been away for longer than its reaper
    waits.
    """
    farm.lost = farm.back = lost
    farm.status = 0 if lost else 1
    cells = farm._cells

    def contradicting(engine: str, shard: str) -> tuple[Cell, Cell]:
        claim, other = cells(engine, shard)
        return (replace(claim, verdict="refuted") if engine in lost else claim, other)

    monkeypatch.setattr(farm, "_cells", contradicting)
    assert run_on(["a", "b"], []) == 1
    assert farm.swept == list(lost)


def test_strict_evidence_is_not_in_the_arguments_of_parts(farm: Farm, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise, an inconclusive result would fail its part; the run is judged as a whole."""
    plans: list[Plan] = []

    def run_part(plan: Plan, engine: str, part: Part, lock: object) -> int:
        plans.append(plan)
        return farm.run_part(plan, engine, part, lock)

    monkeypatch.setattr(engines, "run_part", run_part)
    run_on(["a", "b"], ["--cell", "x", "--strict-evidence", "--cell=y"])
    assert {(plan.is_strict, plan.arguments) for plan in plans} == {(True, ("--cell", "x", "--cell=y"))}


def test_a_part_that_ends_in_an_error_is_given_back(
    farm: Farm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Otherwise, the other engines would wait for it forever."""

    def failing(*_arguments: object) -> int:
        raise LabError("x")

    monkeypatch.setattr(engines, "run_part", failing)
    plan = Plan(arguments=(), is_strict=False, seed=7, folder=tmp_path, environments={"a": {}, "b": {}})
    work = engines._Work(plan)
    with pytest.raises(LabError):
        work.on("b")
    assert work.pile.open_parts[0] == Part(shard="1/8")
    assert farm.did == []


@pytest.mark.parametrize(
    ("names", "arguments", "message"),
    [
        (["a", "a"], [], "--engine a: named twice"),
        (["a", "pi"], [], "Engine pi is aarch64, and a is x86_64"),
        (["a", "b"], ["--shard", "1/2"], "--shard does not work with several engines"),
        (["a", "b"], ["--nginx-conf=x.conf"], "--nginx-conf does not work with several engines"),
        (["a", "b"], ["--place", "client=c"], "--place does not work with several engines"),
        (["a", "b"], ["--seed", "x"], "--seed x: not a seed"),
    ],
)
def test_runs_that_cannot_be_shared_are_rejected_before_anything_starts(
    farm: Farm, names: list[str], arguments: list[str], message: str
) -> None:
    with pytest.raises(BadInputError, match=message):
        run_on(names, arguments)
    assert farm.did == []
    assert not Path("results").exists()
