"""The containers of a scenario's lab, including those with a user's own nginx, and checks that these have started."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tuneproof.errors import LabError
from tuneproof.lab.load.cgroup import CgroupMemory
from tuneproof.lab.load.stage import CLIENT, HTTP3, PROBER
from tuneproof.lab.network.agent import owner_name
from tuneproof.lab.network.shaped_links import companion_spec, owner_specs
from tuneproof.lab.subject import supervisor
from tuneproof.lab.subject.config import CONFIG_PATH, RECORDER_PATH
from tuneproof.lab.subject.own_nginx import CAPABILITIES, DESCRIPTORS, MEMORY_BYTES, PROCESSES, SOCKETS, OwnNginx
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.disk_guard import DiskGuard
from tuneproof.lab.topology.roles import Role, RoleSpec
from tuneproof.proof.scenario.arms import Subject
from tuneproof.proof.scenario.backends import local_standin
from tuneproof.proof.scenario.placement import CpuPlacement
from tuneproof.proof.scenario.preconditions import WORKER_TITLE
from tuneproof.proof.scenario.scenarios import Scenario
from tuneproof.wording import size

# A generator that opens a connection per request runs out of ports after some 28,000 of them: the search for a free one
# would limit the rate. With this setting, ports in TIME_WAIT are free again after a second
# (https://docs.kernel.org/networking/ip-sysctl.html).
_CLIENT_SYSCTLS = {"net.ipv4.tcp_tw_reuse": "1"}


@dataclass(frozen=True, kw_only=True)
class BenchImages:
    """Full image names by role."""

    subject: str
    backend: str
    client: str
    netadmin: str
    http3: str = ""  # image of the HTTP/3 clients; empty for a lab without them


def container_specs(
    scenario: Scenario[Any],
    subjects: Sequence[Subject],
    *,
    images: BenchImages,
    placement: CpuPlacement,
    shaper: str,
    shaped: Sequence[str],
) -> list[RoleSpec]:
    """Return the containers of the lab; those that own shaped links come first."""
    others = placement.others
    # A container that joins another one's network namespace shares the sysctls of that namespace.
    sysctls = {} if CLIENT in shaped else _CLIENT_SYSCTLS
    client = RoleSpec(name=CLIENT, role=Role.CLIENT, image=images.client, cpuset=others, sysctls=sysctls)
    beside_subject = placement.subject if scenario.backends_beside_subject else others
    roles = [*[item.spec(image=images.backend, cpuset=beside_subject) for item in scenario.backends], client]
    joining = [replace(role, joins=owner_name(role.name)) if role.name in shaped else role for role in roles]
    probers = [replace(client, name=PROBER)] if CLIENT in shaped else []
    if scenario.http3 or scenario.post_quantum:
        joins = owner_name(CLIENT) if CLIENT in shaped else ""
        joining.append(replace(client, name=HTTP3, image=images.http3, joins=joins, answers=True))
    # Before the subjects, which resolve their upstreams when they start.
    first = [*owner_specs(shaper=shaper, image=images.netadmin, cpuset=others, roles=shaped), *joining, *probers]
    backends = tuple(item.name for item in scenario.backends)
    served = [
        _subject_spec(
            item, images.subject, placement, after=backends if item.config.upstream or item.configurations else ()
        )
        for item in subjects
    ]
    beside = [*(item.name for item in subjects), *[name for name in scenario.beside if name not in shaped]]
    granted = (scenario.grant.upper(),) if scenario.grant else ()
    as_root = {item.name: CAPABILITIES for item in subjects if item.own is not None and item.own.workers_are_root}
    companions = [
        companion_spec(name, image=images.netadmin, cpuset=others, granted=(*granted, *as_root.get(name, ())))
        for name in beside
    ]
    local = [
        local_standin(item.name, item.own, image=images.backend, cpuset=others)
        for item in subjects
        if item.own is not None and item.own.needs_local_standin
    ]
    own = {item.name for item in subjects if item.own is not None}
    return [*first, *served, *(_limited(spec) if spec.joins in own else spec for spec in (*companions, *local))]


def _limited(spec: RoleSpec) -> RoleSpec:
    return replace(
        spec,
        memory_bytes=MEMORY_BYTES,
        processes=PROCESSES,
        descriptors=DESCRIPTORS,
        read_only=True,
        memory_folders=("/tmp",),  # noqa: S108 - in the container
    )


def _subject_spec(subject: Subject, image: str, placement: CpuPlacement, *, after: tuple[str, ...]) -> RoleSpec:
    if subject.own is not None:
        return own_spec(subject, subject.own, image, placement)
    texts = {supervisor.configuration_path(name): text for name, text in subject.configurations.items()}
    return RoleSpec(
        name=subject.name,
        role=Role.SUBJECT,
        image=image,
        cpuset=placement.of(subject.cpus),
        sysctls=subject.sysctls,
        memory_bytes=subject.memory_bytes,
        files={path: text.encode() for path, text in (texts or {CONFIG_PATH: subject.config.render()}).items()},
        command=supervisor.COMMAND if texts else (),
        answers=bool(texts),
        # The recorder is loaded into the master, from which workers are forked, so it does not matter that nginx clears
        # its environment.
        environment={"LD_PRELOAD": RECORDER_PATH} if subject.records_turns else {},
        after=after,
    )


_STARTS_WITHIN_S: Final = 30.0
_POLL_S: Final = 0.05
_MANY_WORKERS: Final = 32
_MOST_WORKERS: Final = PROCESSES // 2


class OwnNginxError(LabError):
    """The user's own nginx does not start, or exceeds the lab's limits, so no claim can be tested on this version."""


def wait_for_workers(container: LabContainer, own: OwnNginx, disk: DiskGuard | None = None) -> int:
    """Wait until an nginx has started its workers; return how many.

    LabError: nginx did not start (the error quotes its log), or exceeded the lab's limits (on disk space, too).
    """
    deadline_s = time.monotonic() + _STARTS_WITHIN_S
    before = same = 0
    while True:
        if not container.is_running():
            raise passed_limit(container, disk) or own_nginx_failed(own, container.log_tail())
        now = sum(process.command.startswith(WORKER_TITLE) for process in container.processes())
        if now > _MOST_WORKERS:
            # Stop waiting: it may take minutes until the kernel refuses more processes.
            raise OwnNginxError(
                f"your nginx starts more than {_MOST_WORKERS} workers, which is the lab's limit",
                remedy="test a copy with fewer worker_processes",
            )
        if not now and container.has_all_processes() and (passed := passed_limit(container, disk)) is not None:
            # A master that reaches this limit before its first worker does not stop on its own, and would slow down the
            # whole machine.
            raise passed
        same = same + 1 if now and now == before else 0
        # When many workers start on a busy CPU, a pause does not mean that all of them have started.
        if same > now // _MANY_WORKERS:
            if (passed := passed_limit(container, disk)) is not None:
                raise passed
            return now
        if time.monotonic() > deadline_s:
            raise passed_limit(container, disk) or LabError(
                f"your nginx has not started its workers within {_STARTS_WITHIN_S:g} s", tail=container.log_tail()
            )
        before = now
        time.sleep(_POLL_S)


def passed_limit(container: LabContainer, disk: DiskGuard | None = None) -> OwnNginxError | None:
    """Return the error for an nginx that exceeds the lab's limits, or None."""
    if disk is not None and disk.lost_bytes:
        return OwnNginxError(
            f"the engine's disk lost {size(disk.lost_bytes)} while your nginx ran, so the lab ended it",
            remedy="test a copy with smaller limits for temporary files (proxy_max_temp_file_size), caches and logs",
        )
    if _was_out_of_memory(container):
        return OwnNginxError(
            f"your nginx needs more than {size(MEMORY_BYTES)} of memory, which is all that the lab gives it",
            remedy="test a copy with fewer worker_processes and worker_connections, or smaller buffers",
        )
    if container.is_running() and container.has_all_processes():
        return OwnNginxError(
            f"your nginx needs more than {PROCESSES} processes and threads, which is all that the lab gives it",
            remedy="test a copy with smaller thread pools, or fewer worker_processes",
        )
    return None


