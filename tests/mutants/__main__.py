"""``python -m tests.mutants``: puts small faults, drawn by a seed, into the code; reports those that no test finds.

It copies the checkout, changes one place at a time in the copy, and runs the tests of that part until one fails.
"""

import argparse
import ast
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

from tests.support.places import CHECKOUT


@dataclass(frozen=True, kw_only=True)
class Part:
    """Code, by patterns of the checkout, and the tests that must find a fault in it."""

    code: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A place for a fault: the operator, and which of the places in the file that the operator can change."""

    file: str
    operator: str
    occurrence: int
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
    "results": Part(code=("tuneproof/report/results/*.py",), tests=("tests/unit/report/results",)),
}
# For members of an enumeration, equal means identical.
_EQUIVALENT: Final = ("Operator_Eq_Is", "Operator_Is_Eq", "Operator_NotEq_IsNot", "Operator_IsNot_NotEq")
# The time limit for a fault with an endless loop, as a multiple of the time without a fault.
_PATIENCE: Final = 10


def places(file: str) -> Iterator[Place]:
    """Yield every place of a file that some operator can change."""
    tree = get_ast((CHECKOUT / file).read_text(encoding="utf-8"))
    for name in sorted(plugins.operator_names()):
        kind = plugins.get_operator(name)
        if kind.arguments() or name.endswith(_EQUIVALENT):
            continue
        found = (span for node in ast_nodes(tree) for span in kind().mutation_positions(node))
        for occurrence, (start, _) in enumerate(found):
            yield Place(file=file, operator=name, occurrence=occurrence, line=start[0])


def without_annotations(text: str) -> str:
    """Return the part of code that decides what a program does."""
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
    """Yield this many different places of a part, with the faulty code."""
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
    """Copy the files that git tracks, in their present state."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, check=True, text=True)
    for name in filter(None, listed.stdout.split("\0")):
        if (CHECKOUT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(CHECKOUT / name, folder / name)


def passes(part: Part, folder: Path, *, limit_s: float | None = None) -> bool:
    """Tell whether all tests of a part pass; tests that do not end in time fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-n", "0", "-p", "no:cacheprovider", *part.tests]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=limit_s, check=False)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def survivors(part: Part, folder: Path, *, mutants: int, seed: int) -> Iterator[tuple[Place, str, str]]:
    """Yield the places where no test found a fault, with the original line and the changed one."""
    began_s = time.monotonic()
    if not passes(part, folder):
        raise SystemExit(f"{' '.join(part.tests)}: not all tests pass without a fault")
    limit_s = _PATIENCE * (time.monotonic() - began_s)
    for number, (place, wrong) in enumerate(drawn(part, mutants=mutants, seed=seed)):
        file = folder / place.file
        right = file.read_text(encoding="utf-8")
        file.write_text(wrong, encoding="utf-8")
        # Python would reuse compiled code of the same size and second for this text.
        os.utime(file, (number, number))
        if passes(part, folder, limit_s=limit_s):
            before, after = right.splitlines(), wrong.splitlines()
            at = next(index for index, (one, other) in enumerate(zip(before, after, strict=False)) if one != other)
            yield place, before[at].strip(), after[at].strip()
        file.write_text(right, encoding="utf-8")
        os.utime(file, (mutants + number, mutants + number))


def say(line: str) -> None:
    """Print a line at once, because each part takes minutes."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main(arguments: Sequence[str]) -> int:
    """Try the parts one after the other, and print the survivors of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"default: all of {', '.join(PARTS)}")
    parser.add_argument("--mutants", type=int, default=40, metavar="N", help="per part; default: 40")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="same seed, same mutants; default: 0")
    chosen = parser.parse_args(arguments)
    if unknown := set(chosen.parts) - PARTS.keys():
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    with tempfile.TemporaryDirectory(prefix="tuneproof-mutants-") as folder:
        copied(Path(folder))
        for name in chosen.parts or PARTS:
            left = 0
            for place, before, after in survivors(PARTS[name], Path(folder), mutants=chosen.mutants, seed=chosen.seed):
                left += 1
                say(f"{place.file}:{place.line}: {before}  ->  {after}")
            say(f"{name}: {chosen.mutants - left} of {chosen.mutants} killed, seed {chosen.seed}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
