"""The doctor with an engine that only answers queries, and without an engine."""

import os
import time
from collections.abc import Callable
from datetime import date
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest
import requests

from tests.support.command_line import Ended, Lab
from tuneproof.cli import doctor
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine import commands
from tuneproof.lab.engine.reach import NoLocalEngineError
from tuneproof.lab.engine.updates import Updates
from tuneproof.lab.subject.images import role_images, subject_images
from tuneproof.lab.subject.versions import DEFAULT_VERSION

INFO = {
    "Driver": "overlay2",
    "CgroupVersion": "2",
    "CPUSet": True,
    "MemoryLimit": True,
    "NCPU": 2,
    "MemTotal": 8 << 30,
    "DockerRootDir": "/",
}
Examined = Callable[..., Ended]
"""Runs the doctor with this function to connect to an engine; returns the doctor's status and output."""


def engine(**changes: object) -> Any:
    """Return a client for an engine with these facts; a registry answers, too."""
    return SimpleNamespace(
        info=lambda: {**INFO, **changes},
        version=lambda: {"Version": "28.0", "ApiVersion": "1.48", "Os": "linux"},
        images=SimpleNamespace(get_registry_data=lambda _: None),
        api=SimpleNamespace(images=list),
        close=lambda: None,
    )


def refusing(error: Exception) -> Callable[..., NoReturn]:
    def call(*_arguments: object) -> NoReturn:
        raise error

    return call