def _was_out_of_memory(container: LabContainer) -> bool:
    state = container.inspect()["State"]
    if not state["Running"]:
        return bool(state.get("OOMKilled"))
    try:
        return CgroupMemory.of(container).oom_kills > 0
    except (LabError, ValueError):
        # The container has no cgroup file system, no `cat`, or no process left for it.
        return False


def own_nginx_failed(own: OwnNginx, words: str) -> OwnNginxError:
    """Return the error for an nginx that does not start."""
    remedy = "use --nginx VERSION or --nginx-image IMAGE for what this nginx lacks, such as a module or Lua"
    if own.is_part:
        remedy = f"these files are only part of a configuration: use the output of nginx -T; {remedy}"
    remedy = f"{remedy}; otherwise see nginx's own message"
    return OwnNginxError("your nginx does not start in the lab", remedy=remedy, tail=words)


def own_spec(subject: Subject, own: OwnNginx, image: str, placement: CpuPlacement) -> RoleSpec:
    """Return the description of a container with the user's own nginx."""
    return RoleSpec(
        name=subject.name,
        role=Role.SUBJECT,
        image=own.image or image,
        cpuset=placement.of(subject.cpus),
        sysctls=subject.sysctls,
        memory_bytes=subject.memory_bytes or MEMORY_BYTES,
        processes=PROCESSES,
        descriptors=DESCRIPTORS,
        capabilities=CAPABILITIES,
        user="0:0",
        files=own.files,
        entrypoint=("sh", own.script),
        shared_folders=(SOCKETS,) if own.sockets else (),
        environment={"LD_PRELOAD": RECORDER_PATH} if subject.records_turns else {},
    )
