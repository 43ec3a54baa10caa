"""``./lab run --engine A --engine B``: the cells of a run, shared out to several engines at once.

The run is cut into shards, as for several jobs of a CI; each engine takes one after the other from one pile, by a
pytest of its own. What an engine had decided when it was lost stays; the rest of its shard goes to another one.
"""

import secrets
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tuneproof.cli import suite
from tuneproof.cli.output import say, show
from tuneproof.errors import BadInputError, EngineUnavailableError, TuneproofError
from tuneproof.lab.engine.commands import end_with_parent
from tuneproof.lab.engine.named import EngineFacts, environment_of, look
from tuneproof.lab.engine.reach import connect
from tuneproof.proof.matrix.pool import Pile
from tuneproof.report.results.documents import Results
from tuneproof.report.results.files import point_link
from tuneproof.report.results.merged_folder import write_folder
from tuneproof.report.results.merging import merge
from tuneproof.report.results.run_file import load
from tuneproof.report.terminal.table import render_table

# More parts than engines: a fast one takes more of them, and less is measured again when one is lost.
_PARTS_PER_ENGINE: Final = 4
_NOT_FOR_SEVERAL: Final = ("--shard", "--nginx-conf", "--results", "--place")
_SEEDS: Final = 1 << 31
_FAILED: Final = 1
_INTERRUPTED: Final = 2
_OPEN: Final = 3


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be shared out.

    Attributes:
        arguments: Of pytest, for every part.
        seed: The seed of all parts.
        folder: Where the parts' results go.
        environments: By engine, the environment that leads to it.
    """

    arguments: tuple[str, ...]
    seed: int
    folder: Path
    environments: Mapping[str, Mapping[str, str]]


def run_on(engines: Sequence[str], arguments: Sequence[str], *, results: Path = Path("results")) -> int:
    """Prove the claims on several engines.

    Args:
        engines: Docker contexts or addresses.
        arguments: The user's other arguments.
        results: Folder below which the run's folder is made.

    Returns:
        0; 1 if a cell contradicts its expectation, or a part failed; 2 if it was interrupted; 3 if cells are left that
        no engine decided.

    Raises:
        BadInputError: An engine is named twice or not known, differs in its architecture, or an option is not for
            several engines.
        EngineUnavailableError: One does not answer: nothing was started then.
    """
    _refuse(engines, arguments)
    with ExitStack() as reached:
        environments = {name: reached.enter_context(environment_of(name)) for name in engines}
        facts = [look(name, environment) for name, environment in environments.items()]
        _refuse_different(facts)
        for fact in facts:
            say(f"engine {fact.name}: Docker {fact.version}, {fact.cpus} CPUs, {fact.architecture}")
        folder = results / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"
        seed, others = _seed(arguments)
        parts = folder.with_name(f"{folder.name}.parts")
        plan = Plan(arguments=others, seed=seed, folder=parts, environments=environments)
        statuses, open_parts = _share_out(plan)
    return _tell(plan, folder, statuses, open_parts)


def _refuse(engines: Sequence[str], arguments: Sequence[str]) -> None:
    if twice := [name for name in dict.fromkeys(engines) if engines.count(name) > 1]:
        raise BadInputError(f"--engine {twice[0]}: named twice", remedy="name each engine once")
    for option in _NOT_FOR_SEVERAL:
        if any(word.partition("=")[0] == option for word in arguments):
            raise BadInputError(
                f"{option} is not for several engines", remedy=f"leave {option} out, or name one engine"
            )


def _refuse_different(facts: Sequence[EngineFacts]) -> None:
    first = facts[0]
    for fact in facts[1:]:
        if fact.architecture != first.architecture:
            raise BadInputError(
                f"Engine {fact.name} is {fact.architecture}, and {first.name} is {first.architecture}: their verdicts "
                "cannot stand in one report.",
                remedy="name engines of one architecture, and compare two runs with ./lab compare",
            )


def _seed(arguments: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """Return the seed of all parts, and the arguments without it."""
    words, seed, left = [], None, iter(arguments)
    for word in left:
        option, has_value, value = word.partition("=")
        if option == "--seed":
            seed = value if has_value else next(left, "")
        else:
            words.append(word)
    if seed is None:
        return secrets.randbelow(_SEEDS), tuple(words)
    if not seed.isdecimal():
        raise BadInputError(f"--seed {seed}: no seed", remedy="a whole number")
    return int(seed), tuple(words)


def _share_out(plan: Plan) -> tuple[list[int], tuple[str, ...]]:
    """Return the statuses of pytest, and the parts that no engine could finish."""
    count = _PARTS_PER_ENGINE * len(plan.environments)
    pile = Pile([f"{number}/{count}" for number in range(1, count + 1)], set(plan.environments))
    lock = threading.Lock()
    statuses: list[int] = []

    def work(engine: str) -> None:
        for part in pile.parts_for(engine):
            status = _run_part(plan, engine, part, lock)
            if _is_finished(plan.folder / _folder_of(engine, part)):
                statuses.append(status)
                continue
            if not _answers(plan.environments[engine]):
                say(f"engine {engine} is lost; the rest of part {part} goes to another one")
                pile.give_back(engine)
                return
            statuses.append(max(status, _FAILED))

    with ThreadPoolExecutor(max_workers=len(plan.environments)) as pool:
        working = [pool.submit(work, engine) for engine in plan.environments]
        try:
            for done in working:
                done.result()
        except KeyboardInterrupt:
            # A terminal has told every part's own pytest as well; what they have measured by then is kept.
            statuses.append(_INTERRUPTED)
            for engine in plan.environments:
                pile.give_back(engine)
    return statuses, pile.open_parts


def _run_part(plan: Plan, engine: str, part: str, lock: threading.Lock) -> int:
    """Run a part on an engine, with its lines under the engine's name among those of the others."""
    folder = plan.folder / _folder_of(engine, part)
    own = ("--shard", part, "--seed", str(plan.seed), "--results", str(folder), "-q", "--no-header", "--no-summary")
    words = ("tests/scenarios", *suite.WITHOUT_HYPOTHESIS, *plan.arguments, *own)
    child = subprocess.Popen(
        [sys.executable, "-m", "pytest", *words],
        env=dict(plan.environments[engine]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=end_with_parent,  # noqa: PLW1509 - it only makes one system call
    )
    if child.stdout is not None:
        for line in child.stdout:
            if _is_news(line):
                with lock:
                    sys.stdout.write(f"[{engine}] {line}")
                    sys.stdout.flush()
    return child.wait()


def _is_news(line: str) -> bool:
    """Tell whether a line of pytest's is one of the lab's, and not of its own bookkeeping."""
    return ", nginx " in line or " → " in line or line.startswith(("building", "engine ", "E  ", "lab:"))


def _folder_of(engine: str, part: str) -> str:
    safe = "".join(letter if letter.isalnum() else "-" for letter in engine)
    return f"{safe}-part-{part.replace('/', '-of-')}"


def _runs_in(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*/results.json") if not path.parent.is_symlink())


def _is_finished(folder: Path) -> bool:
    runs = _runs_in(folder)
    return bool(runs) and load(runs[-1]).finished


def _answers(environment: Mapping[str, str]) -> bool:
    try:
        connect(environment=environment).close()
    except EngineUnavailableError:
        return False
    return True


def _tell(plan: Plan, folder: Path, statuses: Sequence[int], open_parts: Sequence[str]) -> int:
    """Write the results of all parts as one, show them, and return the exit status."""
    found = [load(path) for part in sorted(plan.folder.glob("*/")) for path in _runs_in(part)]
    if not found:
        say("nothing was measured: the lines above say why")
        return max([*statuses, _OPEN])
    merged, missing = write_folder(merge(_each_cell_once(found)), folder)
    point_link(folder.parent / "latest", folder.name)
    show(render_table(merged.cells, color=False, seconds=merged.seconds))
    say(f"results: {folder / 'results.json'}")
    if missing:
        say(f"{missing} files of evidence are missing")
    _write_pages(merged)
    if open_parts:
        interrupted = _INTERRUPTED in statuses
        why = "the run was interrupted before" if interrupted else "no engine was left for"
        say(f"{why} {', '.join(open_parts)} of the run; what was decided stands above")
        return _INTERRUPTED if interrupted else _OPEN
    return _FAILED if any(statuses) else 0


def _each_cell_once(results: Sequence[Results]) -> list[Results]:
    """Return results without what another part had decided before its engine was lost."""
    taken: set[str] = set()
    kept = []
    for one in sorted(results, key=lambda item: (item.finished, item.started)):
        cells = tuple(cell for cell in one.cells if cell.id not in taken)
        taken |= {cell.id for cell in cells}
        # What was begun on a lost engine is as complete as it can be: another part has the rest.
        kept.append(replace(one, cells=cells, finished=True))
    return [one for one in kept if one.cells] or kept[:1]


def _write_pages(results: Results) -> None:
    # Here, since only this needs the templates and the plotting library.
    from tuneproof.report.html import write_report  # noqa: PLC0415 - see above

    try:
        say(f"report: {write_report(results, results.path.parent)}")
    except TuneproofError as error:
        say(f"no pages were written: {error}")