@pytest.fixture
def examined(monkeypatch: pytest.MonkeyPatch, lab: Lab) -> Examined:
    """Run the doctor on a quiet host where no engine was chosen."""
    for name in ("DOCKER_HOST", "DOCKER_CONTEXT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(doctor, "netem_support", lambda: ("native", ""))
    monkeypatch.setattr(doctor, "STEAL_SAMPLE_S", 0)
    monkeypatch.setattr(doctor, "package_lists", lambda _client, images: images)
    monkeypatch.setattr(doctor, "updates_for", lambda _packages, _suite: None)
    monkeypatch.setattr("shutil.disk_usage", lambda _: SimpleNamespace(free=8 << 30))

    def ask(connect: Callable[[], Any] = engine, *, may_start: bool = False) -> Ended:
        monkeypatch.setattr(doctor, "connect", connect)
        monkeypatch.setattr(doctor, "may_start_engine", lambda _: may_start)
        return lab("doctor")

    return ask


def test_a_host_that_lacks_nothing_gets_status_0(examined: Examined) -> None:
    status, out, _ = examined()
    states, names = zip(*(line.split()[:2] for line in out.splitlines()), strict=True)
    assert (status, set(states) <= {"ok", "warn"}) == (0, True)
    assert " ".join(names) == "engine storage cgroups CPUs memory disk images base netem congestion tcp_rmem steal"


def test_a_users_engine_may_use_the_controllers_delegated_to_its_user(
    examined: Examined, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Podman reports the controllers of its own cgroup, to which systemd delegates only those in use."""
    socket = tmp_path / "podman.sock"
    socket.touch()
    monkeypatch.setenv("DOCKER_HOST", f"unix://{socket}")
    monkeypatch.setattr(doctor, "CGROUPS", tmp_path)
    user = socket.stat().st_uid
    delegated = tmp_path / f"user.slice/user-{user}.slice/user@{user}.service/cgroup.controllers"
    delegated.parent.mkdir(parents=True)
    rootless = partial(engine, SecurityOptions=["name=rootless"], CPUSet=False)
    delegated.write_text("cpu memory pids\n", encoding="ascii")
    status, out, _ = examined(rootless)
    assert (status, "Delegate=cpu cpuset" in out) == (1, True)
    delegated.write_text("cpuset cpu memory pids\n", encoding="ascii")
    status, out, _ = examined(rootless)
    assert (status, "Delegate" in out) == (0, False)


@pytest.mark.parametrize(("parser", "status"), [("/sbin/apparmor_parser", 0), (None, 1)], ids=["found", "missing"])
def test_a_kernel_with_apparmor_needs_its_parser(
    examined: Examined, monkeypatch: pytest.MonkeyPatch, parser: str | None, status: int
) -> None:
    """The engine needs the parser to load its profile, and cannot start containers without it.

    A missing requirement leads to status 1, and does not hide other lines.
    """
    find = commands.find
    monkeypatch.setattr(commands, "find", lambda name: parser if name == "apparmor_parser" else find(name))
    found, out, _ = examined(lambda: engine(SecurityOptions=["name=apparmor", "name=seccomp,profile=default"]))
    (line,) = (line for line in out.splitlines() if "AppArmor" in line)
    assert (found, "apt-get install apparmor" in line) == (status, status == 1)
    assert "tcp_rmem" in out


def test_the_local_kernel_is_not_mistaken_for_that_of_a_remote_engine(
    examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The remote machine's disk and settings cannot be read from here."""
    monkeypatch.setenv("DOCKER_HOST", "tcp://far:2376")
    status, out, _ = examined()
    assert status == 0
    assert "warn    disk                unknown" in out
    assert "tcp_rmem" not in out


@pytest.mark.parametrize(
    ("error", "may_start", "status", "begins"),
    [
        (
            NoLocalEngineError("none", remedy="the steps"),
            True,
            0,
            "warn    engine              none answers - `./lab r",
        ),
        (NoLocalEngineError("none", remedy="the steps"), False, 1, "missing engine              none () - the steps\n"),
        (EngineUnavailableError("It is down.", where="tcp://far:2376", remedy="start it"), True, 1, "missing engine"),
    ],
    ids=["root-on-debian", "others", "chosen"],
)
def test_without_an_engine_the_doctor_reports_whether_run_would_start_one(
    examined: Examined, error: Exception, *, may_start: bool, status: int, begins: str
) -> None:
    """An engine that the user chose is not replaced."""
    found, out, _ = examined(refusing(error), may_start=may_start)
    assert found == status
    assert out.startswith(begins)


def test_an_engine_that_stops_while_it_is_queried_gives_one_message(examined: Examined) -> None:
    client = engine()
    client.info = refusing(requests.ConnectionError("Connection aborted."))
    status, _, err = examined(lambda: client)
    assert status == 3
    assert "stopped answering" in err


def test_no_registry_and_no_bootstrap_are_reported_with_their_reasons(monkeypatch: pytest.MonkeyPatch) -> None:
    """An ordinary user cannot install mmdebstrap."""
    client = engine()
    client.images.get_registry_data = refusing(requests.ConnectTimeout())
    assert doctor.find_registry_error(client) == "the engine cannot look up debian:bookworm-slim (ConnectTimeout)"
    monkeypatch.setattr("tuneproof.lab.engine.commands.find", lambda _: None)
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert doctor.find_bootstrap_error() == "mmdebstrap is not installed"


def test_without_a_network_nothing_is_missing_if_the_labs_images_are_built(
    examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing image would have to be built."""
    tags = [spec.tag for spec in (*role_images().values(), *subject_images([DEFAULT_VERSION]).values())]
    monkeypatch.setattr(doctor, "find_bootstrap_error", lambda: "no mmdebstrap")

    def cut_off(images: list[str]) -> Any:
        client = engine()
        client.api.images = lambda: [{"RepoTags": images, "Created": time.time()}, {"RepoTags": None, "Created": 0}]
        client.images.get_registry_data = refusing(requests.ConnectionError("no route"))
        return client

    assert examined(lambda: cut_off(tags))[0] == 0
    # Podman's names for loaded images.
    assert examined(lambda: cut_off([f"localhost/{tags[0]}", *(f"docker.io/{tag}" for tag in tags[1:])]))[0] == 0
    assert examined(lambda: cut_off(tags[1:]))[0] == 1


def test_images_that_lack_security_updates_are_reported(examined: Examined) -> None:
    """Only the age of the oldest image that a run uses matters."""
    tag = role_images()["client"].tag

    def built(days: float, tags: list[str]) -> Any:
        client = engine()
        client.api.images = lambda: [
            {"RepoTags": tags, "Created": time.time() - 86_400 * days},
            {"RepoTags": ["debian:bookworm-slim"], "Created": time.time()},
            {"RepoTags": ["postgres:9"], "Created": 0},
        ]
        return client

    assert (
        "warn    images              the oldest was built 31 days ago - they lack 31 days"
        in examined(lambda: built(31, [tag]))[1]
    )
    assert "ok      images              the oldest was built 29 days ago" in examined(lambda: built(29, [tag]))[1]
    assert "ok      images              the oldest was built 1 day ago" in examined(lambda: built(1, [tag]))[1]
    assert "ok      images              the oldest was built 0 days ago" in examined(lambda: built(31, ["other:1"]))[1]
    assert "ok      images              none are built yet" in examined()[1]


@pytest.mark.parametrize(
    ("updates", "base", "line"),
    [
        pytest.param(
            Updates(packages=("a", "b", "c", "d"), listed=date(2026, 11, 20)),
            "debian:bookworm-slim",
            "warn    updates             4 security updates not in the images (a, b, c, …), "
            "by apt's lists of 2026-11-20 - `./lab clean`, and",
            id="some",
        ),
        pytest.param(
            Updates(packages=("a",), listed=date(2026, 11, 20)),
            "tuneproof/base:bookworm",
            "(a), by apt's lists of 2026-11-20 - their base was made from Debian's main archive alone",
            id="bootstrapped",
        ),
        pytest.param(
            Updates(packages=(), listed=date(2026, 11, 20)),
            "debian:bookworm-slim",
            "ok      updates             0 security updates not in the images, by apt's lists of 2026-11-20\n",
            id="none",
        ),
        pytest.param(
            None,
            "other:1",
            "ok      updates             unknown: apt on this machine does not know the updates",
            id="unknown",
        ),
    ],
)
def test_pending_security_updates_are_reported(
    examined: Examined, monkeypatch: pytest.MonkeyPatch, updates: Updates | None, base: str, line: str
) -> None:
    """Only existing images of the default run are checked; without any, there is no line."""
    tag = role_images()["client"].tag
    client = engine()
    client.api.images = lambda: [{"RepoTags": [tag, base], "Created": time.time()}]
    monkeypatch.setattr(doctor, "updates_for", lambda images, suite: updates if [tag] == images and suite else ())
    assert line in examined(lambda: client)[1]
    assert "updates" not in examined()[1]


def test_a_rootless_engine_with_cgroup_v1_cannot_limit_anything(
    examined: Examined, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Podman 4.3 marks itself as rootless in its own way, and wrongly reports that it limits memory."""
    monkeypatch.setattr(doctor, "read_controllers", lambda _address, *, is_rootless: () if is_rootless else ("memory",))
    status, out, _ = examined(partial(engine, Rootless=True, CgroupVersion="1"))
    assert status == 1
    assert "missing cgroups             v1 - a rootless engine cannot pin or limit containers" in out
