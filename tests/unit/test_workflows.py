"""The workflows follow the project's own rules: pins, limits, permissions, a gate, valid commands.

These tests read the workflows as lines; `tox -e lint` checks that they are valid YAML for GitHub.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.places import CHECKOUT
from tuneproof.cli.main import COMMANDS
from tuneproof.lab.subject.versions import SUITES
from tuneproof.proof.depths import LOOKS

WORKFLOWS = sorted((CHECKOUT / ".github" / "workflows").glob("*.yml"))
STOCK_JOB = CHECKOUT / "tools" / "stock" / "job.sh"
ACTIONS = sorted((CHECKOUT / ".github" / "actions").glob("*/action.yml"))
PINNED = re.compile(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")


@dataclass(frozen=True, kw_only=True)
class Job:
    workflow: str  # the workflow's file name
    name: str  # the job's key below ``jobs``
    text: str  # the job's lines

    @property
    def called(self) -> bool:
        """Whether the job only calls another workflow, which sets its own time limits."""
        return re.search(r"^    uses: \./\.github/workflows/", self.text, re.MULTILINE) is not None

    def has(self, key: str) -> bool:
        """Return whether the job itself, and not one of its steps, has a key."""
        return re.search(rf"^    {key}:", self.text, re.MULTILINE) is not None


def jobs_of(path: Path) -> list[Job]:
    _, _, text = path.read_text(encoding="utf-8").partition("\njobs:\n")
    parts = re.split(r"^  ([\w-]+):\n", text, flags=re.MULTILINE)[1:]
    return [Job(workflow=path.name, name=name, text=body) for name, body in zip(parts[::2], parts[1::2], strict=True)]


def names_of(path: Path) -> str:
    return str(path.relative_to(CHECKOUT / ".github"))


def uses_of(path: Path) -> list[str]:
    return re.findall(r"\buses: (.+)", path.read_text(encoding="utf-8"))


def commands_of(path: Path) -> Iterator[str]:
    """Yield the command lines of ``./lab`` in a file, without comments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.strip().startswith("#")]
    yield from re.findall(r"(?<![\w.])\./lab ([^|;>\n]*)", "\n".join(lines))


ALL_JOBS = [job for path in WORKFLOWS for job in jobs_of(path)]
each_job = pytest.mark.parametrize("job", ALL_JOBS, ids=lambda job: f"{job.workflow}/{job.name}")
each_file = pytest.mark.parametrize("path", [*WORKFLOWS, *ACTIONS], ids=names_of)


def test_every_workflow_was_read() -> None:
    """If a job were not found, all tests below would pass without it."""
    assert {path.name: " ".join(job.name for job in jobs_of(path)) for path in WORKFLOWS} == {
        "ci.yml": "lint unit lab scenarios gate",
        "nightly.yml": "scenarios stock slow faults fuzz mutants gate site",
        "release.yml": "build try publish images audit-image",
        "scenarios.yml": "plan shard",
    }


@each_file
def test_external_actions_are_pinned_by_hash_with_their_version(path: Path) -> None:
    """A tag can move to other code, but a commit's hash cannot. The project's own actions come with the checkout."""
    uses = uses_of(path)
    assert uses
    assert [use for use in uses if not use.startswith("./.github/") and not PINNED.fullmatch(use)] == []


@each_file
def test_a_value_without_quotes_has_no_colon(path: Path) -> None:
    """A YAML parser would refuse the file; linters do not read actions that no workflow uses."""
    lines = (line.partition(" #")[0] for line in path.read_text(encoding="utf-8").splitlines())
    assert [line for line in lines if re.match(r"\s*(?:- )?[\w-]+: [^\"'|>\[{].*: ", line)] == []


def test_one_version_of_each_action_is_used_everywhere() -> None:
    """An update that misses a file would leave an old version there."""
    uses = {use for path in [*WORKFLOWS, *ACTIONS] for use in uses_of(path) if not use.startswith("./")}
    names = [use.partition("@")[0] for use in uses]
    assert sorted(names) == sorted(set(names))


@each_file
def test_our_own_actions_and_workflows_exist(path: Path) -> None:
    for use in uses_of(path):
        if use.startswith("./"):
            place = CHECKOUT / use
            assert place.is_file() or (place / "action.yml").is_file(), use


