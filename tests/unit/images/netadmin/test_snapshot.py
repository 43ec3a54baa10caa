"""What netadmin reads from /proc, as text into values."""

from pathlib import Path

import pytest

from images.netadmin.netadmin import snapshot


def test_the_cpu_model_is_the_first_ones() -> None:
    """On x86 every CPU has a line with its model's name."""
    cpuinfo = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: Xeon: Gold\n\nprocessor\t: 1\nmodel name\t: Other\n"
    assert snapshot._cpu_model(cpuinfo) == "Xeon: Gold"


def test_a_cpu_without_a_model_name_has_an_empty_one() -> None:
    """On arm64 there is no such line."""
    assert snapshot._cpu_model("processor\t: 0\nCPU part\t: 0xd0c\n") == ""


def test_sysctls_have_single_spaces_and_missing_ones_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel separates the parts of tcp_rmem with tabs, and shows not every sysctl in a namespace."""
    values = {"/proc/sys/net/ipv4/tcp_rmem": "4096\t131072\t6291456\n"}
    monkeypatch.setattr(Path, "exists", lambda path: str(path) in values)
    monkeypatch.setattr(Path, "read_text", lambda path, **_: values[str(path)])
    assert snapshot.sysctl("net.ipv4.tcp_rmem") == "4096 131072 6291456"
    assert snapshot.sysctl("net.core.somaxconn") is None


def test_a_snapshot_of_this_machine_has_what_the_library_reads() -> None:
    """The running kernel's files are in the format; backlogs are passed on as they came from the kernel."""
    taken = snapshot.take(listener_backlogs={8000: [511, 511]})
    assert taken.listener_backlogs == {8000: (511, 511)}
    low, default, high = taken.triple("net.ipv4.tcp_rmem")
    assert 0 < low <= default <= high
