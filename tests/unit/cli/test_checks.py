"""The doctor's judgement, on facts that are written down here."""

import pytest

from tuneproof.cli import checks
from tuneproof.cli.checks import GIB, MIB, Check

Verdict = tuple[str, str]


def verdict(check: Check) -> Verdict:
    """Return what decides, and what was found."""
    return check.state, check.value


def test_an_engine_of_linux_containers_is_fine() -> None:
    """Version, API and address are told."""
    check = checks.check_engine({"Version": "20.10.24", "ApiVersion": "1.41", "Os": "linux"}, "unix:///x")
    assert verdict(check) == ("ok", "Docker 20.10.24, API 1.41, at unix:///x")


def test_an_engine_of_windows_containers_proves_nothing() -> None:
    """Docker Desktop can be switched to them."""
    check = checks.check_engine({"Version": "27", "ApiVersion": "1.47", "Os": "windows"}, "npipe://x")
    assert check.state == "missing"


@pytest.mark.parametrize(
    ("check", "expected"),
    [
        (checks.check_storage("overlay2"), ("ok", "overlay2")),
        (checks.check_storage("vfs"), ("warn", "vfs")),
        (checks.check_cpus(1), ("missing", "1")),
        (checks.check_cpus(2), ("ok", "2")),
        (checks.check_memory(2 * GIB), ("ok", "2.0 GiB")),
        (checks.check_memory(2 * GIB - 1), ("warn", "2.0 GiB")),
        (checks.check_disk(4 * GIB, "/d"), ("ok", "4.0 GiB free at /d")),
        (checks.check_disk(3 * GIB, "/d"), ("warn", "3.0 GiB free at /d")),
        (checks.check_disk(512 * MIB, "/d"), ("missing", "0.5 GiB free at /d")),
        (checks.check_disk(None, "/d"), ("warn", "unknown")),
        (checks.check_netem(("native", "")), ("ok", "native")),
        (checks.check_netem(("wire", "")), ("ok", "wire")),
        (checks.check_netem(("none", "")), ("warn", "none")),
        (checks.check_congestion_control("bbr"), ("ok", "bbr")),
        (checks.check_tcp_rmem("4096\t131072\t6291456\n"), ("ok", "4096 131072 6291456 bytes")),
        (checks.check_tcp_rmem("4096 87380 655359"), ("warn", "4096 87380 655359 bytes")),
        (checks.check_tcp_rmem("4096 87380 655360"), ("ok", "4096 87380 655360 bytes")),
    ],
)
def test_a_fact_at_the_bound_is_judged_as_documented(check: Check, expected: Verdict) -> None:
    """One more or one less changes the state."""
    assert verdict(check) == expected


def test_advice_accompanies_whatever_is_not_fine() -> None:
    """A warning without a reason helps nobody."""
    assert checks.check_storage("overlay2").advice == ""
    assert checks.check_cpus(1).advice
    assert checks.check_memory(GIB).advice
    assert checks.check_netem(("none", "no such module")).advice == "no such module"


@pytest.mark.parametrize(
    ("info", "state", "advice"),
    [
        ({"CgroupVersion": "2", "CPUSet": True, "MemoryLimit": True}, "ok", ""),
        ({"CgroupVersion": "2", "CPUSet": False, "MemoryLimit": True}, "missing", "no cpuset controller"),
        ({"CgroupVersion": "2", "CPUSet": False, "MemoryLimit": False}, "missing", "no cpuset and no memory"),
    ],
)
def test_containers_must_be_placed_and_limited(info: dict[str, object], state: str, advice: str) -> None:
    """A rootless engine without delegated controllers can do neither."""
    check = checks.check_cgroups(info)
    assert (check.state, check.value) == (state, "v2")
    assert check.advice.startswith(advice)


@pytest.mark.parametrize(
    ("present", "registry_error", "bootstrap_error", "expected"),
    [
        ([], None, "no apt", ("ok", "a registry answers")),
        ([], "refused", None, ("ok", "no registry answers; mmdebstrap makes them here")),
        (["debian:bookworm-slim"], "refused", "no apt", ("warn", "only debian:bookworm-slim")),
        ([], "refused", "no apt", ("missing", "none")),
    ],
)
def test_base_images_come_from_a_registry_a_bootstrap_or_are_there(
    present: list[str], registry_error: str | None, bootstrap_error: str | None, expected: Verdict
) -> None:
    """Any of the three is enough to begin."""
    check = checks.check_bases(present, registry_error=registry_error, bootstrap_error=bootstrap_error)
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
def test_steal_is_its_share_of_the_time_that_passed(after: str, expected: Verdict) -> None:
    """Guest time is not counted twice, and no time is no steal."""
    assert verdict(checks.check_steal("cpu  100 0 0 0 0 0 0 0 0 0", after)) == expected
