"""The package as users install it: built, installed into a new environment, and used outside the checkout."""

import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT

_BUILT_FROM: Final = ("pyproject.toml", "README.md", "LICENSE")
# The results have few claims: the cost of pages with many of them is not tested here.
RESULTS: Final = CHECKOUT / "tests" / "frozen_results" / "claims-2026-11-26-3cf38db1.json"
Tuneproof = Callable[[Sequence[str]], subprocess.CompletedProcess[str]]


def pip(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run pip with the user's configuration, such as an index, a cache and a proxy."""
    command = [sys.executable, "-m", "pip", "--no-input", "--retries", "1", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(name="wheel", scope="module")
def wheel_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from a copy: otherwise leftovers of an earlier build would be packed, too."""
    source = tmp_path_factory.mktemp("source")
    for name in _BUILT_FROM:
        shutil.copy(CHECKOUT / name, source)
    shutil.copytree(CHECKOUT / "tuneproof", source / "tuneproof", ignore=shutil.ignore_patterns("__pycache__"))
    # The build uses this environment's setuptools, and needs no index.
    built = pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", source / "dist", source)
    assert built.returncode == 0, built.stderr
    (wheel,) = (source / "dist").iterdir()
    return wheel


def installed(folder: Path) -> Tuneproof:
    """Return the command of an environment, started in an unrelated folder."""

    def run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
        program = folder / "bin" / "tuneproof"
        return subprocess.run([program, *arguments], cwd=folder, capture_output=True, text=True, check=False, env={})

    return run


def try_everything(tuneproof: Tuneproof, folder: Path) -> None:
    """Use an installed package: the commands that a release tries, a report with its pages, and a comparison."""
    tried = subprocess.run(
        [CHECKOUT / ".ci" / "try-installed", folder / "bin" / "tuneproof"], capture_output=True, text=True, check=False
    )
    assert tried.returncode == 0, tried.stdout + tried.stderr
    results = str(RESULTS)
    for arguments in (["report", results, "--output", "report"], ["compare", results, results]):
        ended = tuneproof(arguments)
        assert ended.returncode == 0, f"{arguments}: {ended.stdout}{ended.stderr}"
        assert ended.stdout
    assert (folder / "report" / "index.html").is_file()
    assert (folder / "report" / "assets" / "report.css").is_file()


@pytest.mark.slow  # cli/test_gates.py installs the package, too, and uses the templates of its audit
def test_a_wheel_contains_everything_that_its_command_needs(wheel: Path, tmp_path: Path) -> None:
    """The wheel has templates, schemas, recorded verdicts and the command; dependencies come from this environment."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    assert pip("--python", folder, "install", "--no-deps", "--no-index", "--no-compile", wheel).returncode == 0
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n", encoding="utf-8")
    try_everything(installed(folder), folder)


@pytest.mark.slow
def test_the_wheels_declared_dependencies_are_enough(wheel: Path, tmp_path: Path) -> None:
    """In an environment with only these dependencies, an undeclared package would be missing."""
    folder = tmp_path / "venv"
    venv.create(folder, with_pip=False)
    done = pip("--python", folder, "install", "--quiet", wheel)
    if "No matching distribution" in done.stderr and "connection" in done.stderr.lower():
        pytest.skip(f"pip cannot reach an index: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    try_everything(installed(folder), folder)
    missing = installed(folder)(["doctor"])
    assert (missing.returncode, "pip install 'tuneproof[lab]'" in missing.stderr) == (3, True), missing.stderr
