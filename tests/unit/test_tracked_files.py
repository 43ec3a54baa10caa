"""Files in the repository that Git ignores: tools that follow .gitignore, such as ruff, would not check them."""

import subprocess

import pytest

from tests.support.places import CHECKOUT


def test_no_tracked_file_is_ignored() -> None:
    if not (CHECKOUT / ".git").exists():
        pytest.skip("this copy is not a Git checkout")
    command = ["git", "ls-files", "--cached", "--ignored", "--exclude-per-directory=.gitignore"]
    assert subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True).stdout == ""
