"""Runs pytest as a child process, and finds the resources that it leaves behind."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import docker

from tests.support.places import CHECKOUT
from tuneproof.cli.suite import FEWER_PLUGINS
from tuneproof.lab.engine.labels import LEASE, PROJECT_FILTER, SESSION

# One claim with one arm: the shortest run with all steps.
SHORTEST_RUN: Final = ("tests/scenarios", "-k", "loaded_worker_stalls")
# A claim that is decided by counting, without the loop probe, so a busy host cannot prevent its verdict.
COUNTED_RUN: Final = ("tests/scenarios", "-k", "long_backlog_spares_connects")
_STARTED_FOR: Final = "TUNEPROOF_TEST_RESULTS"
# A limit for steps that take seconds: only a hang reaches it, even on a busy machine.
GONE_WITHIN_S: Final = 120.0


def start_pytest(
    *arguments: str,
    results: Path,
    environment: Mapping[str, str] | None = None,
    interpreter: Path = Path(sys.executable),
    **options: Any,
) -> Any:
    """Start a child with its output and errors in one text stream."""
    return subprocess.Popen(
        [
            interpreter,
            "-m",
            "pytest",
            *FEWER_PLUGINS,
            "-p",
            "no:cacheprovider",
            "--results",
            str(results),
            *arguments,
        ],
        cwd=CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, **(environment or {}), _STARTED_FOR: str(results)},
        **options,
    )


def resources_of(client: docker.DockerClient, pid: int) -> list[str]:
    """Return the containers, networks and volumes of a process's session."""
    api = client.api
    filters = {"label": PROJECT_FILTER}
    found = [(item["Labels"], f"container {item['Names'][0]}") for item in api.containers(all=True, filters=filters)]
    found += [(item["Labels"], f"network {item['Name']}") for item in api.networks(filters=filters)]
    found += [(item["Labels"], f"volume {item['Name']}") for item in api.volumes(filters=filters)["Volumes"] or []]
    return [name for labels, name in found if _is_of(labels, pid)]


def leases_held(client: docker.DockerClient, pid: int) -> int:
    found = client.api.containers(filters={"label": LEASE})
    return sum(_is_of(item["Labels"], pid) for item in found)


def _is_of(labels: Mapping[str, str], pid: int) -> bool:
    return labels.get(SESSION, "").startswith(f"{pid}-")


def reapers(results: Path) -> set[int]:
    """Return the process ids of the reapers of children with this results folder."""
    found = set()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command, environment = ((entry / name).read_bytes().split(b"\0") for name in ("cmdline", "environ"))
            except OSError:
                continue
            if b"tuneproof.lab.engine.session" in command and f"{_STARTED_FOR}={results}".encode() in environment:
                found.add(int(entry.name))
    return found


def wait_until(is_true: Callable[[], bool], *, within_s: float) -> float:
    """Wait until ``is_true`` returns true; return how many seconds it took (TimeoutError: not within ``within_s``)."""
    began_s = time.monotonic()
    while not is_true():
        if time.monotonic() - began_s > within_s:
            raise TimeoutError(f"not within {within_s:g} s")
        time.sleep(0.2)
    return time.monotonic() - began_s


def measures_beyond(child: Any, block: int, *, results: Path) -> bool:
    """Wait until a child has recorded a trial of the round after ``block``; return False if its run ends first."""
    while child.poll() is None:
        journals = [path.read_text(encoding="utf-8") for path in results.glob("*/trials.jsonl")]
        if any(f'"block": {block + 1}' in journal for journal in journals):
            return True
        time.sleep(0.05)
    return False
