"""Subjects with a user's own nginx: their containers, and whether they have started."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lab.subject.own_nginx import CAPABILITIES, MEMORY_BYTES, PROCESSES, SOCKETS, OwnNginx, socket_path
from tuneproof.lab.topology.container import Process
from tuneproof.proof.scenario import containers as module
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.backends import local_standin
from tuneproof.proof.scenario.containers import (
    OwnNginxError,
    own_nginx_failed,
    own_spec,
    wait_for_workers,
)
from tuneproof.proof.scenario.placement import CpuPlacement

OWN = OwnNginx(
    files={"/etc/nginx/nginx.conf": b"events { }\n", "/etc/tuneproof/start.sh": b"exec nginx\n"},
    script="/etc/tuneproof/start.sh",
    sockets=2,
    local_ports=(3000,),
)
SUBJECT = Subject(name="yours", config=SubjectConfig(port=18080), own=OWN)
PLACEMENT = CpuPlacement(subject="0", others="1")


def waited(
    *looks: int, running: bool = True, full: bool = False, oom: bool = False, memory: str = "", lost_bytes: int = 0
) -> int:
    """Return the number of workers that the lab finally finds in a container.

    looks: the number of workers at each look; full: whether the container has all processes that its limit allows;
    oom: whether the kernel killed it for lack of memory; memory: the number of such kills in its cgroup;
    lost_bytes: the disk space that the engine lost.
    """
    workers = iter(looks)
    container = SimpleNamespace(
        is_running=lambda: running,
        has_all_processes=lambda: full,
        inspect=lambda: {"State": {"Running": running, "OOMKilled": oom}},
        run=lambda _: f"1000\nrss 400\ncache 100\noom_kill {memory or 0}\n".encode(),
        processes=lambda: [
            Process(1, "0:0", "nginx: master process nginx"),
            *[Process(2, "33:33", "nginx: worker process")] * next(workers),
        ],
        log_tail=lambda: "unknown directive",
    )
    return wait_for_workers(cast("Any", container), OWN, cast("Any", SimpleNamespace(lost_bytes=lost_bytes)))


def test_the_lab_waits_until_no_more_workers_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number is not known in advance: one per CPU of the machine, or a fixed one."""
    monkeypatch.setattr(module, "_POLL_S", 0.0)
    assert waited(0, 1, 2, 2) == 2
    assert waited(90, 90, 90, *[100] * 5) == 100, "the number may stay the same for a while as many workers start"


def test_the_error_for_an_nginx_that_ends_contains_reason_and_remedy() -> None:
    with pytest.raises(LabError, match="--nginx-image") as caught:
        waited(running=False)
    assert caught.value.tail == "unknown directive"


@pytest.mark.parametrize(
    ("looks", "options", "sentence"),
    [
        ((0, 100, 257), {}, "starts more than 256 workers"),
        ((2, 2), {"full": True}, "more than 512 processes and threads"),
        ((0,), {"full": True}, "more than 512 processes and threads"),
        ((2, 2), {"memory": "3"}, "more than 1 GiB of memory"),
        ((), {"running": False, "oom": True}, "more than 1 GiB of memory"),
        ((), {"running": False, "lost_bytes": 2 << 30}, "disk lost 2 GiB"),
    ],
    ids=["workers", "threads", "children", "memory", "killed", "disk"],
)
def test_an_nginx_that_needs_more_than_the_lab_gives_is_reported_in_one_sentence(
    looks: tuple[int, ...], options: dict[str, Any], sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_POLL_S", 0.0)
    with pytest.raises(OwnNginxError, match=sentence) as caught:
        waited(*looks, **options)
    assert caught.value.remedy.startswith("test a copy with")


def test_for_a_fragment_that_does_not_start_the_remedy_asks_for_the_rest() -> None:
    """The user can print the whole configuration with nginx -T."""
    whole = own_nginx_failed(OWN, "unknown variable").remedy
    part = own_nginx_failed(replace(OWN, is_part=True), "unknown variable").remedy
    assert "nginx -T" not in whole
    assert part.endswith(whole)
    assert "nginx -T" in part


def test_the_lab_gives_up_on_an_nginx_without_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STARTS_WITHIN_S", 0.0)
    with pytest.raises(LabError, match="has not started its workers"):
        waited(0)


def test_the_containers_of_a_users_nginx_have_its_files_limits_and_sockets() -> None:
    spec = own_spec(SUBJECT, OWN, "ours:1", PLACEMENT)
    assert (spec.image, spec.user, spec.capabilities) == ("ours:1", "0:0", CAPABILITIES)
    assert (spec.memory_bytes, spec.processes) == (MEMORY_BYTES, PROCESSES)
    assert (spec.entrypoint, spec.files, spec.shared_folders) == (("sh", OWN.script), OWN.files, (SOCKETS,))
    beside = local_standin("yours", OWN, image="backend:1", cpuset="1")
    assert (beside.joins, beside.environment["STANDIN_PORTS"]) == ("yours", "3000")
    assert beside.environment["STANDIN_SOCKETS"] == f"{socket_path(0)},{socket_path(1)}"


def test_the_evidence_contains_all_of_the_users_files_as_nginx_shows_them() -> None:
    """The files have the form of nginx -T."""
    assert SUBJECT.texts(()) == {
        "yours.nginx.conf": "# configuration file /etc/nginx/nginx.conf:\nevents { }\n\n"
        "# configuration file /etc/tuneproof/start.sh:\nexec nginx\n"
    }
