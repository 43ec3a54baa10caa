"""The snapshot of a machine's CPUs and sysctls, read from /proc and /sys."""

import os
from pathlib import Path

import pytest

from images.netadmin.netadmin import snapshot
from tuneproof.lab.protocol.cpus import Cpus, cpus_of


def test_the_cpu_model_is_taken_from_the_first_cpu(tmp_path: Path) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    text = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon: Gold\n\nprocessor\t: 1\nmodel name\t: Other\n"
    cpuinfo.write_text(text, encoding="utf-8")
    assert snapshot._after_name(cpuinfo, "model name") == "Xeon: Gold"
    assert snapshot._after_name(cpuinfo, "CPU part") == "", "a missing line should give an empty text"


def test_nodes_and_cores_are_reported_if_the_kernel_shows_them(tmp_path: Path) -> None:
    """A node may have only memory, and a core with one CPU is left out. Some kernels show no nodes or cores."""
    files = {
        "node/node0/cpulist": "0-1,4",
        "node/node1/cpulist": "2-3",
        "node/node2/cpulist": "",
        "cpu/cpu0/topology/thread_siblings_list": "0,4",
        "cpu/cpu4/topology/thread_siblings_list": "0,4",
        "cpu/cpu1/topology/thread_siblings_list": "1",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n", encoding="ascii")
    status = tmp_path / "status"
    status.write_text("Name:\tpython3\nCpus_allowed:\t1f\nCpus_allowed_list:\t0-4\n", encoding="ascii")
    seen = snapshot._cpus(tmp_path, status=status)
    assert seen == Cpus(allowed="0-4", nodes=("0-1,4", "2-3"), cores=("0,4",))
    assert snapshot._cpus(tmp_path / "none", status=status) == Cpus(allowed="0-4")


def test_sysctls_have_single_spaces_and_missing_ones_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel separates the parts of tcp_rmem with tabs. Most network namespaces lack some sysctls."""
    values = {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"}
    monkeypatch.setattr(Path, "exists", lambda path: str(path) in values)
    monkeypatch.setattr(Path, "read_text", lambda path, **_: values[str(path)])
    assert snapshot.sysctl("net.ipv4.tcp_rmem") == "4096 131072 6291456"
    assert snapshot.sysctl("net.core.somaxconn") is None


def test_a_snapshot_of_this_machine_is_complete() -> None:
    taken = snapshot.take(listener_backlogs={8000: [511, 511]})
    assert taken.listener_backlogs == {8000: (511, 511)}
    assert cpus_of(taken.cpus.allowed) == sorted(os.sched_getaffinity(0))
    low, default, high = taken.triple("net.ipv4.tcp_rmem")
    assert 0 < low <= default <= high
