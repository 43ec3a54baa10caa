"""One part of a run on one of several engines: a separate pytest, with its own folder for results."""

import re
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tuneproof.cli import suite
from tuneproof.lab.engine.commands import end_with_parent
from tuneproof.proof.matrix.pool import Part
from tuneproof.report.results.documents import Results
from tuneproof.report.results.run_file import load

# Lines about current work, verdicts, failures and their reasons. A table's title does not match, since it has no colon.
_NEWS: Final = re.compile(r", nginx [^)]*: |^\S+: .* (→|->) |, setup: |^(building|engine |E  |ERROR: |lab:)")


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The work to divide among engines."""

    arguments: tuple[str, ...]  # pytest's arguments, for every part
    is_strict: bool  # whether an inconclusive result fails the run
    seed: int
    folder: Path  # the folder for the parts' results
    environments: Mapping[str, Mapping[str, str]]  # the environment that selects each engine


def choose(arguments: Sequence[str]) -> int:
    """Let pytest check which claims the arguments select, before any engine is used.

    Returns: 0; or pytest's status, after its message about wrong usage or an empty selection.
    """
    words = ("tests/scenarios", *suite.FEWER_PLUGINS, *arguments, "--collect-only", "-q", "--no-header")
    looked = subprocess.run(suite.pytest_command(words), check=False, capture_output=True, text=True)
    if looked.returncode:
        sys.stdout.write(looked.stdout)
        sys.stderr.write(looked.stderr)
    return looked.returncode


def run_part(plan: Plan, engine: str, part: Part, lock: threading.Lock) -> int:
    """Run a part on an engine; return pytest's status. Each line with news is printed after the engine's name."""
    folder = plan.folder / folder_of(engine, part)
    own = ("--shard", part.shard, "--seed", str(plan.seed), "--results", str(folder))
    words = ("tests/scenarios", *suite.FEWER_PLUGINS, *plan.arguments, *own, "--no-header", "--no-summary")
    with subprocess.Popen(
        suite.pytest_command(words),
        env=dict(plan.environments[engine]),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        preexec_fn=end_with_parent,  # noqa: PLW1509 - it only makes one system call
    ) as child:
        for line in child.stdout or ():
            if is_news(line):
                with lock:
                    sys.stdout.write(f"[{engine}] {line}")
                    sys.stdout.flush()
        return child.wait()


def is_news(line: str) -> bool:
    """Return whether a line of the output is shown: those of pytest's bookkeeping and summary are not."""
    return _NEWS.search(line) is not None


def folder_of(engine: str, part: Part) -> str:
    """Return the name of the folder for an engine's results from a part."""
    safe = "".join(letter if letter.isalnum() else "-" for letter in engine)
    return f"{safe}-part-{part.shard.replace('/', '-of-')}"


def runs_in(folder: Path) -> list[Results]:
    """Return the results in a part's folder, the latest last. BadInputError: They cannot be read."""
    return [load(path) for path in sorted(folder.glob("*/results.json")) if not path.parent.is_symlink()]
