"""An engine prepared for one comparison: images, the lock, and a session that leaves nothing behind."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import docker

from tuneproof.lab.engine.host import engine_facts
from tuneproof.lab.engine.images import ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.lease import Lease, lease_of
from tuneproof.lab.engine.lock import locked
from tuneproof.lab.engine.session import session_on
from tuneproof.lab.subject.images import role_images, subject_images
from tuneproof.lab.topology.placed import Engine
from tuneproof.proof.scenario.containers import BenchImages
from tuneproof.proof.scenario.hosts import host_record, read_snapshot
from tuneproof.proof.scenario.placement import CpuPlacement, CpuShare


@dataclass(frozen=True, kw_only=True)
class Grounds:
    """Everything that a comparison needs to start labs."""

    session: Session
    images: BenchImages
    subjects: Mapping[str, str]  # images with nginx, by version
    placement: CpuPlacement
    host: Mapping[str, Any]  # the host's description, as in results.json
    trusts: bool = False  # whether the files may run even if the lab's network has a way out


@contextmanager
def grounds(
    client: docker.DockerClient,
    *,
    packages: Mapping[str, Sequence[str]],
    report: Callable[[str], None],
    trusts: bool = False,
) -> Iterator[Grounds]:
    """Lock an engine for the duration of the context, and make sure that it has the images of these versions.

    packages: the packages with further modules, by version of nginx.
    trusts: whether the files may run even if the lab's network has a way out.

    Raises TuneproofError: The engine refused a request, or went away.
    """
    roles, subjects = role_images(), subject_images(list(packages), packages)
    with session_on({Engine().name: client}) as session:
        ensure_images(client, [*roles.values(), *subjects.values()], report=report)
        image = roles["netadmin"].tag
        with (
            lease_of(client, session=session, image=image) as lease,
            locked(client, name=Engine().label, session=session, image=image, report=report),
        ):
            tags = {name: spec.tag for name, spec in roles.items()}
            yield replace(_measured(client, session, lease, tags, subjects), trusts=trusts)


def _measured(
    client: docker.DockerClient, session: Session, lease: Lease, roles: Mapping[str, str], subjects: Mapping[str, Any]
) -> Grounds:
    snapshot = read_snapshot(lease.printed())
    return Grounds(
        session=session,
        images=BenchImages(subject="", **roles),
        subjects={version: spec.tag for version, spec in subjects.items()},
        placement=CpuPlacement.on(snapshot.cpus, shares=(CpuShare.ASKED,)),
        host=host_record(engine_facts(client), snapshot),
    )
