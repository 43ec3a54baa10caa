"""The lab selects the same engine as the docker command."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from unittest.mock import Mock

import docker
import pytest

from tests.support.docker_contexts import write_context
from tuneproof.errors import BadInputError
from tuneproof.lab.engine.contexts import at_context, resolved

LOCAL = "unix:///var/run/docker.sock"
FAR = "tcp://10.0.0.5:2376"
HOST = "tcp://10.0.0.9:2376"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a configuration folder of the docker command, with a context called far."""
    write_context(tmp_path, "far", FAR)
    return tmp_path


@pytest.mark.parametrize(
    ("variables", "current", "address"),
    [
        ({}, None, LOCAL),
        ({"DOCKER_CONFIG": "/dev/null"}, None, LOCAL),
        ({}, "", LOCAL),
        ({}, "far", FAR),
        ({"DOCKER_CONTEXT": "far"}, None, FAR),
        ({"DOCKER_CONTEXT": "default"}, "far", LOCAL),
        ({"DOCKER_HOST": HOST}, "far", HOST),
        ({"DOCKER_HOST": HOST, "DOCKER_CONTEXT": "far"}, None, HOST),
        ({"DOCKER_HOST": ""}, "far", FAR),
    ],
)
def test_the_environment_and_the_current_context_select_the_engine(
    folder: Path, variables: dict[str, str], current: str | None, address: str
) -> None:
    """Docker's Python library has other rules, so the lab finds the address, as the docker command does."""
    if current is not None:
        (folder / "config.json").write_text(json.dumps({"currentContext": current}), encoding="utf-8")
    configured = {"DOCKER_CONFIG": str(folder), **variables}
    environment = resolved(configured)
    assert environment == {"DOCKER_CONFIG": configured["DOCKER_CONFIG"], "DOCKER_HOST": address}
    client = docker.from_env(version="1.41", environment=environment)
    assert client.api.base_url.rpartition("/")[2] in address.replace("unix:///var/run/docker.sock", "localhost")
    client.close()
    if shutil.which("docker"):
        command = ["docker", "context", "inspect", "-f", "{{.Endpoints.docker.Host}}"]
        ran = subprocess.run(
            command, check=True, env={"PATH": os.environ["PATH"], **configured}, capture_output=True, text=True
        )
        assert ran.stdout == f"{address}\n"


@pytest.mark.parametrize(("host", "address"), [("", LOCAL), (HOST, HOST)])
def test_the_default_context_does_not_depend_on_the_current_one(folder: Path, host: str, address: str) -> None:
    (folder / "config.json").write_text('{"currentContext": "far"}', encoding="utf-8")
    environment = {"DOCKER_CONFIG": str(folder), "DOCKER_CONTEXT": "far", "DOCKER_HOST": host}
    assert at_context("default", environment)["DOCKER_HOST"] == address


@pytest.mark.parametrize("make", [lambda file: file.write_text("{"), lambda file: file.write_text("[]"), Path.mkdir])
def test_an_unusable_config_file_is_reported(folder: Path, make: Callable[[Path], object]) -> None:
    make(folder / "config.json")
    with pytest.raises(BadInputError, match="current context: Docker's contexts cannot be read"):
        resolved({"DOCKER_CONFIG": str(folder)})


def test_a_configuration_folder_without_permission_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After sudo -u, HOME may be another user's folder."""
    monkeypatch.setattr(os, "stat", Mock(side_effect=PermissionError(13, "Permission denied")))
    monkeypatch.setattr(Path, "read_text", Mock(side_effect=PermissionError(13, "Permission denied")))
    with pytest.raises(BadInputError, match="current context: Docker's contexts cannot be read"):
        resolved({"DOCKER_CONFIG": str(folder)})


def test_the_error_for_a_missing_context_lists_the_existing_ones(folder: Path) -> None:
    with pytest.raises(BadInputError, match=r"Docker context near: there is no such") as caught:
        resolved({"DOCKER_CONFIG": str(folder), "DOCKER_CONTEXT": "near"})
    assert caught.value.remedy.startswith("use one of default, far,")
