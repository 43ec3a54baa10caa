"""Memory that the kernel accounts to a container, in the files of both versions of cgroup."""

import subprocess
import types
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from tuneproof.lab.load.cgroup import CgroupMemory
from tuneproof.lab.load.waiting import VoidTrialError

if TYPE_CHECKING:
    from tuneproof.lab.topology.container import LabContainer

# These files contain the lines that are read, and others with similar names.
V2 = {
    "memory.current": "10000\n",
    "memory.stat": "anon 4000\nfile 1000\nkernel 3000\nanon_thp 7\nfile_mapped 8\n",
    "memory.events": "low 0\nhigh 0\nmax 6\noom 5\noom_kill 2\noom_group_kill 1\n",
}
V1 = {
    "memory.usage_in_bytes": "10000\n",
    "memory.stat": "cache 1500\nrss 4500\nrss_huge 7\ntotal_cache 8\ntotal_rss 9\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 1\noom_kill 3\n",
}
V2_FIGURES = CgroupMemory(usage_bytes=10000, kernel_bytes=5000, oom_kills=2)
V1_FIGURES = CgroupMemory(usage_bytes=10000, kernel_bytes=4000, oom_kills=3)


def container(folder: Path) -> "LabContainer":
    """Return a container with another folder in place of /sys/fs/cgroup; its shell is this machine's."""

    def run(command: list[str]) -> bytes:
        here = [part.replace("/sys/fs/cgroup", str(folder)) for part in command]
        return subprocess.run(here, check=True, stdout=subprocess.PIPE).stdout

    return cast("LabContainer", types.SimpleNamespace(run=run))


@pytest.mark.parametrize(
    ("below", "files", "figures"), [("", V2, V2_FIGURES), ("memory", V1, V1_FIGURES)], ids=["v2", "v1"]
)
def test_kernel_memory_is_the_usage_without_processes_and_page_cache(
    below: str, files: dict[str, str], figures: CgroupMemory, tmp_path: Path
) -> None:
    """Version 1 has a folder for each controller. The files of version 2 are missing there, which is not an error."""
    (tmp_path / below).mkdir(exist_ok=True)
    for name, text in files.items():
        (tmp_path / below / name).write_text(text, encoding="ascii")
    assert CgroupMemory.of(container(tmp_path)) == figures


def test_a_reading_that_the_engine_has_lost_voids_the_trial() -> None:
    """The command succeeds, so it must have printed the figure: the engine has lost the output."""
    lost = cast("LabContainer", types.SimpleNamespace(run=lambda _command: b""))
    with pytest.raises(VoidTrialError):
        CgroupMemory.of(lost)


def test_a_container_without_memory_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        CgroupMemory.of(container(tmp_path))


def test_the_number_of_oom_kills_is_zero_if_the_kernel_does_not_count_them() -> None:
    """Before Linux 4.13, memory.oom_control has no oom_kill line."""
    text = "".join(V1.values()).replace("oom_kill 3\n", "")
    assert CgroupMemory.from_text(text).oom_kills == 0


@pytest.mark.parametrize("missing", ["anon 4000\n", "file 1000\n"])
def test_a_missing_figure_is_an_error(missing: str) -> None:
    """With a zero instead, memory of processes or the page cache would count as the kernel's."""
    with pytest.raises(ValueError, match=r"neither cgroup v1 nor v2: \['"):
        CgroupMemory.from_text("".join(V2.values()).replace(missing, ""))
