"""``./lab run --engine A --engine B``: a run divided among several engines.

The run is split into shards, as for several CI jobs; each engine takes one shard after the other from a pool, and runs
it with its own pytest. Results of a lost engine are kept; the rest of its shard goes to another engine. Once data has
been analysed (a "look"), its result is not measured again, since that would be a second chance to err: inconclusive
results stay as they are, and a result is unsupported if its engine is lost after the first look.

pytest-xdist (3.8) does not fit: when a worker ends, it either ends the whole run (--max-worker-restart=0) or starts
another process for the same worker, thus on the same lost engine. Its scheduler for groups of tests cannot take a test
back (``mark_test_pending``), and a scheduler of our own would depend on undocumented classes.
"""

import contextlib
import json
import secrets
import threading
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tuneproof.cli import suite
from tuneproof.cli.engine_images import images_for, provide_images
from tuneproof.cli.engine_parts import Plan, choose, folder_of, run_part, runs_in
from tuneproof.cli.main import INTERRUPTED
from tuneproof.cli.output import say, show
from tuneproof.cli.report import write_pages
from tuneproof.errors import BadInputError, EngineUnavailableError, TuneproofError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.named import EngineFacts, environment_of, look
from tuneproof.lab.engine.reach import connect
from tuneproof.lab.engine.sweep import remove_dead_sessions
from tuneproof.proof.depths import LOOKS, QUICK
from tuneproof.proof.inference.verdicts import Verdict
from tuneproof.proof.matrix.pool import Part, Pile, calmer_than, noise_of
from tuneproof.report.results.cells import Cell
from tuneproof.report.results.documents import Results
from tuneproof.report.results.files import point_link
from tuneproof.report.results.merged_folder import write_folder
from tuneproof.report.results.merging import merge
from tuneproof.report.terminal.table import render_table
from tuneproof.wording import count

# With more parts than engines, a fast engine takes more of them, and less is repeated if an engine is lost.
_PARTS_PER_ENGINE: Final = 4
_NOT_FOR_SEVERAL: Final = ("--shard", "--nginx-conf", "--results", "--place")
_STRICT: Final = "--strict-evidence"
_SEEDS: Final = 1 << 31
_FAILED: Final = 1
_OPEN: Final = 3


def run_on(engines: Sequence[str], arguments: Sequence[str], *, results: Path = Path("results")) -> int:
    """Test the claims on several engines.

    Returns:
        0; 1 if a result contradicts its expectation, or is inconclusive with strict evidence, or a part failed; 130
        after an interruption; 3 if no engine was left for a part; pytest's own status if it rejects the arguments or
        selects nothing.

    BadInputError: An engine is named twice, is unknown or has another architecture, or an option does not work with
    several engines. EngineUnavailableError: An engine does not answer; nothing was started. TuneproofError: No engine
    can build the images.
    """
    _refuse(engines, arguments)
    if status := choose(arguments):
        return status
    with contextlib.ExitStack() as reached:
        environments = {name: reached.enter_context(environment_of(name)) for name in engines}
        facts = [look(name, environment) for name, environment in environments.items()]
        _refuse_different(facts)
        for fact in facts:
            say(f"engine {fact.name}: Docker {fact.version}, {fact.cpus} CPUs, {fact.architecture}")
        folder = results / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"  # noqa: TID251 - the start of a run
        seed, others = _seed(arguments)
        provide_images(environments, images_for(others))
        plan = Plan(
            arguments=tuple(word for word in others if word != _STRICT),
            is_strict=_STRICT in others,
            seed=seed,
            folder=folder.with_name(f"{folder.name}.parts"),
            environments=environments,
        )
        work = _share_out(plan)
        for engine in work.lost:
            _sweep(engine, environments[engine])
    return _report(plan, folder, work.statuses, work.pile.open_parts)


