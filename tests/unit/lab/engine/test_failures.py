"""The project's errors for failures of the engine's client, and the facts about the engine's host."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import docker
import pytest
import requests
import urllib3
from docker.errors import APIError, DockerException, ImageNotFound

from tuneproof.errors import EngineUnavailableError, LabError
from tuneproof.lab.engine.failures import engine_errors
from tuneproof.lab.engine.host import engine_facts, netem_support, security_module

RELEASE = Path("/proc/sys/kernel/osrelease").read_text(encoding="ascii").strip()


@pytest.mark.parametrize(
    ("error", "where"),
    [
        (requests.ConnectionError("Connection aborted.\nmore of it"), "Connection aborted."),
        (requests.ReadTimeout("Read timed out."), "Read timed out."),
        (urllib3.exceptions.ProtocolError("Connection aborted."), "Connection aborted."),
        (ConnectionAbortedError(), "ConnectionAbortedError"),
    ],
    ids=["requests", "timeout", "urllib3", "socket-without-message"],
)
def test_transport_errors_of_every_layer_mean_an_unavailable_engine(error: Exception, where: str) -> None:
    with pytest.raises(EngineUnavailableError) as caught, engine_errors("starting backend"):
        raise error
    assert caught.value.what == "the Docker engine stopped answering while starting backend"
    assert caught.value.where == where
    assert caught.value.remedy
    assert caught.value.__cause__ is error


def test_a_new_client_of_an_unavailable_engine_gives_the_same_error(tmp_path: Path) -> None:
    """The constructor in docker-py requests the version, and wraps the transport's error in its own."""
    with pytest.raises(EngineUnavailableError, match="stopped answering while preparing"), engine_errors("preparing"):
        docker.DockerClient(base_url=f"unix://{tmp_path}/none.sock")


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (APIError("500 Server Error", explanation="port is already allocated"), "port is already allocated"),
        (APIError("500 Server Error"), "500 Server Error"),
        (ImageNotFound("404", explanation="No such image"), "No such image"),
        (DockerException("Invalid response"), "Invalid response"),
    ],
    ids=["explained", "bare", "not-found", "other"],
)
def test_the_engines_refusals_are_reported_in_its_own_words(error: Exception, message: str) -> None:
    """The engine answers, so the exit status is not that of an unavailable engine."""
    with pytest.raises(LabError, match=f"^starting backend: {message}") as caught, engine_errors("starting backend"):
        raise error
    assert caught.value.exit_status == 1


@pytest.mark.parametrize("kind", [APIError, DockerException], ids=["start", "build"])
@pytest.mark.parametrize(
    ("message", "remedy"),
    [
        (
            "AppArmor enabled on system but the docker-default profile could not be loaded: apparmor_parser: not found",
            "apt-get install apparmor",
        ),
        ("crun: controller `cpuset` is not available under /sys/fs/cgroup/user.slice: OCI runtime error", "Delegate="),
    ],
    ids=["apparmor", "delegation"],
)
def test_a_refusal_that_would_affect_every_container_ends_the_run(
    kind: type[Exception], message: str, remedy: str
) -> None:
    with (
        pytest.raises(EngineUnavailableError, match="starts no container") as caught,
        engine_errors("starting backend"),
    ):
        raise kind(message)
    assert caught.value.ends_run
    assert remedy in caught.value.remedy


def test_other_errors_pass_through() -> None:
    """A bug in the program is not an engine failure."""
    with pytest.raises(KeyError), engine_errors("starting backend"):
        raise KeyError("x")


@pytest.mark.parametrize("listing", ["modules.builtin", "modules.dep"])
@pytest.mark.parametrize("suffix", ["", ".xz"])
def test_a_kernel_that_lists_netem_shapes_links_itself(listing: str, suffix: str, tmp_path: Path) -> None:
    folder = tmp_path / RELEASE
    folder.mkdir()
    (folder / listing).write_text(f"kernel/net/sched/sch_netem.ko{suffix}:\n", encoding="utf-8")
    state, reason = netem_support(modules_root=tmp_path, tun=tmp_path / "tun")
    assert (state, reason) == ("native", f"sch_netem is listed in {folder / listing}")


def test_without_netem_a_tun_device_allows_a_user_mode_kernel(tmp_path: Path) -> None:
    folder, tun = tmp_path / RELEASE, tmp_path / "tun"
    folder.mkdir()
    (folder / "modules.dep").write_text("kernel/net/sched/act_sch_netem.ko:\n", encoding="utf-8")
    unlisted = f"kernel {RELEASE} lists no sch_netem"
    assert netem_support(modules_root=tmp_path, tun=tun) == ("none", f"{unlisted}, and there is no {tun}")
    tun.touch()
    wire = ("wire", f"{unlisted}; {tun} exists for a user-mode kernel")
    assert netem_support(modules_root=tmp_path, tun=tun) == netem_support(modules_root=folder, tun=tun) == wire


def test_the_facts_about_the_host_come_from_the_engine_and_not_from_this_machine() -> None:
    """An engine that does not report its cgroup version has version 1."""
    info = {
        "KernelVersion": "6.1",
        "OperatingSystem": "Debian",
        "Architecture": "x86_64",
        "NCPU": 64,
        "MemTotal": 1 << 34,
        "Driver": "overlay2",
        "SecurityOptions": ["name=seccomp,profile=default", "name=apparmor"],
    }
    version = {"Version": "20.10", "ApiVersion": "1.41"}
    client = cast("docker.DockerClient", SimpleNamespace(info=lambda: info, version=lambda: version))
    assert engine_facts(client) == {
        "kernel": "6.1",
        "operating_system": "Debian",
        "architecture": "x86_64",
        "cpu_count": 64,
        "memory_bytes": 1 << 34,
        "engine": "20.10",
        "engine_api": "1.41",
        "storage_driver": "overlay2",
        "cgroup_version": "1",
        "security_module": "AppArmor",
    }


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["name=seccomp,profile=builtin", "name=selinux", "name=cgroupns"], "SELinux"),
        (["name=seccomp,profile=builtin"], "no security module"),
        ([], "no security module"),
    ],
)
def test_an_engine_without_apparmor_reports_another_security_module_or_none(options: list[str], named: str) -> None:
    """The filter for system calls, seccomp, is not a security module."""
    assert security_module({"SecurityOptions": options}) == named
