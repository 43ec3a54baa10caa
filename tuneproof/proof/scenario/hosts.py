"""The host of an engine, as a new network namespace on it looks, and as results tell of it."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.lab.protocol.links import Greeting
from tuneproof.lab.protocol.observer import Snapshot
from tuneproof.lab.topology.container import LabContainer
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.placed import Engines
from tuneproof.lab.topology.roles import Role, RoleSpec


def host_snapshot(session: Session, image: str, *, engines: Engines | None = None) -> Snapshot:
    """Return what a new network namespace looks like on an engine's host, from a container of netadmin's image."""
    with Lab(session, engines=engines) as lab:
        lab.start([RoleSpec(name="host", role=Role.NETADMIN, image=image)])
        return read_snapshot(lab["host"])


def host_record(engine: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """Return what results.json says of a host, from what its engine tells and a snapshot."""
    return {
        **engine,
        "cpu_model": snapshot.cpu_model,
        "cpus": asdict(snapshot.cpus),
        "sysctls": dict(snapshot.sysctls),
    }


def read_snapshot(netadmin: LabContainer) -> Snapshot:
    """Return the snapshot that a netadmin container printed when it started."""
    greeting = from_plain(Greeting, json.loads(netadmin.wait_for_log("\n").splitlines()[0]))
    if greeting.snapshot is None:
        raise LabError("a netadmin container has no snapshot", where=f"container {netadmin.spec.name}")
    return greeting.snapshot