MORE_RIGHTS = {
    ("nightly.yml", "site"): ["contents: read", "pages: write", "id-token: write"],
    ("release.yml", "publish"): ["id-token: write", "attestations: write"],
    ("release.yml", "images"): ["contents: read", "packages: write"],
    ("release.yml", "audit-image"): ["contents: read", "packages: write"],
}
"""The jobs that publish; all others only need to read the checkout."""


@each_job
def test_a_job_has_no_permission_that_it_does_not_need(job: Job) -> None:
    assert job.has("permissions")
    _, _, rest = job.text.partition("    permissions:\n")
    rights = [line.split("#")[0].strip() for line in rest.splitlines() if line.startswith("      ")]
    granted = [right for right in rights if re.fullmatch(r"[a-z-]+: (read|write)", right)]
    assert granted == MORE_RIGHTS.get((job.workflow, job.name), ["contents: read"])


@each_job
def test_a_job_has_a_time_limit(job: Job) -> None:
    assert job.has("timeout-minutes") != job.called


@pytest.mark.parametrize("name", ["ci.yml", "nightly.yml"])
def test_the_gate_waits_for_every_other_job_and_is_never_skipped(name: str) -> None:
    """A skipped check counts as passed, and a job that is missing from the gate's needs could fail unnoticed."""
    jobs = jobs_of(CHECKOUT / ".github" / "workflows" / name)
    at = [job.name for job in jobs].index("gate")
    others, gate, after = jobs[:at], jobs[at], jobs[at + 1 :]
    # Jobs that publish run after the gate, and only if it succeeds.
    assert all("\n    needs: gate\n" in job.text and not job.has("if") for job in after)
    needs = re.search(r"^    needs: \[([\w, -]+)\]$", gate.text, re.MULTILINE)
    assert needs is not None
    assert needs[1].split(", ") == [job.name for job in others]
    assert "\n    if: always()" in gate.text
    assert "NEEDS: ${{ toJSON(needs) }}" in gate.text


def test_every_command_that_ci_calls_exists() -> None:
    """Otherwise, only the next push would show that a command was renamed."""
    lines = [line for path in [*WORKFLOWS, *ACTIONS, STOCK_JOB] for line in commands_of(path)]
    used = {line.split()[0] for line in lines}
    assert used == {"clean", "compare", "doctor", "matrix", "report", "run", "test"}
    assert used <= set(COMMANDS)


def test_each_depth_that_ci_uses_exists() -> None:
    depths = {
        job.workflow: depth for job in ALL_JOBS for depth in re.findall(r"^      depth: (\w+)$", job.text, re.MULTILINE)
    }
    assert depths == {"ci.yml": "quick", "nightly.yml": "full"}
    assert set(depths.values()) <= set(LOOKS)


def test_results_from_every_runner_image_are_merged() -> None:
    """A runner image that is not merged would be missing from the report unnoticed."""
    shard = (CHECKOUT / ".github" / "workflows" / "scenarios.yml").read_text(encoding="utf-8")
    measured = re.search(r"runner: \[([^\]]+)\]", shard)
    assert measured is not None
    merge = (CHECKOUT / ".github" / "actions" / "merge" / "action.yml").read_text(encoding="utf-8")
    merged = re.findall(r"for runner in ([^;]+);", merge)
    assert merged == [measured[1].replace(",", "")] * len(merged)
    assert merged


def test_tox_has_an_environment_for_each_version_of_nginx() -> None:
    """``tox -e scenarios-nginx130`` tests the claims on nginx 1.30."""
    text = (CHECKOUT / "tox.ini").read_text(encoding="utf-8")
    versions = re.findall(r"^    nginx(\d+): pytest tests/scenarios --nginx ([\d.]+) ", text, re.MULTILINE)
    assert versions == [(version.replace(".", ""), version) for version in SUITES]


def test_linters_are_pinned_with_hashes() -> None:
    folder = CHECKOUT / ".ci" / "tools"
    wanted = (folder / "requirements.in").read_text(encoding="utf-8").split()
    lock = (folder / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^(\S+==\S+) \\\n    --hash=sha256:[0-9a-f]{64}", lock, re.MULTILINE)
    assert pins == wanted
    assert re.search(r"^github\.com/rhysd/actionlint v\S+ h1:", (folder / "go.sum").read_text(), re.MULTILINE)
