"""The doctor's verdicts on facts about the host and its engine."""

import pytest

from tuneproof.cli import doctor
from tuneproof.cli.checks import Check
from tuneproof.cli.doctor import GIB

Verdict = tuple[str, str]
LINUX = {"Version": "27", "ApiVersion": "1.47"}


def verdict(check: Check) -> Verdict:
    return check.state, check.value


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (doctor.check_engine({**LINUX, "Os": "linux"}, "unix:///x"), ("ok", "Docker 27, API 1.47, at unix:///x")),
        (
            doctor.check_engine({**LINUX, "Os": "linux", "Components": [{"Name": "Podman Engine"}]}, "x"),
            ("ok", "Podman 27, API 1.47, at x"),
        ),
        # Docker Desktop can be switched to Windows containers.
        (doctor.check_engine({**LINUX, "Os": "windows"}, "x"), ("missing", "Docker 27, API 1.47, at x")),
        (doctor.check_storage("overlay2"), ("ok", "overlay2")),
        (doctor.check_storage("vfs"), ("warn", "vfs")),
        (doctor.check_cgroups({"CgroupVersion": "2", "CPUSet": True, "MemoryLimit": True}), ("ok", "v2")),
        # Without the cpuset or the memory controller, an engine cannot pin or limit containers.
        (doctor.check_cgroups({"CgroupVersion": "2", "CPUSet": False, "MemoryLimit": True}), ("missing", "v2")),
        (doctor.check_cgroups({"CgroupVersion": "2", "CPUSet": True, "MemoryLimit": False}), ("missing", "v2")),
        (doctor.check_cgroups({"CgroupVersion": "2", "MemoryLimit": True}, ["cpuset", "cpu"]), ("ok", "v2")),
        (doctor.check_cgroups({"CgroupVersion": "2", "MemoryLimit": True}, ["cpu"]), ("missing", "v2")),
        (doctor.check_package("firewall", "nftables", "/usr/sbin/nft", without="is mute"), ("ok", "/usr/sbin/nft")),
        (doctor.check_package("firewall", "nftables", None, without="is mute"), ("missing", "no nftables")),
        (doctor.check_forwarding("-P FORWARD DROP\n-A FORWARD -j X\n", "1\n"), ("missing", "dropped")),
        (doctor.check_forwarding("-P FORWARD DROP\n", "0\n"), ("ok", "free")),
        (doctor.check_forwarding("-P FORWARD ACCEPT\n", "1\n"), ("ok", "free")),
        (doctor.check_runtime("crun", both_cgroups=True), ("missing", "crun")),
        (doctor.check_runtime("crun", both_cgroups=False), ("ok", "crun")),
        (doctor.check_runtime("runc", both_cgroups=True), ("ok", "runc")),
        (doctor.check_cpus(1), ("missing", "1")),
        (doctor.check_cpus(2), ("ok", "2")),
        (doctor.check_memory(2 * GIB), ("ok", "2.0 GiB")),
        (doctor.check_memory(2 * GIB - 1), ("warn", "2.0 GiB")),
        (doctor.check_disk(4 * GIB, "/d"), ("ok", "4.0 GiB free at /d")),
        (doctor.check_disk(3 * GIB, "/d"), ("warn", "3.0 GiB free at /d")),
        (doctor.check_disk(GIB // 2, "/d"), ("missing", "0.5 GiB free at /d")),
        (doctor.check_disk(None, "/d"), ("warn", "unknown")),
        (doctor.check_netem(("native", "")), ("ok", "native")),
        (doctor.check_netem(("wire", "")), ("ok", "wire")),
        (doctor.check_netem(("none", "no such module")), ("warn", "none")),
        (doctor.check_tcp_rmem("4096\t131072\t6291456\n"), ("ok", "4096 131072 6291456 bytes")),
        (doctor.check_tcp_rmem("4096 87380 1310719"), ("warn", "4096 87380 1310719 bytes")),
        (doctor.check_tcp_rmem("4096 87380 1310720"), ("ok", "4096 87380 1310720 bytes")),
    ],
)
def test_these_checks_have_advice_unless_their_state_is_ok(check: Check, expected: Verdict) -> None:
    """A warning without advice would not help."""
    assert verdict(check) == expected
    assert bool(check.advice) is (check.state != "ok")


@pytest.mark.parametrize(
    ("present", "built", "registry_error", "bootstrap_error", "expected"),
    [
        ([], False, None, "no apt", ("ok", "a registry answers")),
        ([], False, "refused", None, ("ok", "no registry answers; mmdebstrap builds them here")),
        (["debian:bookworm-slim"], False, "refused", "no apt", ("warn", "only debian:bookworm-slim")),
        ([], True, "refused", "no apt", ("warn", "not needed: the lab's images exist already")),
        ([], False, "refused", "no apt", ("missing", "none")),
    ],
)
def test_base_images_come_from_a_registry_or_a_bootstrap_or_already_exist(
    present: list[str], *, built: bool, registry_error: str | None, bootstrap_error: str | None, expected: Verdict
) -> None:
    check = doctor.check_bases(present, built=built, registry_error=registry_error, bootstrap_error=bootstrap_error)
    assert verdict(check) == expected
    assert ("refused" in check.advice) is (expected[0] != "ok")


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ("cpu  150 0 10 130 0 0 0 10 99 99", ("warn", "5.0%")),
        ("cpu  150 0 10 136 0 0 0 4 0 0", ("ok", "2.0%")),
        ("cpu  100 0 0 0 0 0 0 0 0 0", ("ok", "0.0%")),
    ],
)
def test_steal_is_a_share_of_the_elapsed_time(after: str, expected: Verdict) -> None:
    """Guest time is not counted twice, and without elapsed time there is no steal."""
    assert verdict(doctor.check_steal("cpu  100 0 0 0 0 0 0 0 0 0", after)) == expected
