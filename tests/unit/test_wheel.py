"""The package as users install it: built, installed into a new environment, and used outside the checkout."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT


@pytest.mark.slow  # cli/test_gates.py installs the package, too, and uses the templates of its audit
def test_a_wheel_has_all_files_and_dependencies_that_its_commands_need(tmp_path: Path) -> None:
    """The wheel is built from a copy: otherwise leftovers of an earlier build would be packed, too."""
    source = tmp_path / "source"
    shutil.copytree(CHECKOUT / "tuneproof", source / "tuneproof", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source)
    # The build uses this environment's setuptools, and needs no index.
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(tmp_path)]
    subprocess.run([*build, str(source)], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    command = [str(CHECKOUT / ".ci" / "try-wheel"), str(wheel), sys.executable]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if "No matching distribution" in tried.stderr and "connection" in tried.stderr.lower():
        pytest.skip(f"pip cannot reach an index: {tried.stderr.strip().splitlines()[-1]}")
    assert tried.returncode == 0, tried.stdout + tried.stderr
