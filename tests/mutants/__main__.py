"""``python -m tests.mutants`` puts small random faults into the code, and reports those that no test finds.

In a copy of the checkout, it changes one place of a part at a time, and runs that part's tests until one fails.
"""

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from cosmic_ray import plugins
from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutants.server import RUN, TIME_LIMIT
from tests.support.places import CHECKOUT


@dataclass(frozen=True, kw_only=True)
class Part:
    """Code, as patterns of paths in the checkout, and the tests that must find a fault in it."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place for a fault."""

    file: str
    operator: str  # the kind of change
    occurrence: int  # the number of this place among those in the file that the operator can change, from 0
    line: int


PARTS: Final = {
    "inference": Part(
        code=("tuneproof/proof/inference/*.py",),
        tests=("tests/unit/proof/inference", "tests/unit/proof/scenario/test_parts.py"),
    ),
    "conf": Part(
        code=tuple(
            f"tuneproof/conf/{name}.py" for name in ("effective", "hosts", "locations", "sockets", "unreachable")
        ),
        tests=("tests/unit/conf",),
    ),
    "patches": Part(
        code=("tuneproof/audit/patches.py", "tuneproof/audit/new_upstream.py"),
        tests=(
            "tests/unit/audit/test_patches.py",
            "tests/unit/audit/test_new_upstream.py",
            "tests/unit/conf/test_sources.py",
        ),
    ),
    "causes": Part(code=("tuneproof/explain/diagnosis/causes/*.py",), tests=("tests/unit/explain/diagnosis",)),
    "results": Part(
        code=("tuneproof/report/results/*.py",), tests=("tests/unit/report/results", "tests/unit/report/test_load.py")
    ),
}
# For members of an enumeration, "equal" and "identical" have the same meaning.
_EQUIVALENT: Final = ("Operator_Eq_Is", "Operator_Is_Eq", "Operator_NotEq_IsNot", "Operator_IsNot_NotEq")
# The time limit for a fault with an endless loop, as a multiple of the time without a fault.
_PATIENCE: Final = 10
# How many of the tests that found the latest faults run before all others.
_LATEST: Final = 8


def places(file: str) -> Iterator[Place]:
    """Yield every place in a file that an operator can change."""
    tree = get_ast((CHECKOUT / file).read_text(encoding="utf-8"))
    for name in sorted(plugins.operator_names()):
        kind = plugins.get_operator(name)
        if kind.arguments() or name.endswith(_EQUIVALENT):
            continue
        found = (span for node in ast_nodes(tree) for span in kind().mutation_positions(node))
        for occurrence, (start, _) in enumerate(found):
            yield Place(file=file, operator=name, occurrence=occurrence, line=start[0])


def without_annotations(text: str) -> str:
    """Return code without its annotations, which do not affect a program's behaviour."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            node.annotation = None
        elif isinstance(node, ast.AnnAssign):
            node.annotation = ast.Constant(value=None)
        elif isinstance(node, ast.FunctionDef):
            node.returns = None
    return ast.unparse(tree)


def drawn(part: Part, *, mutants: int, seed: int) -> Iterator[tuple[Place, str]]:
    """Yield ``mutants`` random places in a part, each with the faulty code."""
    files = sorted(str(path.relative_to(CHECKOUT)) for pattern in part.code for path in CHECKOUT.glob(pattern))
    everywhere = [place for file in files for place in places(file)]
    random.Random(seed).shuffle(everywhere)  # noqa: S311 - a draw that can be repeated
    for place in everywhere:
        if mutants == 0:
            return
        right = (CHECKOUT / place.file).read_text(encoding="utf-8")
        wrong = mutate_code(right, plugins.get_operator(place.operator)(), place.occurrence)
        # Some drawn changes are not valid Python.
        with suppress(SyntaxError):
            if wrong is not None and without_annotations(wrong) != without_annotations(right):
                mutants -= 1
                yield place, wrong


def copied(folder: Path) -> None:
    """Copy the files that git tracks, with uncommitted changes."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)


class Tests:
    """The tests of a part, in a copy of the checkout."""

    def __init__(self, part: Part, folder: Path) -> None:
        self._all = part.tests
        # Names of tests that found faults, by file, the latest first: such a test often finds the next fault, too.
        self._killers: dict[str, list[str]] = {}
        self._limit_s: float | None = None
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.mutants.server"],
            cwd=folder,
            env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._run(self._all)  # compiles the code
        began_s = time.monotonic()
        if failed := self._run(self._all):
            raise SystemExit(f"{failed} fails without a fault")
        self._limit_s = _PATIENCE * (time.monotonic() - began_s)

    def _run(self, tests: Sequence[str]) -> str:
        assert self._server.stdin
        assert self._server.stdout
        self._server.stdin.write(json.dumps({"tests": list(tests), "limit_s": self._limit_s}) + "\n")
        self._server.stdin.flush()
        return self._server.stdout.readline().rstrip("\n")

    def killer(self, file: str) -> str:
        """Return the name of a test that fails while this file has a fault, RUN or TIME_LIMIT; empty if none fails."""
        killers = self._killers.setdefault(file, [])
        # A fault may change the names of parametrized tests. A run that does not find its tests does not count.
        killer = self._run(killers[:_LATEST]) if killers else RUN
        if killer in ("", RUN):
            killer = self._run(self._all)
        if killer not in ("", RUN, TIME_LIMIT):
            killers[:] = [killer, *(name for name in killers if name != killer)]
        return killer


def tried(part: Part, folder: Path, *, mutants: int, seed: int) -> Iterator[tuple[Place, str, str, str]]:
    """Yield each fault's place, the original and the changed line, and the test that found the fault, or ""."""
    tests = Tests(part, folder)
    for number, (place, wrong) in enumerate(drawn(part, mutants=mutants, seed=seed)):
        file = folder / place.file
        right = file.read_text(encoding="utf-8")
        file.write_text(wrong, encoding="utf-8")
        # Python reuses compiled code if the source's size and its time in seconds have not changed.
        os.utime(file, (number, number))
        killer = tests.killer(place.file)
        before, after = right.splitlines(), wrong.splitlines()
        at = next(index for index, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
        yield place, before[at].strip(), after[at].strip(), killer
        file.write_text(right, encoding="utf-8")
        os.utime(file, (mutants + number, mutants + number))


def say(line: str) -> None:
    """Print a line at once, since each part takes minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Try the parts one after the other, and print the survivors of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(PARTS)}")
    parser.add_argument("--mutants", type=int, default=40, metavar="N", help="faults per part; default: 40")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same mutants; default: 0")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="tuneproof-mutants-") as folder:
        copied(Path(folder))
        for name in chosen.parts or PARTS:
            faults = found = 0
            for place, before, after, killer in tried(
                PARTS[name], Path(folder), mutants=chosen.mutants, seed=chosen.seed
            ):
                faults, found = faults + 1, found + bool(killer)
                if not killer:
                    say(f"{place.file}:{place.line}: {before}  ->  {after}")
            say(f"{name}: {found} of {faults} killed, seed {chosen.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
