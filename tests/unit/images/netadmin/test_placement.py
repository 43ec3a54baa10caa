"""The CPUs that a netadmin container stays on."""

import os
import subprocess
import sys
import tempfile

import pytest

from images.netadmin.netadmin.placement import stay_on


def test_running_processes_are_moved() -> None:
    allowed = os.sched_getaffinity(0)
    one = {min(allowed)}
    script = (
        "import os, subprocess, sys, pathlib\n"
        "from images.netadmin.netadmin.placement import stay_on\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        "folder = pathlib.Path(sys.argv[1]) / str(child.pid) / 'task' / str(child.pid)\n"
        "folder.mkdir(parents=True)\n"
        f"stay_on({one}, processes=pathlib.Path(sys.argv[1]))\n"
        "print(sorted(os.sched_getaffinity(child.pid)), sorted(os.sched_getaffinity(0)))\n"
        "child.kill()\n"
        "child.wait()\n"
    )
    assert _output(script) == f"{sorted(one)} {sorted(one)}\n"


def _output(script: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run([sys.executable, "-c", script, folder], capture_output=True, check=True, text=True).stdout


def test_missing_cpus_are_an_error() -> None:
    """Nothing would run anywhere."""
    with pytest.raises(OSError, match="Invalid argument"):
        stay_on({4095})