def _refuse(engines: Sequence[str], arguments: Sequence[str]) -> None:
    if twice := [name for name in dict.fromkeys(engines) if engines.count(name) > 1]:
        raise BadInputError(f"--engine {twice[0]}: named twice", remedy="name each engine once")
    for option in _NOT_FOR_SEVERAL:
        if any(word.partition("=")[0] == option for word in arguments):
            raise BadInputError(
                f"{option} does not work with several engines", remedy=f"leave {option} out, or name one engine"
            )


def _refuse_different(facts: Sequence[EngineFacts]) -> None:
    first = facts[0]
    for fact in facts[1:]:
        if fact.architecture != first.architecture:
            raise BadInputError(
                f"Engine {fact.name} is {fact.architecture}, and {first.name} is {first.architecture}: their verdicts "
                "cannot be in one report.",
                remedy="name engines with the same architecture, and compare two runs with ./lab compare",
            )


def _seed(arguments: Sequence[str]) -> tuple[int, list[str]]:
    """Return the seed for all parts, and the arguments without ``--seed``."""
    seeds, others = suite.values_of("--seed", arguments)
    if not seeds:
        return secrets.randbelow(_SEEDS), others
    if not seeds[-1].isdecimal():
        raise BadInputError(f"--seed {seeds[-1]}: not a seed", remedy="give a whole number")
    return int(seeds[-1]), others


def _share_out(plan: Plan) -> "_Work":
    """Return the finished work: pytest's statuses, and the parts that no engine could finish."""
    work = _Work(plan)
    with ThreadPoolExecutor(max_workers=len(plan.environments)) as pool:
        working = [pool.submit(work.on, engine) for engine in plan.environments]
        try:
            for done in working:
                done.result()
        except KeyboardInterrupt:
            # On Ctrl-C, the terminal also interrupts every part's pytest; the results so far are kept.
            work.statuses.append(INTERRUPTED)
            for engine in plan.environments:
                work.pile.give_back(engine)
    return work


class _Work:
    """The parts of a run; each engine runs its parts in its own thread."""

    def __init__(self, plan: Plan) -> None:
        parts = _PARTS_PER_ENGINE * len(plan.environments)
        self.pile = Pile([Part(shard=f"{number}/{parts}") for number in range(1, parts + 1)], set(plan.environments))
        self.statuses: list[int] = []
        self.lost: list[str] = []
        self._plan = plan
        self._lock = threading.Lock()
        self._noise_pct: dict[str, float] = {}

    def on(self, engine: str) -> None:
        """Run parts on an engine, one by one, until none is left, or the engine is lost, unusable or too noisy."""
        done: list[Cell] = []
        try:
            for part in self.pile.parts_for(engine):
                status = run_part(self._plan, engine, part, self._lock)
                runs = runs_in(self._plan.folder / folder_of(engine, part))
                if runs and runs[-1].finished:
                    self.statuses.append(status)
                    done += runs[-1].cells
                    self._leave_if_noisy(engine, done)
                elif not _answers(self._plan.environments[engine]):
                    say(f"engine {engine} is lost; the rest of {part} goes to another one")
                    self.lost.append(engine)
                    return
                elif runs:
                    self.statuses.append(max(status, _FAILED))
                else:
                    # For example, images cannot be built on this engine; its next part would fail in the same way.
                    say(f"engine {engine} could not start, for the reason above; its parts go to the others")
                    return
        finally:
            with self._lock:
                self._noise_pct.pop(engine, None)
            self.pile.give_back(engine)

    def _leave_if_noisy(self, engine: str, done: Sequence[Cell]) -> None:
        own_pct = noise_of(done)
        if own_pct is None:
            return
        with self._lock:
            self._noise_pct[engine] = own_pct
            calmer = calmer_than(engine, self._noise_pct)
            if calmer is None:
                return
            calmer_pct = self._noise_pct[calmer]
            # An engine that stops taking parts is no longer compared, so the others continue.
            del self._noise_pct[engine]
        say(
            f"engine {engine} is too noisy: a CPU lost {own_pct:.0f} % of its time before the rounds, but "
            f"{calmer_pct:.0f} % on {calmer}; the other engines take over the rest"
        )
        self.pile.step_aside(engine)


