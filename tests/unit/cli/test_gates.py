"""The action and the hook for other repositories: these tests run the commands in their files."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sysconfig
import textwrap
import venv
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from tests.support.places import CHECKOUT

ACTION: Final = ".github/actions/audit/action.yml"
BAD: Final = "worker_processes 2; events { multi_accept on; }\nhttp { server { listen 80; } }\n"
_PACKAGE: Final = ("pyproject.toml", "README.md", "LICENSE")


def step(name: str) -> str:
    text = (CHECKOUT / ACTION).read_text(encoding="utf-8")
    found = re.search(rf"- name: {name}\n.*?      run: (?:\|\n((?:        [^\n]*\n)+)|([^\n]*)\n)", text, re.DOTALL)
    assert found is not None
    return textwrap.dedent(found[1]) if found[1] else str(found[2])


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Install the package with the action's own step; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("action")
    checkout = folder / "checkout"
    (checkout / ACTION).parent.mkdir(parents=True)
    for name in _PACKAGE:
        shutil.copy(CHECKOUT / name, checkout)
    shutil.copytree(CHECKOUT / "tuneproof", checkout / "tuneproof", ignore=shutil.ignore_patterns("__pycache__"))
    venv.create(folder / "venv", symlinks=True)
    inner = sysconfig.get_path("purelib", vars={"base": str(folder / "venv"), "platbase": str(folder / "venv")})
    (Path(inner) / "this.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    found = {
        "PATH": f"{folder / 'venv/bin'}:{os.environ['PATH']}",
        "GITHUB_ACTION_PATH": str((checkout / ACTION).parent),
        # Unlike on a runner, pip uses no index.
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_COMPILE": "1",
        "CONFIGURATION": ".",
        "FAIL_ON": "harmful",
        **dict.fromkeys(("NGINX", "BASELINE", "SARIF"), ""),
    }
    done = run(step("Install"), found, folder)
    assert done.returncode == 0, done.stderr
    return found


def run(script: str, environment: Mapping[str, str], folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a script as GitHub's runner does with bash as the shell."""
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_action_fails_on_new_findings(environment: Mapping[str, str], tmp_path: Path) -> None:
    """Findings become annotations, and SARIF if requested; known findings in a baseline do not fail the action."""
    (tmp_path / "nginx.conf").write_text(BAD, encoding="utf-8")
    done = run(step("Audit"), {**environment, "SARIF": "found.sarif"}, tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("::error file=nginx.conf,line=1,title=accepting/")
    assert json.loads((tmp_path / "found.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert run(step("Audit"), {**environment, "FAIL_ON": ""}, tmp_path).returncode == 0
    assert run(step("Audit"), {**environment, "FAIL_ON": "expired", "NGINX": "1.30"}, tmp_path).returncode == 0
    written = run("tuneproof audit --write-baseline known.json .", environment, tmp_path)
    assert written.returncode == 0, written.stderr
    passed = run(step("Audit"), {**environment, "BASELINE": "known.json"}, tmp_path)
    assert (passed.returncode, passed.stdout) == (0, "")


def test_the_action_fails_on_files_that_nginx_refuses(environment: Mapping[str, str], tmp_path: Path) -> None:
    (tmp_path / "nginx.conf").write_text("events { }\nhttp {\n", encoding="utf-8")
    assert run(step("Audit"), {**environment, "FAIL_ON": ""}, tmp_path).returncode == 2


def test_the_hook_audits_the_repository(environment: Mapping[str, str], tmp_path: Path) -> None:
    hook = (CHECKOUT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entry, args = (re.search(rf"^  {name}: (.*)$", hook, re.MULTILINE) for name in ("entry", "args"))
    assert entry is not None
    assert args is not None
    command = shlex.join([*shlex.split(entry[1]), *json.loads(args[1])])
    (tmp_path / "deploy").mkdir()
    (tmp_path / "deploy/site.conf").write_text("server { send_timeout 1; }\n", encoding="utf-8")
    assert run(command, environment, tmp_path).returncode == 1
    (tmp_path / "deploy/site.conf").write_text("server { listen 80; }\n", encoding="utf-8")
    assert run(command, environment, tmp_path).returncode == 0


def test_docs_show_the_action_and_the_hook() -> None:
    page = (CHECKOUT / "docs/ci.md").read_text(encoding="utf-8")
    assert "/.github/actions/audit@" in page
    assert "id: tuneproof-audit" in page
