"""Describes the host of an engine for results.json, and reads the snapshots of netadmin containers."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from tuneproof.errors import LabError
from tuneproof.lab.protocol.codec import from_plain
from tuneproof.lab.protocol.links import Greeting
from tuneproof.lab.protocol.observer import Snapshot


def host_record(engine: Mapping[str, Any], snapshot: Snapshot) -> dict[str, Any]:
    """Return the description of a host for results.json, from its engine's report and a snapshot."""
    return {
        **engine,
        "cpu_model": snapshot.cpu_model,
        "cpus": asdict(snapshot.cpus),
        "sysctls": dict(snapshot.sysctls),
    }


def read_snapshot(printed: str) -> Snapshot:
    """Return the snapshot that a netadmin container printed when it started; LabError: it printed none."""
    greeting = from_plain(Greeting, json.loads(printed.splitlines()[0])) if printed else Greeting()
    if greeting.snapshot is None:
        raise LabError("a netadmin container printed no snapshot", tail=printed)
    return greeting.snapshot
