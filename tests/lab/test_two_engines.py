"""A run on two engines: the test starts the second one, with its own files and network namespace."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import docker
import pytest

from tests.lab.children import GONE_WITHIN_S, wait_until
from tests.support.places import CHECKOUT
from tuneproof.cli.engines import run_on
from tuneproof.errors import EngineUnavailableError
from tuneproof.lab.engine.labels import PROJECT_FILTER
from tuneproof.lab.engine.reach import connect, find_endpoint
from tuneproof.lab.subject.images import role_images
from tuneproof.report.results.run_file import load

pytestmark = [pytest.mark.engine, pytest.mark.timing, pytest.mark.slow]

# Four claims decided by counting, in four scenarios: neither engine can decide all of them before the other begins.
_CLAIMS = ("rate_limit_breaks_pages", "ssl_on_starts", "cache_lock_protects_new_keys", "secp384r1_costs_a_round_trip")


@pytest.fixture(name="second")
def second_engine(tmp_path: Path) -> Iterator[docker.DockerClient]:
    """A client of a second engine, which has no images at first and ends with the test."""
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("a second engine needs root and an installed dockerd")
    socket = tmp_path / "engine.sock"
    places = [f"--data-root={tmp_path}/data", f"--exec-root={tmp_path}/exec", f"--pidfile={tmp_path}/pid"]
    with (tmp_path / "log").open("wb") as log:
        engine = subprocess.Popen(
            ["unshare", "--net", "dockerd", *places, f"--host=unix://{socket}"], stdout=log, stderr=log
        )
    try:
        wait_until(lambda: engine.poll() is not None or _answers(socket), within_s=GONE_WITHIN_S)
        assert engine.poll() is None, (tmp_path / "log").read_text(encoding="utf-8")
        with closing(_client(socket)) as client:
            yield client
    finally:
        engine.terminate()
        engine.wait(GONE_WITHIN_S)
        # The images take a gigabyte, and pytest keeps the folders of its last three runs.
        shutil.rmtree(tmp_path / "data", ignore_errors=True)


def _client(socket: Path) -> docker.DockerClient:
    return connect(environment={"DOCKER_HOST": f"unix://{socket}"})


def _answers(socket: Path) -> bool:
    try:
        _client(socket).close()
    except EngineUnavailableError:
        return False
    return True


def test_two_engines_share_a_run_and_measure_with_the_same_images(
    second: docker.DockerClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images are built on one engine and copied; each engine decides some claims, and nothing is left on the second."""
    monkeypatch.chdir(CHECKOUT)
    first, other = find_endpoint().address, f"unix://{tmp_path}/engine.sock"
    assert second.images.list() == []
    assert run_on([first, other], ["-k", " or ".join(_CLAIMS)], results=tmp_path / "results") == 0
    results = load(tmp_path / "results" / "latest")
    assert sorted(cell.name for cell in results.cells) == sorted(_CLAIMS)
    assert {cell.verdict for cell in results.cells} <= {"holds", "refuted"}
    parts = [path for path in tmp_path.glob("results/*.parts/*/2*") if load(path).cells]
    assert len({path.parent.name.partition("-part-")[0] for path in parts}) == 2
    with closing(connect()) as one:
        ids = [[client.images.get(spec.tag).id for spec in role_images().values()] for client in (one, second)]
    assert ids[0] == ids[1]
    assert second.api.containers(all=True, filters={"label": PROJECT_FILTER}) == []
    assert second.api.networks(filters={"label": PROJECT_FILTER}) == []
