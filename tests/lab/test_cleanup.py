"""Nothing of a session remains after any kind of end, and other containers are not removed."""

import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import docker
import pytest

from fixtures.engine import BuiltImages
from fixtures.options import RunState
from tests.lab.children import (
    COUNTED_RUN,
    GONE_WITHIN_S,
    measures_beyond,
    reapers,
    resources_of,
    start_pytest,
    wait_until,
)
from tests.lab.sigkill import kill_once
from tuneproof.errors import LabError
from tuneproof.lab.engine.labels import LEASE, Session
from tuneproof.lab.engine.sweep import remove_dead_sessions, remove_session
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec

pytestmark = pytest.mark.engine


@pytest.fixture
def other_session(engine: docker.DockerClient) -> Iterator[Session]:
    session = Session()
    yield session
    remove_session(engine, session.id)


def _ids(engine: docker.DockerClient, session: Session) -> list[str]:
    return [
        item["Id"] for item in engine.api.containers(all=True, filters={"label": f"io.tuneproof.session={session.id}"})
    ]


def test_a_lab_leaves_nothing_at_its_end(
    engine: docker.DockerClient, other_session: Session, images: BuiltImages
) -> None:
    client = RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"])
    with Lab(other_session) as lab:
        lab.start([client])
        assert len(_ids(engine, other_session)) == 1
    assert not _ids(engine, other_session)
    assert not engine.networks.list(filters={"label": f"io.tuneproof.session={other_session.id}"})


def test_a_failed_start_leaves_no_container(
    engine: docker.DockerClient, other_session: Session, images: BuiltImages
) -> None:
    good = [RoleSpec(name=f"client-{index}", role=Role.CLIENT, image=images.roles["client"]) for index in range(2)]
    bad = RoleSpec(name="bad", role=Role.CLIENT, image=images.roles["client"], sysctls={"net.ipv4.no_such_thing": "1"})
    with pytest.raises(LabError, match=r"starting bad.*no_such_thing"), Lab(other_session) as lab:
        lab.start([*good, bad])
    assert not _ids(engine, other_session)


def test_only_a_session_with_an_ended_lease_is_removed(
    engine: docker.DockerClient, other_session: Session, images: BuiltImages
) -> None:
    """Without a lease, a session's containers may be in use."""
    with Lab(other_session) as lab:
        lab.start([RoleSpec(name="client", role=Role.CLIENT, image=images.roles["client"])])
        remove_dead_sessions(engine)
        assert len(_ids(engine, other_session)) == 1
        labels = {LEASE: "held", **other_session.labels}
        engine.containers.run(images.roles["netadmin"], ["true"], labels=labels, network_disabled=True)
        assert len(_ids(engine, other_session)) == 2
        remove_dead_sessions(engine)
        assert not _ids(engine, other_session)
        assert not engine.networks.list(filters={"label": f"io.tuneproof.session={other_session.id}"})


@pytest.fixture(scope="module")
def killed() -> Iterator[list[Path]]:
    """Collect the results folders of killed runs; at the end of the module, none of their reapers may be left."""
    folders: list[Path] = []
    yield folders
    wait_until(lambda: not any(map(reapers, folders)), within_s=GONE_WITHIN_S)


@pytest.mark.parametrize("has", [pytest.param(1, marks=pytest.mark.slow), 3, pytest.param(6, marks=pytest.mark.slow)])
@pytest.mark.timing
def test_nothing_survives_a_sigkill(
    engine: docker.DockerClient, tmp_path: Path, run_state: RunState, killed: list[Path], has: int
) -> None:
    """The kill comes within 0.5 s after the run has created ``has`` resources; sigkill.py kills at more instants."""
    instants = random.Random(run_state.options.seed + has)  # noqa: S311 - reproducible, not secret
    killed.append(tmp_path)
    kill = kill_once(engine, after_s=instants.random() / 2, results=tmp_path, has=has)
    assert kill.alive, "the run had ended before the kill"
    assert kill.resources


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Set a handler for SIGINT: a background job ignores SIGINT, and its children would inherit that."""
    previous = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, previous)


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize(
    ("number", "status"),
    [(signal.SIGINT, 2), pytest.param(signal.SIGTERM, 128 + signal.SIGTERM, marks=pytest.mark.slow)],
)
@pytest.mark.timing
def test_an_interrupted_run_cleans_up_and_keeps_its_results(
    engine: docker.DockerClient, tmp_path: Path, number: signal.Signals, status: int
) -> None:
    child = start_pytest(*COUNTED_RUN, results=tmp_path)
    assert measures_beyond(child, 1, results=tmp_path), child.stdout.read()
    os.kill(child.pid, number)
    output, _ = child.communicate(timeout=GONE_WITHIN_S)
    assert child.returncode == status, output
    assert "Traceback" not in output
    assert not resources_of(engine, child.pid)
    document = json.loads((tmp_path / "latest" / "results.json").read_text(encoding="utf-8"))
    assert document["cells"] == []
    assert "finished" not in document


@pytest.mark.usefixtures("interruptible")
@pytest.mark.slow  # Other tests send this signal during a measurement, and kill a run that is starting.
@pytest.mark.parametrize("has", [1, 4, 6])
@pytest.mark.timing
def test_ctrl_c_while_a_lab_starts_leaves_nothing(engine: docker.DockerClient, tmp_path: Path, has: int) -> None:
    """Resources that the engine is still creating when the signal comes are removed, too."""
    child = start_pytest(*COUNTED_RUN, results=tmp_path)
    wait_until(lambda: child.poll() is not None or len(resources_of(engine, child.pid)) >= has, within_s=GONE_WITHIN_S)
    os.kill(child.pid, signal.SIGINT)
    output, _ = child.communicate(timeout=GONE_WITHIN_S)
    assert child.returncode == 2, output
    assert "Traceback" not in output
    wait_until(lambda: not resources_of(engine, child.pid), within_s=GONE_WITHIN_S)
