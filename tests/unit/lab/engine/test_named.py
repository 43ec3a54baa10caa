"""Engines by name: contexts, addresses, and sockets that ssh forwards."""

import os
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.docker_contexts import write_context
from tuneproof.errors import BadInputError, EngineUnavailableError
from tuneproof.lab.engine import named
from tuneproof.lab.engine.named import environment_of, look

VARIABLES = {"DOCKER_HOST": "unix:///other.sock", "DOCKER_CONTEXT": "other", "HOME": "/root"}
# This program creates a file in place of the socket on which ssh would listen (-L), and runs until it is killed.
FORWARDS = """\
#!/bin/sh
while [ "$1" != "-L" ]; do shift; done
socket="${2%%:*}"
shift 2
echo "$@" >"$SEEN"
: >"$socket"
exec sleep 60
"""
REFUSES = "#!/bin/sh\necho 'Permission denied (publickey).' >&2\nexit 255\n"


@pytest.fixture
def ssh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return a function that replaces ssh with a program and returns the file with the program's arguments."""

    def put(script: str) -> Path:
        (tmp_path / "ssh").write_text(script)
        (tmp_path / "ssh").chmod(stat.S_IRWXU)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
        monkeypatch.setenv("SEEN", str(tmp_path / "seen"))
        return tmp_path / "seen"

    return put


def test_an_address_replaces_any_other_choice_of_an_engine() -> None:
    with environment_of("tcp://10.0.0.5:2376", VARIABLES) as environment:
        assert environment == {"DOCKER_HOST": "tcp://10.0.0.5:2376", "HOME": "/root"}


def test_a_context_is_read_from_dockers_own_store(tmp_path: Path) -> None:
    write_context(tmp_path, "big", "tcp://10.0.0.5:2376", certificates=True, SkipTLSVerify=False)
    variables = {**VARIABLES, "DOCKER_CONFIG": str(tmp_path), "DOCKER_CERT_PATH": "/other"}
    with environment_of("big", variables) as environment:
        folder = environment.pop("DOCKER_CERT_PATH")
        assert (Path(folder).name, Path(folder).is_dir()) == ("docker", True)
        assert environment == {
            "DOCKER_HOST": "tcp://10.0.0.5:2376",
            "DOCKER_TLS_VERIFY": "1",
            "HOME": "/root",
            "DOCKER_CONFIG": str(tmp_path),
        }


def test_a_contexts_address_may_use_ssh(tmp_path: Path, ssh: Any) -> None:
    ssh(FORWARDS)
    write_context(tmp_path, "far", "ssh://machine")
    with environment_of("far", {**VARIABLES, "DOCKER_CONFIG": str(tmp_path)}) as environment:
        assert environment["DOCKER_HOST"].startswith("unix:///")


def test_an_unreadable_context_is_reported_with_its_file(tmp_path: Path) -> None:
    write_context(tmp_path, "big", "tcp://10.0.0.5:2376")
    variables = {**VARIABLES, "DOCKER_CONFIG": str(tmp_path)}
    (meta,) = tmp_path.glob("contexts/meta/*/meta.json")
    meta.write_text("{")
    with pytest.raises(BadInputError, match="contexts cannot be read") as caught, environment_of("big", variables):
        pass
    assert caught.value.where == str(meta)


@pytest.mark.parametrize("name", ["nobody", "ftp://10.0.0.5"])
def test_a_name_that_is_neither_a_context_nor_an_address_is_rejected(name: str) -> None:
    with pytest.raises(BadInputError, match=f"--engine {name}"), environment_of(name, VARIABLES):
        pass


def test_the_socket_of_an_engine_over_ssh_is_forwarded_while_it_is_used(ssh: Any) -> None:
    seen = ssh(FORWARDS)
    with environment_of("ssh://me@machine:2222", VARIABLES) as environment:
        socket_path = Path(environment["DOCKER_HOST"].removeprefix("unix://"))
        assert socket_path.exists()
    assert not socket_path.parent.exists()
    assert seen.read_text() == "-p 2222 -- me@machine\n"


def test_sshs_error_is_reported(ssh: Any) -> None:
    ssh(REFUSES)
    with (
        pytest.raises(EngineUnavailableError, match=r"Permission denied \(publickey\)"),
        environment_of("ssh://machine", VARIABLES),
    ):
        pass


def engine(api: str) -> SimpleNamespace:
    info = {"Architecture": "x86_64", "NCPU": 2, "ServerVersion": "19.03.1"}
    return SimpleNamespace(info=lambda: info, version=lambda: {"ApiVersion": api}, close=lambda: None)


def test_an_engine_that_is_too_old_is_reported_with_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named, "connect", lambda *, environment: engine(environment["api"]))
    assert look("a", {"api": "1.41"}).cpus == 2
    with pytest.raises(EngineUnavailableError, match=r"Engine a is Docker 19\.03\.1"):
        look("a", {"api": "1.40"})


def test_an_unresponsive_engine_is_reported_by_its_name(tmp_path: Path) -> None:
    for name, where in (("big", f"unix://{tmp_path}/no.sock"), (f"unix://{tmp_path}/no.sock", "")):
        with pytest.raises(EngineUnavailableError) as caught:
            look(name, {"DOCKER_HOST": f"unix://{tmp_path}/no.sock"})
        assert caught.value.what == f"Engine {name}: The Docker engine does not answer: No such file or directory."
        assert caught.value.where == where
        assert "DOCKER_HOST" not in str(caught.value)
