"""Subjects with somebody's own nginx: their containers, and whether they have come up."""

import time
from typing import Final

from tuneproof.errors import LabError
from tuneproof.lab.subject.config import RECORDER_PATH
from tuneproof.lab.subject.own_nginx import CAPABILITIES, SOCKETS, OwnNginx
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.proof.scenario.preconditions import WORKER_TITLE

_STARTS_WITHIN_S: Final = 30.0
_POLL_S: Final = 0.05


class OwnNginxError(LabError):
    """The user's own nginx does not start: on its version no claim can be tested."""


def wait_for_workers(container: LabContainer, own: OwnNginx) -> int:
    """Wait until an nginx has started its workers; return how many.

    LabError: It did not start, with its own words.
    """
    deadline_s = time.monotonic() + _STARTS_WITHIN_S
    before = 0
    while True:
        if not container.is_running():
            raise own_nginx_failed(own, container.log_tail())
        now = sum(command.startswith(WORKER_TITLE) for _, command in container.processes())
        if now and now == before:
            return now
        if time.monotonic() > deadline_s:
            raise LabError("your nginx has started no workers in the lab", tail=container.log_tail())
        before = now
        time.sleep(_POLL_S)


def own_nginx_failed(own: OwnNginx, words: str) -> OwnNginxError:
    """Return the error of an nginx that does not start."""
    remedy = "--nginx VERSION or --nginx-image IMAGE for what this one lacks, such as a module or Lua"
    if own.is_part:
        remedy = f"these files are a part of a configuration: take what nginx -T prints; {remedy}"
    remedy = f"{remedy}; else see what nginx says"
    return OwnNginxError("your nginx does not start in the lab", remedy=remedy, tail=words)


def own_spec(subject: Subject, own: OwnNginx, image: str, placement: CpuPlacement) -> RoleSpec:
    """Return the container of such a subject."""
    return RoleSpec(
        name=subject.name,
        role=Role.SUBJECT,
        image=own.image or image,
        cpuset=placement.of(subject.cpus),
        sysctls=subject.sysctls,
        memory_bytes=subject.memory_bytes,
        capabilities=CAPABILITIES,
        user="0:0",
        files=own.files,
        entrypoint=("sh", own.script),
        shared_folders=(SOCKETS,) if own.sockets else (),
        environment={"LD_PRELOAD": RECORDER_PATH} if subject.records_turns else {},
    )
