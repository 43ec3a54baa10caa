"""Subjects with somebody's own nginx: their containers, and whether they have come up."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tuneproof.errors import LabError
from tuneproof.lab.subject.config import SubjectConfig
from tuneproof.lab.subject.own_nginx import CAPABILITIES, SOCKETS, OwnNginx, socket_path
from tuneproof.proof.scenario import containers as module
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.backends import local_standin
from tuneproof.proof.scenario.containers import own_nginx_failed, own_spec, wait_for_workers
from tuneproof.proof.scenario.placement import CpuPlacement

OWN = OwnNginx(
    files={"/etc/nginx/nginx.conf": b"events { }\n", "/etc/tuneproof/start.sh": b"exec nginx\n"},
    script="/etc/tuneproof/start.sh",
    sockets=2,
    local_ports=(3000,),
)
SUBJECT = Subject(name="yours", config=SubjectConfig(port=18080), own=OWN)
PLACEMENT = CpuPlacement(subject="0", others="1")


def waited(*looks: int, running: bool = True) -> int:
    """Return how many workers a container has in the end whose processes change from one look to the next."""
    workers = iter(looks)
    container = SimpleNamespace(
        is_running=lambda: running,
        processes=lambda: [(1, "nginx: master process nginx"), *[(2, "nginx: worker process")] * next(workers)],
        log_tail=lambda: "unknown directive",
    )
    return wait_for_workers(cast("Any", container), OWN)


def test_workers_are_waited_for_until_no_more_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """How many there will be is nginx's own affair: a machine's CPUs, or a number."""
    monkeypatch.setattr(module, "_POLL_S", 0.0)
    assert waited(0, 1, 2, 2) == 2


def test_an_nginx_that_ends_says_why_and_what_to_do() -> None:
    with pytest.raises(LabError, match="--nginx-image") as caught:
        waited(running=False)
    assert caught.value.tail == "unknown directive"


def test_a_part_that_does_not_start_may_lack_the_rest() -> None:
    """Which whoever runs it can print."""
    whole = own_nginx_failed(OWN, "unknown variable").remedy
    part = own_nginx_failed(replace(OWN, is_part=True), "unknown variable").remedy
    assert "nginx -T" not in whole
    assert part.endswith(whole)
    assert "nginx -T" in part


def test_one_without_workers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_STARTS_WITHIN_S", 0.0)
    with pytest.raises(LabError, match="no workers"):
        waited(0)


def test_its_container_has_what_an_nginx_needs_that_starts_as_root_and_nothing_else() -> None:
    spec = own_spec(SUBJECT, OWN, "ours:1", PLACEMENT)
    assert (spec.image, spec.user, spec.capabilities) == ("ours:1", "0:0", CAPABILITIES)
    assert (spec.entrypoint, spec.files, spec.shared_folders) == (("sh", OWN.script), OWN.files, (SOCKETS,))
    beside = local_standin("yours", OWN, image="backend:1", cpuset="1")
    assert (beside.joins, beside.environment["STANDIN_PORTS"]) == ("yours", "3000")
    assert beside.environment["STANDIN_SOCKETS"] == f"{socket_path(0)},{socket_path(1)}"


def test_its_evidence_is_all_its_files_as_nginx_shows_them() -> None:
    """As nginx -T does, so that it can be audited and run again."""
    ((name, text),) = SUBJECT.texts(()).items()
    assert name == "yours.nginx.conf"
    assert text.startswith("# configuration file /etc/nginx/nginx.conf:\nevents { }\n")
