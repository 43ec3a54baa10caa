"""A session's lease: a container that exits once the session's process has ended."""

import subprocess
import sys
from typing import Any

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.lab.children import GONE_WITHIN_S, wait_until
from tests.support.places import CHECKOUT
from tuneproof.lab.engine.labels import LEASE, SESSION, Session
from tuneproof.lab.engine.lease import lease_of
from tuneproof.lab.engine.sweep import remove_dead_sessions
from tuneproof.proof.scenario.hosts import read_snapshot

pytestmark = pytest.mark.engine

HOLD = """
import sys, time
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.lease import lease_of
from tuneproof.lab.engine.reach import connect
with lease_of(connect(), session=Session(id=sys.argv[1]), image=sys.argv[2]):
    print("held", flush=True)
    time.sleep(600)
"""


def leases(engine: docker.DockerClient, session: str) -> list[dict[str, Any]]:
    found = engine.api.containers(all=True, filters={"label": f"{SESSION}={session}"})
    return [item for item in found if LEASE in item["Labels"]]


def test_a_lease_ends_with_its_process_and_then_any_process_may_remove_the_session(
    engine: docker.DockerClient, images: BuiltImages
) -> None:
    session = Session().id
    words = [sys.executable, "-c", HOLD, session, images.roles["netadmin"]]
    with subprocess.Popen(words, stdout=subprocess.PIPE, cwd=CHECKOUT, text=True) as holder:
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == "held\n"
            remove_dead_sessions(engine)
            assert [item["State"] for item in leases(engine, session)] == ["running"]
        finally:
            holder.kill()
    wait_until(lambda: [item["State"] for item in leases(engine, session)] == ["exited"], within_s=GONE_WITHIN_S)
    remove_dead_sessions(engine)
    assert leases(engine, session) == []


def test_a_lease_is_removed_at_the_end_of_its_context(engine: docker.DockerClient, images: BuiltImages) -> None:
    """Until then, the snapshot that the lease printed can be read more than once."""
    session = Session()
    with lease_of(engine, session=session, image=images.roles["netadmin"]) as lease:
        (held,) = leases(engine, session.id)
        assert held["State"] == "running"
        read = [read_snapshot(lease.printed()) for _ in range(2)]
        assert read == [read_snapshot(engine.api.logs(held["Id"]).decode())] * 2
        assert read[0].cpus.allowed
    assert leases(engine, session.id) == []