def _sweep(engine: str, environment: Mapping[str, str]) -> None:
    """Remove the leftovers on a lost engine if it is back, since the run's reaper may have given up on it."""
    try:
        with (
            contextlib.closing(connect(environment=environment)) as client,
            engine_errors(f"removing the leftovers on engine {engine}"),
        ):
            remove_dead_sessions(client)
    except TuneproofError:
        say(
            f"engine {engine} is not back; once it is, the next run there removes what this run left, "
            f"or ./lab clean --engine {engine}"
        )


def _answers(environment: Mapping[str, str]) -> bool:
    try:
        connect(environment=environment).close()
    except EngineUnavailableError:
        return False
    return True


def _report(plan: Plan, folder: Path, statuses: Sequence[int], open_parts: Sequence[Part]) -> int:
    """Merge the results of all parts, show them, and return the exit status."""
    found = [
        # Individual parts are not strict; the run is judged as a whole.
        replace(results, options={**results.options, "strict_evidence": plan.is_strict})
        for part in sorted(plan.folder.glob("*/"))
        for results in runs_in(part)
    ]
    if not found:
        say("nothing was measured; the lines above show why")
        return max([*statuses, _OPEN])
    looked_at = {lab for results in found if not results.finished for lab in _looked_at(results)}
    merged, missing = write_folder(merge(_each_cell_once(found, looked_at)), folder)
    point_link(folder.parent / "latest", folder.name)
    show(render_table(merged.cells, color=False, seconds=merged.seconds))
    say(f"results: {folder / 'results.json'}")
    if missing:
        say(f"{count(missing, 'evidence file')} missing")
    write_pages(merged)
    if open_parts:
        interrupted = INTERRUPTED in statuses
        why = "the run was interrupted before" if interrupted else "no engine was left for"
        say(f"{why} {', '.join(map(str, open_parts))} of the run; the table above shows what was decided")
        return INTERRUPTED if interrupted else _OPEN
    fails = any(cell.contradicts or (plan.is_strict and cell.verdict == Verdict.INCONCLUSIVE) for cell in merged.cells)
    return _FAILED if fails or any(statuses) else 0


def _looked_at(results: Results) -> set[str]:
    """Return the labs in an unfinished run with data that reached the first look."""
    journal = results.path.parent / "trials.jsonl"
    trials = map(json.loads, journal.read_text(encoding="utf-8").splitlines()) if journal.exists() else ()
    first_look, *_ = LOOKS[results.options.get("depth", QUICK)]
    return {trial["lab"] for trial in trials if trial["block"] >= first_look}


def _each_cell_once(results: Sequence[Results], looked_at: Collection[str]) -> list[Results]:
    """Return results with one verdict on each claim: the first, or a later one if nothing was measured for the first.

    ``looked_at``: labs that were lost after their first look.
    """
    ordered = sorted(results, key=lambda item: (item.finished, item.started))
    source: dict[str, Results] = {}
    for one in ordered:
        for cell in one.cells:
            known = source.get(cell.id)
            if known is None or any(old.id == cell.id and _not_measured(old) for old in known.cells):
                source[cell.id] = one

    def kept(one: Results) -> tuple[Cell, ...]:
        cells = (cell for cell in one.cells if source[cell.id] is one)
        return tuple(_second_start(cell) if one.finished and cell.lab in looked_at else cell for cell in cells)

    # A lost engine's unfinished run counts as complete, since another part contains the rest.
    return [replace(one, cells=kept(one), finished=True) for one in ordered if one.cells or one.finished] or ordered[:1]


def _not_measured(cell: Cell) -> bool:
    """Return whether another engine may measure a claim: not if a control made it untestable after a look at data."""
    return cell.verdict == Verdict.UNSUPPORTED and cell.effect is None


def _second_start(cell: Cell) -> Cell:
    why = "an engine was lost after the first look at the data, and measuring again would be a second chance to err"
    return replace(cell, verdict=Verdict.UNSUPPORTED.value, reason="; ".join(filter(None, (why, cell.reason))))
