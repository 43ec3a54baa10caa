"""Problems outside the project give a clear message; a run that cannot continue ends with a status other than 0."""

import json
from pathlib import Path

import docker
import pytest

from fixtures.engine import BuiltImages
from tests.lab.children import (
    COUNTED_RUN,
    GONE_WITHIN_S,
    SHORTEST_RUN,
    leases_held,
    measures_beyond,
    resources_of,
    start_pytest,
    wait_until,
)
from tests.lab.engine_proxy import EngineProxy
from tuneproof.errors import LabError
from tuneproof.lab.engine.images import ImageSpec, ensure_images
from tuneproof.lab.engine.labels import Session
from tuneproof.lab.engine.reach import find_endpoint
from tuneproof.lab.subject.config import CONFIG_PATH
from tuneproof.lab.subject.versions import SUITES
from tuneproof.lab.topology.lab import Lab
from tuneproof.lab.topology.roles import Role, RoleSpec

pytestmark = pytest.mark.engine


def test_nginxs_message_is_shown_if_nginx_does_not_start(lab_session: Session, images: BuiltImages) -> None:
    broken = RoleSpec(
        name="subject",
        role=Role.SUBJECT,
        image=next(iter(images.subjects.values())),
        files={CONFIG_PATH: b"events {}\nno_such_directive on;\n"},
    )
    with Lab(lab_session) as lab:
        lab.start([broken])
        with pytest.raises(LabError, match="subject did not start") as raised:
            lab["subject"].wait_for_log("start worker process")
    assert 'unknown directive "no_such_directive"' in raised.value.tail


def test_the_end_of_the_log_is_shown_if_an_image_does_not_build(engine: docker.DockerClient, tmp_path: Path) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    dockerfile = 'ARG BASE\nFROM ${BASE}\nLABEL io.tuneproof.build="layer"\nRUN echo about to fail && false\n'
    (folder / "Dockerfile").write_text(dockerfile, encoding="utf-8")
    spec = ImageSpec(name="broken", suite=SUITES["1.22"], root=tmp_path)
    with pytest.raises(LabError, match=r"building tuneproof/broken.* failed") as raised:
        ensure_images(engine, [spec], report=lambda _: None)
    assert "about to fail" in raised.value.tail
    assert raised.value.where == str(folder / "Dockerfile")


@pytest.mark.slow  # tests/unit/lab/topology/test_holdings.py has both cases, with fake engines
@pytest.mark.parametrize("comes_back", [True, False], ids=["restarted", "stays away"])
def test_a_run_survives_or_reports_an_engine_that_stops(
    engine: docker.DockerClient, tmp_path: Path, *, comes_back: bool
) -> None:
    """The run waits and continues in a new lab, or it ends, and the reaper removes its resources later.

    The run reaches the engine over TCP, so it does not use files or namespaces of this machine.
    """
    address = find_endpoint().address
    if not address.startswith("unix://"):
        pytest.skip(f"needs a local engine behind a Unix socket, this one is at {address}")
    with EngineProxy(address.removeprefix("unix://")) as proxy:
        child = start_pytest(*COUNTED_RUN, results=tmp_path / "results", environment={"DOCKER_HOST": proxy.address})
        assert measures_beyond(child, 2, results=tmp_path / "results"), child.stdout.read()
        proxy.stop()
        if comes_back:
            # The lease ends with its connection, as it would if the engine itself stopped.
            wait_until(lambda: not leases_held(engine, child.pid), within_s=GONE_WITHIN_S)
            proxy.start()
        output, _ = child.communicate(timeout=2 * GONE_WITHIN_S)
        assert "Traceback" not in output
        assert "waiting for it, 120 s at most" in output
        if comes_back:
            assert (child.returncode, "1 passed" in output) == (0, True), output
            assert json.loads((tmp_path / "results/latest/results.json").read_text(encoding="utf-8"))["finished"]
        else:
            assert child.returncode != 0
            assert "did not come back within 120 s" in output
            proxy.start()
        wait_until(lambda: not resources_of(engine, child.pid), within_s=GONE_WITHIN_S)


def test_an_unusable_results_folder_gives_one_error(tmp_path: Path) -> None:
    """The results folder cannot be created, because a file has its name."""
    taken = tmp_path / "taken"
    taken.touch()
    child = start_pytest(*SHORTEST_RUN, results=taken)
    output, _ = child.communicate(timeout=GONE_WITHIN_S)
    assert child.returncode != 0
    assert "The results folder cannot be used: not a folder" in output
    assert " 1 error in " in output
    assert "Traceback" not in output
